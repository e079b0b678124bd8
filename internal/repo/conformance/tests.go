package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// scripts is where each subtest of a test is a file.
const scripts, scriptsDir = "TestScripts", "testdata/script"

// Missing lists the tests of requirements that the sources below root, the module's, do
// not have. Of a subtest its test has to be there, of a script its file.
func Missing(root fs.FS, reqs []Requirement) ([]string, error) {
	var missing []string
	have := map[string]map[string]bool{}
	for _, p := range proofs(reqs) {
		if have[p.Package] == nil {
			names, err := testsOf(root, p.Package)
			if err != nil {
				return nil, err
			}
			have[p.Package] = names
		}
		name, sub, _ := strings.Cut(p.Test, "/")
		ok := have[p.Package][name]
		if ok && name == scripts {
			_, err := fs.Stat(root, path.Join(p.Package, scriptsDir, sub+".txtar"))
			ok = err == nil
		}
		if !ok {
			missing = append(missing, p.String())
		}
	}
	return missing, nil
}

// testsOf lists the tests of a package, whatever system they are built for.
func testsOf(root fs.FS, dir string) (map[string]bool, error) {
	files, err := fs.Glob(root, path.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, file := range files {
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				names[fn.Name.Name] = true
			}
		}
	}
	return names, nil
}

// Failed lists the tests of requirements that did not pass in what go test -json wrote
// for module: those that failed, were skipped, or did not run.
func Failed(results io.Reader, module string, reqs []Requirement) ([]string, error) {
	said, err := outcomes(results)
	if err != nil {
		return nil, err
	}
	var failed []string
	for _, p := range proofs(reqs) {
		switch said[p.in(module)] {
		case "pass":
		case "fail":
			failed = append(failed, p.String()+" failed")
		case "skip":
			failed = append(failed, p.String()+" was skipped")
		default:
			failed = append(failed, p.String()+" did not run")
		}
	}
	return failed, nil
}

// Run is a call of go test: a package, as its directory below the module, and the tests for -run.
type Run struct{ Package, Tests string }

// Unrun lists the calls of go test that run the tests of requirements that were skipped or did not
// run in what go test -json wrote for module. A test that -run names runs whether it is drawn or not.
func Unrun(results io.Reader, module string, reqs []Requirement) ([]Run, error) {
	said, err := outcomes(results)
	if err != nil {
		return nil, err
	}
	var runs []Run
	names := map[Run][]string{} // of the tests or subtests that go behind the pattern of a call
	add := func(r Run, name string) {
		if names[r] == nil {
			runs = append(runs, r)
		}
		names[r] = append(names[r], name)
	}
	for _, p := range proofs(reqs) {
		if o := said[p.in(module)]; o == "pass" || o == "fail" {
			continue
		}
		if name, sub, ok := strings.Cut(p.Test, "/"); ok {
			add(Run{Package: p.Package, Tests: exactly(name) + "/"}, sub)
		} else {
			add(Run{Package: p.Package}, name)
		}
	}
	for i, r := range runs {
		// A name of several levels is a pattern of several levels, in a call of its own.
		var flat []string
		for _, name := range names[r] {
			if strings.Contains(name, "/") {
				runs = append(runs, Run{Package: r.Package, Tests: r.Tests + exactly(strings.Split(name, "/")...)})
			} else {
				flat = append(flat, name)
			}
		}
		if runs[i].Tests += "^(" + strings.Join(flat, "|") + ")$"; len(flat) == 0 {
			runs[i] = Run{}
		}
	}
	return slices.DeleteFunc(runs, func(r Run) bool { return r == Run{} }), nil
}

// exactly is the pattern of -run for one test or subtest, by the names of its levels.
func exactly(levels ...string) string { return "^" + strings.Join(levels, "$/^") + "$" }

// in is the test as go test -json names it.
func (p Proof) in(module string) string { return path.Join(module, p.Package) + "." + p.Test }

// outcomes is what go test -json wrote of each test.
func outcomes(results io.Reader) (map[string]string, error) {
	said := map[string]string{}
	lines := bufio.NewScanner(results)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Package, Test string }
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Test == "" {
			continue // what is not an event is of a build
		}
		switch e.Action {
		case "pass", "fail", "skip":
			said[e.Package+"."+e.Test] = e.Action
		}
	}
	return said, lines.Err()
}

// Error is an error about tests, nil when there are none.
func Error(what string, tests []string) error {
	if len(tests) == 0 {
		return nil
	}
	return fmt.Errorf("%s:\n  %s", what, strings.Join(tests, "\n  "))
}
