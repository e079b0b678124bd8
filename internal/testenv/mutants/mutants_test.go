package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/testenv"
)

const sample = `package p

func f(a, b int) int {
	if a < b && b != 7 {
		return a + 1
	}
	for range a {
		g()
		b = 2
		continue
	}
	defer g()
	return b
}

const (
	limit = 4 << 10
	pause = 30 * time.Second
)

func h() error {
	err := check()
	each(func() int { return 5 })
	if b != 7 {
		return err
	}
	return nil
}
`

func mutants(t *testing.T) []place {
	t.Helper()
	found, err := inFile("p", "p/f.go", sample)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestPlaces: each kind of place is found where it stands, and a mutant changes that
// place and no other.
func TestPlaces(t *testing.T) {
	var got []string
	for _, p := range mutants(t) {
		got = append(got, p.key())
		if text := p.text(); text == sample || len(text) != len(sample)+len(p.is)-len(p.was) {
			t.Errorf("%s: %q", p.key(), text)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "f.go", p.text(), 0); err != nil {
			t.Errorf("%s: %v", p.key(), err)
		}
	}
	slices.Sort(got)
	want := []string{
		"p/f.go f: != => ==", "p/f.go f: && => ||", "p/f.go f: + => -", "p/f.go f: < => <=",
		"p/f.go f: 1 => 0", "p/f.go f: 1 => 2", "p/f.go f: 2 => 1", "p/f.go f: 2 => 3", "p/f.go f: 7 => 6", "p/f.go f: 7 => 8",
		"p/f.go f: a < b && b != 7 => !(a < b && b != 7)", "p/f.go f: a < b && b != 7 => false && (a < b && b != 7)",
		"p/f.go f: b = 2 => ", "p/f.go f: continue => break", "p/f.go f: defer g() => ", "p/f.go f: g() => ",
		"p/f.go limit: 4 => 3", "p/f.go limit: 4 => 5", "p/f.go limit: 10 => 9", "p/f.go limit: 10 => 11",
		"p/f.go h: check() => error(nil)", "p/f.go h: each(func() int { return 5 }) => ", "p/f.go h: err => nil",
		"p/f.go h: 5 => 4", "p/f.go h: 5 => 6", "p/f.go h: 7 => 6", "p/f.go h: 7 => 8", "p/f.go h: != => ==",
		"p/f.go h: b != 7 => !(b != 7)", "p/f.go h: b != 7 => false && (b != 7)",
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDrawn: a seed gives the same order again, another seed another one, and code that
// comes leaves the order of the rest.
func TestDrawn(t *testing.T) {
	order := func(text string, seed uint64) (keys []string) {
		found, err := inFile("p", "p/f.go", text)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range drawn(found, seed) {
			keys = append(keys, p.key())
		}
		return keys
	}
	if !slices.Equal(order(sample, 1), order(sample, 1)) || slices.Equal(order(sample, 1), order(sample, 2)) {
		t.Error(order(sample, 1), order(sample, 2))
	}
	more := order(sample+"\nfunc more() { g(); g() }\n", 1)
	more = slices.DeleteFunc(more, func(key string) bool { return strings.HasPrefix(key, "p/f.go more: ") })
	if !slices.Equal(more, order(sample, 1)) {
		t.Errorf("code that came changed the order:\n%q\n%q", more, order(sample, 1))
	}
}

// TestKeys: two places of one function that read the same have two names.
func TestKeys(t *testing.T) {
	found, err := inFile("p", "p/f.go", "package p\n\nfunc f() { g(); g() }\n")
	if err != nil || len(found) != 2 || found[0].key() != "p/f.go f: g() => " || found[1].key() != "p/f.go f: g() =>  #2" {
		t.Error(found, err)
	}
}

// TestFoundBy: the report names what found a mutant.
func TestFoundBy(t *testing.T) {
	for out, want := range map[string]string{
		"--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/b (0.0s)\nFAIL\n": "TestA",
		"panic: test timed out after 1s\n\trunning tests:\n":           "the time limit",
		"panic: index out of range\n\ngoroutine 1":                     "panic: index out of range",
		"FAIL\tp [build failed]\n":                                     "the run",
	} {
		if got := foundBy(out); got != want {
			t.Errorf("%q: %q, want %q", out, got, want)
		}
	}
}

// TestRun: a mutant that a test fails on is found, one that no test sees survives, and
// the checkout stays as it was.
func TestRun(t *testing.T) {
	code := "package p\n\nfunc Held(a int) bool { return a < 3 }\n\nfunc Loose(a int) bool { return a < 3 }\n"
	program(t, map[string]string{
		"q/q.go":      strings.Replace(code, "package p", "package q", 1),
		"q/q_test.go": "package q\n\nimport \"testing\"\n\nfunc TestHeld(t *testing.T) {\n\tif !Held(2) || Held(3) || Held(4) {\n\t\tt.Error()\n\t}\n}\n",
	})
	// Three mutants a function: the operator, and the number one more and one less.
	survived, err := run(t.Context(), settings{n: 8, jobs: 2, seed: 1, timeout: time.Minute, packages: []string{"q"}})
	if err != nil || survived != 3 {
		t.Errorf("%d survived, %v; want the three of Loose", survived, err)
	}
	if data, _ := os.ReadFile("q/q.go"); !strings.HasSuffix(string(data), code[len("package p"):]) {
		t.Errorf("the checkout was changed: %s", data)
	}
}

// program writes a module, and the test runs in its directory.
func program(t *testing.T, files map[string]string) {
	t.Helper()
	testenv.Whole(t)
	dir := t.TempDir()
	files["go.mod"] = "module p\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// TestTestsOf: a mutant has the tests of its own package, and those of the group's first only
// where a plus says so.
func TestTestsOf(t *testing.T) {
	for _, c := range []struct{ group, pkg, want string }{
		{"a", "a", "a"},
		{"a,b/c", "a", "a"},
		{"a,b/c", "b/c", "b/c"},
		{"a+b/c", "a", "a"},
		{"a+b/c", "b/c", "b/c a"},
		{"a,x+b", "b", "b a"},
		{"a,x+b", "x", "x"},
	} {
		if got := strings.Join(testsOf(c.group, c.pkg), " "); got != c.want {
			t.Errorf("%s in %s: the tests of %s, want %s", c.pkg, c.group, got, c.want)
		}
	}
}

// TestRunBeside: the tests of a package find the mutants of one that stands behind a plus, and
// not of one behind a comma.
func TestRunBeside(t *testing.T) {
	program(t, map[string]string{
		"low/low.go":     "package low\n\nfunc Held(a int) bool { return a < 3 }\n",
		"high/high.go":   "package high\n\nimport \"p/low\"\n\nfunc Held(a int) bool { return low.Held(a) }\n",
		"high/h_test.go": "package high\n\nimport \"testing\"\n\nfunc TestHeld(t *testing.T) {\n\tif !Held(2) || Held(3) {\n\t\tt.Error()\n\t}\n}\n",
	})
	for group, want := range map[string]int{"high+low": 0, "high,low": 3} {
		s := settings{n: 10, jobs: 2, seed: 1, timeout: time.Minute, packages: []string{group}}
		if survived, err := run(t.Context(), s); err != nil || survived != want {
			t.Errorf("%s: %d survived, %v; want %d", group, survived, err, want)
		}
	}
}

// TestRunWithoutTests: a mutant of a package without tests survives.
func TestRunWithoutTests(t *testing.T) {
	program(t, map[string]string{"q/q.go": "package q\n\nfunc Loose(a int) bool { return a < 3 }\n"})
	s := settings{n: 10, jobs: 2, seed: 1, timeout: time.Minute, packages: []string{"q"}}
	if survived, err := run(t.Context(), s); err != nil || survived != 3 {
		t.Errorf("%d survived, %v; want all three", survived, err)
	}
}

// TestRunAgain: a test that fails once is not what found a mutant.
func TestRunAgain(t *testing.T) {
	program(t, map[string]string{
		"q/q.go": "package q\n\nfunc Loose(a int) bool { return a < 3 }\n",
		"q/q_test.go": `package q

import (
	"os"
	"testing"
)

func TestOnce(t *testing.T) {
	if Loose(1) == Loose(2) && Loose(3) == Loose(2) { // the number and the operator are broken
		if f, err := os.OpenFile("../failed", os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			f.Close()
			t.Error("once")
		}
	}
}
`,
	})
	survived, err := run(t.Context(), settings{n: 10, jobs: 1, seed: 1, timeout: time.Minute, packages: []string{"q"}})
	if _, missing := os.Stat("failed"); missing != nil || err != nil || survived != 3 {
		t.Errorf("%d survived, %v, %v; want all three", survived, err, missing)
	}
}
