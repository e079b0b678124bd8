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
		"p/f.go f: != => ==", "p/f.go f: && => ||", "p/f.go f: + => -", "p/f.go f: 1 => 2", "p/f.go f: 2 => 3", "p/f.go f: 7 => 8",
		"p/f.go f: < => <=", "p/f.go f: a < b && b != 7 => !(a < b && b != 7)", "p/f.go f: b = 2 => ",
		"p/f.go f: continue => break", "p/f.go f: defer g() => ", "p/f.go f: g() => ",
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDrawn: a seed gives the same order again, and another seed another one.
func TestDrawn(t *testing.T) {
	order := func(seed uint64) (keys []string) {
		for _, p := range drawn(mutants(t), seed, "p") {
			keys = append(keys, p.key())
		}
		return keys
	}
	if !slices.Equal(order(1), order(1)) || slices.Equal(order(1), order(2)) {
		t.Error(order(1), order(2))
	}
}

// TestRun: a mutant that a test fails on is found, one that no test sees survives, and
// the checkout stays as it was.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	code := "package p\n\nfunc Held(a int) bool { return a < 3 }\n\nfunc Loose(a int) bool { return a < 3 }\n"
	for name, text := range map[string]string{
		"go.mod":      "module p\n\ngo 1.26\n",
		"q/q.go":      strings.Replace(code, "package p", "package q", 1),
		"q/q_test.go": "package q\n\nimport \"testing\"\n\nfunc TestHeld(t *testing.T) {\n\tif !Held(2) || Held(3) || Held(4) {\n\t\tt.Error()\n\t}\n}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	// Two places a function: the operator and the number.
	survived, err := run(t.Context(), settings{n: 8, jobs: 2, seed: 1, timeout: time.Minute, packages: []string{"q"}})
	if err != nil || survived != 2 {
		t.Errorf("%d survived, %v; want the two of Loose", survived, err)
	}
	if data, _ := os.ReadFile("q/q.go"); !strings.HasSuffix(string(data), code[len("package p"):]) {
		t.Errorf("the checkout was changed: %s", data)
	}
}
