package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// The sizes from which on a second idea is likely. They are warnings: an honest long
// switch is better than two halves.
const (
	warnFileLines    = 800
	warnFuncLines    = 100
	warnPackageLines = 5000
)

// TestArchSizes warns; make check prints what it says.
func TestArchSizes(t *testing.T) {
	packages := map[string]int{}
	eachFile(t, func(f archFile) {
		if f.test || ast.IsGenerated(f.syntax) {
			return
		}
		packages[f.pkg] += f.lines
		for _, w := range oversized(f) {
			t.Logf("warning: %s", w)
		}
	})
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		if n := packages[pkg]; n > warnPackageLines {
			t.Logf("warning: package %s has %d lines, more than %d: look for the second noun in it", pkg, n, warnPackageLines)
		}
	}
}

// oversized names the file, and the functions in it, that are longer than the warnings'
// sizes.
func oversized(f archFile) (warnings []string) {
	if f.lines > warnFileLines {
		warnings = append(warnings, fmt.Sprintf("%s has %d lines, more than %d: look for the second idea in it", f.path, f.lines, warnFileLines))
	}
	for _, d := range f.syntax.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1; n > warnFuncLines {
			warnings = append(warnings, fmt.Sprintf("%s: %s has %d lines, more than %d: look for the second idea in it", f.at(fn.Pos()), fn.Name.Name, n, warnFuncLines))
		}
	}
	return warnings
}

// TestOversized: a file or function of exactly the size gets no warning; one that is a line longer
// gets one.
func TestOversized(t *testing.T) {
	for _, tc := range []struct{ file, fn, want int }{
		{warnFileLines, warnFuncLines, 0},
		{warnFileLines, warnFuncLines + 1, 1},
		{warnFileLines + 1, warnFuncLines, 1},
		{warnFileLines + 1, warnFuncLines + 1, 2},
	} {
		src := "package p\n\nfunc f() {" + strings.Repeat("\n", tc.fn-1) + "}\n"
		src += strings.Repeat("\n", tc.file-strings.Count(src, "\n"))
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, "p.go", src, 0)
		testenv.Must(t, err)
		got := oversized(archFile{path: "p.go", lines: fset.File(syntax.Pos()).LineCount(), fset: fset, syntax: syntax})
		if len(got) != tc.want {
			t.Errorf("a file of %d lines, a function of %d: %q", tc.file, tc.fn, got)
		}
	}
}
