package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
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
	testenv.Must(t, err)
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

// TestDrawn: a seed gives the same order again and another seed another one, and new code leaves the
// order of the rest.
func TestDrawn(t *testing.T) {
	order := func(text string, seed uint64) (keys []string) {
		found, err := inFile("p", "p/f.go", text)
		testenv.Must(t, err)
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

// TestFoundBy: the report names the test that found a mutant.
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
	testenv.Long(t)
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
	dir := t.TempDir()
	files["go.mod"] = "module p\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	t.Chdir(dir)
}

// further skips another run of the program, which costs seconds: TestRun is the run of every day.
func further(t *testing.T) {
	t.Helper()
	if !testenv.Full() {
		t.Skip("TestRun is the run of every day: this one with WAGGLE_TEST=full")
	}
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
	further(t)
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
	further(t)
	program(t, map[string]string{"q/q.go": "package q\n\nfunc Loose(a int) bool { return a < 3 }\n"})
	s := settings{n: 10, jobs: 2, seed: 1, timeout: time.Minute, packages: []string{"q"}}
	if survived, err := run(t.Context(), s); err != nil || survived != 3 {
		t.Errorf("%d survived, %v; want all three", survived, err)
	}
}

// TestRunAgain: a test that fails once, and passes when it runs again, has not found a mutant.
func TestRunAgain(t *testing.T) {
	further(t)
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

// TestLimit: the time limit of a mutant's tests is five times their time without it plus half a
// minute, and at most the set limit.
func TestLimit(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: 30 * time.Second, 10 * time.Second: 80 * time.Second, time.Minute: 3 * time.Minute} {
		if got := limit(took, 3*time.Minute); got != want {
			t.Errorf("%s: %s, want %s", took, got, want)
		}
	}
	s := settings{limits: map[string]time.Duration{"a": time.Minute, "b": 90 * time.Second}}
	if got := s.span(); got != "1m0s to 1m30s" {
		t.Error(got)
	}
}

// TestRunRefusesFailing: tests that fail without a mutant find nothing, and run returns an error.
func TestRunRefusesFailing(t *testing.T) {
	further(t)
	program(t, map[string]string{
		"q/q.go":      "package q\n\nfunc Loose(a int) bool { return a < 3 }\n",
		"q/q_test.go": "package q\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Error(Loose(1)) }\n",
	})
	s := settings{n: 10, jobs: 2, seed: 1, timeout: time.Minute, packages: []string{"q"}}
	if _, err := run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "the tests of q fail as they are") {
		t.Error(err)
	}
}

// TestRunEndless: a mutant whose tests do not end is found by the time limit, and one that does not
// compile is no mutant.
func TestRunEndless(t *testing.T) {
	further(t)
	program(t, map[string]string{
		"q/q.go":      "package q\n\nfunc Count() (n int) {\n\tvar a [1]int\n\t_ = a[0]\n\tfor n < 2 {\n\t\tn = n + 1\n\t}\n\treturn n\n}\n",
		"q/q_test.go": "package q\n\nimport \"testing\"\n\nfunc TestCount(t *testing.T) {\n\tif Count() != 2 {\n\t\tt.Error()\n\t}\n}\n",
	})
	s := settings{n: 20, jobs: 2, seed: 1, timeout: 5 * time.Second, packages: []string{"q"}}
	found, err := places("q")
	testenv.Must(t, err)
	s.limits = map[string]time.Duration{"q": s.timeout}
	all, err := tryAll(t.Context(), s, [][]place{found}, t.TempDir())
	testenv.Must(t, err)
	var endless, survived []string
	for _, m := range all {
		switch {
		case m.survived:
			survived = append(survived, m.key())
		case m.by == "the time limit":
			endless = append(endless, m.key())
		}
	}
	slices.Sort(survived)
	slices.Sort(endless)
	if got, want := strings.Join(survived, ", "), "q/q.go Count: 1 => 2, q/q.go Count: 1 => 2 #2"; got != want {
		t.Errorf("survived: %s, want %s", got, want)
	}
	if got, want := strings.Join(endless, ", "), "q/q.go Count: + => -, q/q.go Count: 1 => 0 #2, q/q.go Count: n = n + 1 => "; got != want {
		t.Errorf("endless: %s, want %s", got, want)
	}
	if len(all) != 8 {
		t.Errorf("%d mutants, want 8: an array of no items, an index that is not in it, and a variable without use do not compile", len(all))
	}
}

// TestReasons: each reason belongs to an existing place, so that none stays after its line is gone,
// and has a text.
func TestReasons(t *testing.T) {
	t.Chdir("../../..")
	keys := map[string]bool{}
	for _, group := range packages {
		for _, dir := range dirs(group) {
			found, err := places(dir)
			testenv.Must(t, err)
			for _, p := range found {
				keys[p.key()] = true
			}
		}
	}
	for key, why := range reasons() {
		if !keys[key] && runtime.GOOS == "linux" {
			t.Errorf("no place has the key %q", key)
		}
		if why == "" || strings.HasPrefix(why, "equivalent") && !strings.HasPrefix(why, "equivalent: ") && !strings.HasPrefix(why, "equivalent on Linux: ") {
			t.Errorf("%s: the reason is %q", key, why)
		}
	}
}

// TestFlagsOf: only the tests of a package with properties get the flags that make them leave no file.
func TestFlagsOf(t *testing.T) {
	t.Chdir("../../..")
	for dir, want := range map[string]string{"record": "-rapid.nofailfile", "policy": "-rapid.nofailfile", "internal/repo/mutants": ""} {
		if got, err := flagsOf(dir); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
	}
}
