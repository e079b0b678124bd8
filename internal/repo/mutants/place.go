package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"waggle/internal/cut"
)

// place is a part of a file and the text that a mutant has there.
type place struct {
	file       string // slash-separated, from the root of the module
	line       int
	in         string // the function, the constant or the variable
	nth        int    // which of those in it that have the same words, from 1
	from, to   int    // the bytes that are replaced
	was, is    string
	pkg, whole string // the package's directory, the whole file
}

// key names a mutant in reasons.txt. It has no line number, which every change moves.
func (p place) key() string {
	key := fmt.Sprintf("%s %s: %s => %s", p.file, p.in, short(p.was), short(p.is))
	if p.nth > 1 {
		key += fmt.Sprintf(" #%d", p.nth)
	}
	return key
}

// text is the mutant's file.
func (p place) text() string { return p.whole[:p.from] + p.is + p.whole[p.to:] }

// short is a text on one line, at most 60 characters.
func short(s string) string {
	return cut.Runes(strings.Join(strings.Fields(s), " "), 60)
}

// places lists the places for mutants in the files of a package that this system builds.
func places(dir string) ([]place, error) {
	pkg, err := build.ImportDir(filepath.FromSlash(dir), 0)
	if err != nil {
		return nil, err
	}
	var out []place
	for _, name := range pkg.GoFiles {
		path := filepath.Join(filepath.FromSlash(dir), name)
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found, err := inFile(dir, filepath.ToSlash(path), string(data))
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// inFile lists the places for mutants in one file.
func inFile(dir, path, text string) ([]place, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []place
	seen := map[string]int{}
	add := func(in string, found []change) {
		for _, c := range found {
			from, to := fset.Position(c.from).Offset, fset.Position(c.to).Offset
			p := place{
				file: path, line: fset.Position(c.from).Line, in: in, from: from, to: to,
				was: text[from:to], is: strings.ReplaceAll(c.is, "\x00", text[from:to]), pkg: dir, whole: text,
			}
			key := p.key()
			seen[key]++
			p.nth = seen[key]
			out = append(out, p)
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			// A text that is only printed is not worth a mutant.
			if decl.Body != nil && decl.Name.Name != "String" {
				inBody(decl, func(c []change) { add(decl.Name.Name, c) })
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, value := range v.Values {
						add(v.Names[0].Name, limits(value))
					}
				}
			}
		}
	}
	return out, nil
}

// inBody gives the changes of each node of a function; a return belongs to the innermost
// function literal around it.
func inBody(fn *ast.FuncDecl, add func([]change)) {
	results := map[*ast.ReturnStmt]*ast.FuncType{}
	var walk func(body ast.Node, typ *ast.FuncType)
	walk = func(body ast.Node, typ *ast.FuncType) {
		ast.Inspect(body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				walk(n.Body, n.Type)
				return false
			case *ast.ReturnStmt:
				results[n] = typ
			}
			return true
		})
	}
	walk(fn.Body, fn.Type)
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if ret, ok := n.(*ast.ReturnStmt); ok {
			add(withoutError(ret, results[ret]))
		} else if n != nil {
			add(broken(n))
		}
		return n != nil
	})
}

// change replaces the source between two positions; \x00 stands for the old source.
type change struct {
	from, to token.Pos
	is       string
}

// swapped has the operator that a mutant has in place of another.
var swapped = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.EQL: "!=", token.NEQ: "==", token.LAND: "||", token.LOR: "&&",
	token.ADD: "-", token.SUB: "+",
}

// broken lists the ways to break one node.
func broken(n ast.Node) []change {
	switch n := n.(type) {
	case *ast.IfStmt:
		// The second is the statement dropped: the variables that it declares stay in use.
		return []change{{n.Cond.Pos(), n.Cond.End(), "!(\x00)"}, {n.Cond.Pos(), n.Cond.End(), "false && (\x00)"}}
	case *ast.BinaryExpr:
		if is, ok := swapped[n.Op]; ok {
			return []change{{n.OpPos, n.OpPos + token.Pos(len(n.Op.String())), is}}
		}
	case *ast.BasicLit:
		return moreAndLess(n)
	case *ast.Ident:
		switch n.Name {
		case "true":
			return []change{{n.Pos(), n.End(), "false"}}
		case "false":
			return []change{{n.Pos(), n.End(), "true"}}
		}
	case *ast.ExprStmt:
		return []change{{n.Pos(), n.End(), ""}}
	case *ast.AssignStmt:
		out := withoutCheck(n)
		if n.Tok != token.DEFINE {
			out = append(out, change{n.Pos(), n.End(), ""})
		}
		return out
	case *ast.DeferStmt:
		return []change{{n.Pos(), n.End(), ""}}
	case *ast.BranchStmt:
		if n.Tok == token.CONTINUE && n.Label == nil {
			return []change{{n.Pos(), n.End(), "break"}}
		}
	}
	return nil
}

// moreAndLess is a number one more and one less.
func moreAndLess(n *ast.BasicLit) []change {
	v, err := strconv.ParseInt(n.Value, 0, 32)
	if n.Kind != token.INT || err != nil {
		return nil
	}
	return []change{{n.Pos(), n.End(), strconv.FormatInt(v+1, 10)}, {n.Pos(), n.End(), strconv.FormatInt(v-1, 10)}}
}

// limits are the numbers of a constant or a variable. One that counts units of time is
// left out: no test needs to tell thirty seconds from thirty-one.
func limits(value ast.Expr) (out []change) {
	ast.Inspect(value, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if unit, ok := n.Y.(*ast.SelectorExpr); ok {
				if pkg, ok := unit.X.(*ast.Ident); ok && pkg.Name == "time" {
					return false
				}
			}
		case *ast.FuncLit:
			return false
		case *ast.BasicLit:
			out = append(out, moreAndLess(n)...)
		}
		return true
	})
	return out
}

// withoutCheck is an assignment of one call's error that makes no call and finds none.
func withoutCheck(n *ast.AssignStmt) []change {
	if len(n.Lhs) != 1 || len(n.Rhs) != 1 {
		return nil
	}
	name, ok := n.Lhs[0].(*ast.Ident)
	call, isCall := n.Rhs[0].(*ast.CallExpr)
	if !ok || !isCall || !strings.HasSuffix(strings.ToLower(name.Name), "err") {
		return nil
	}
	return []change{{call.Pos(), call.End(), "error(nil)"}}
}

// withoutError is a return whose error is nil.
func withoutError(n *ast.ReturnStmt, in *ast.FuncType) []change {
	if in.Results == nil || len(n.Results) == 0 || len(n.Results) != in.Results.NumFields() {
		return nil
	}
	typ, ok := in.Results.List[len(in.Results.List)-1].Type.(*ast.Ident)
	last := n.Results[len(n.Results)-1]
	if name, isName := last.(*ast.Ident); !ok || typ.Name != "error" || isName && name.Name == "nil" {
		return nil
	}
	return []change{{last.Pos(), last.End(), "nil"}}
}

// drawn are the places of one package in the order in which they are tried. The order is
// that of a sum over the seed and the key, so that code that comes or goes elsewhere
// leaves it as it was.
func drawn(found []place, seed uint64) []place {
	rank := func(p place) uint64 {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d\n%s", seed, p.key())
		v := h.Sum64() // the last bytes weigh little in its high bits: mix them
		v ^= v >> 33
		v *= 0xff51afd7ed558ccd
		v ^= v >> 33
		return v
	}
	slices.SortFunc(found, func(a, b place) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.key(), b.key()))
	})
	return found
}
