package conformance_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/repo/conformance"
	"waggle/internal/test/testenv"
)

const module = "../../.."

func requirements(t *testing.T) []conformance.Requirement {
	t.Helper()
	reqs, err := conformance.Requirements()
	testenv.Must(t, err)
	return reqs
}

// TestEveryRequirementHasItsTests: every test that the list names is in the sources.
func TestEveryRequirementHasItsTests(t *testing.T) {
	missing, err := conformance.Missing(os.DirFS(module), requirements(t))
	if err == nil {
		err = conformance.Error("tests that are not there", missing)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestMissing: a test and a script that are not in the sources are named.
func TestMissing(t *testing.T) {
	reqs, err := conformance.Parse("000 | a | control.TestA/x | .TestB | internal/face/cli.TestScripts/here\n000 | c | control.TestC | internal/face/cli.TestScripts/gone | task.TestD\n")
	testenv.Must(t, err)
	got, err := conformance.Missing(fstest.MapFS{
		"control/a_test.go":           {Data: []byte("package control\n\nfunc TestA() {}\n\nfunc (x) TestC() {}\n")},
		"b_test.go":                   {Data: []byte("package b\n\nfunc TestB() {}\n")},
		"internal/face/cli/s_test.go": {Data: []byte("package cli\n\nfunc TestScripts() {}\n")},
		"internal/face/cli/testdata/script/here.txtar": {},
	}, reqs)
	want := []string{"control.TestC", "internal/face/cli.TestScripts/gone", "task.TestD"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestDocumentIsCurrent: docs/conformance.md is generated from the list.
func TestDocumentIsCurrent(t *testing.T) {
	have, err := os.ReadFile(module + "/docs/conformance.md")
	testenv.Must(t, err)
	if diff := cmp.Diff(conformance.Document(requirements(t)), string(have)); diff != "" {
		t.Errorf("run go generate . (-want +have):\n%s", diff)
	}
}

// TestEveryKindOfEveryDocument: no document is left out, and each kind of the catalogue
// has its row.
func TestEveryKindOfEveryDocument(t *testing.T) {
	rows := map[string]int{}
	kinds := 0
	for _, r := range requirements(t) {
		rows[r.Document]++
		if r.Document == "000" && strings.HasSuffix(r.Text, "in the catalogue's shape") {
			kinds++
		}
	}
	if len(rows) != 5 || kinds != 15 {
		t.Errorf("rows %v, %d kinds of the catalogue", rows, kinds)
	}
}

// TestParseRefuses: a line without a cell, or with one that is no test, is an error with
// its number.
func TestParseRefuses(t *testing.T) {
	const good = "000 | text | control.TestA | .TestB/c | internal/face/cli.TestC\n"
	for _, c := range []struct{ line, want string }{
		{"000 | text | control.TestA |", `:2: "" names no test`},
		{"000 | text | | .TestB", `:2: "" names no test`},
		{"000 | other | control.TestA | .TestB", ":2: no test is from outside"},
		{"000 | other | control.TestA | .TestB | ", `:2: "" names no test`},
		{"000 | other | control.TestA | .TestB | none: why", `:2: "none: why" names no test`},
		{"000 | text | control.TestA", ":2: want document"},
		{"000 | | control.TestA | .TestB", ":2: want document"},
		{"005 | other | control.TestA | .TestB", ":2: want document"},
		{"001 | other | TestA | .TestB", ":2: \"TestA\" names no test"},
		{"000 | text | control.TestA | internal/face/cli.TestB", ":2: it is there twice"},
		{"000 | other | none: x | none: y | partial: z", ":2: nothing proves it"},
	} {
		if _, err := conformance.Parse(good + c.line); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.line, err, c.want)
		}
	}
}

// TestFailed: a test that failed, was skipped or did not run is named.
func TestFailed(t *testing.T) {
	reqs, err := conformance.Parse("000 | a | control.TestA | .TestB/c | partial: no\n000 | d | task.TestD | none: why | .TestB/c\n000 | e | task.TestE | task.TestD | task.TestF\n")
	testenv.Must(t, err)
	results := `# example.com/m/x
{"Action":"pass","Package":"example.com/m/control","Test":"TestA"}
{"Action":"skip","Package":"example.com/m","Test":"TestB/c"}
{"Action":"fail","Package":"example.com/m/task","Test":"TestD"}
{"Action":"pass","Package":"example.com/m/task"}
`
	got, err := conformance.Failed(strings.NewReader(results), "example.com/m", reqs)
	want := []string{".TestB/c was skipped", "task.TestD failed", "task.TestE did not run", "task.TestF did not run"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestUnrun: the tests that were skipped or did not run are in calls of go test that name exactly them.
func TestUnrun(t *testing.T) {
	reqs, err := conformance.Parse("000 | a | control.TestA | .TestB/c | partial: no\n000 | d | task.TestD | none: why | partial: no\n000 | e | task.TestE | task.TestF | task.TestE\n" +
		"000 | g | .TestB/d | .TestB/e/f | partial: no\n000 | h | .TestG/h/i | none: why | control.TestA\n")
	testenv.Must(t, err)
	results := `{"Action":"pass","Package":"example.com/m/control","Test":"TestA"}
{"Action":"skip","Package":"example.com/m","Test":"TestB/c"}
{"Action":"fail","Package":"example.com/m/task","Test":"TestD"}
{"Action":"skip","Package":"example.com/m/task","Test":"TestE"}
`
	got, err := conformance.Unrun(strings.NewReader(results), "example.com/m", reqs)
	want := []conformance.Run{{".", "^TestB$/^(c|d)$"}, {"task", "^(TestE|TestF)$"}, {".", "^TestB$/^e$/^f$"}, {".", "^TestG$/^h$/^i$"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
