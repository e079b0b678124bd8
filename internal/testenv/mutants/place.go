package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// place is a part of a file and what a mutant has there.
type place struct {
	file       string // slash-separated, from the root of the module
	line       int
	in         string // the function
	from, to   int    // the bytes that are replaced
	was, is    string
	pkg, whole string // the package's directory, the whole file
}

// key names a mutant in reasons.txt. It has no line number, which every change moves.
func (p place) key() string {
	return fmt.Sprintf("%s %s: %s => %s", p.file, p.in, short(p.was), short(p.is))
}

// text is the mutant's file.
func (p place) text() string { return p.whole[:p.from] + p.is + p.whole[p.to:] }

// short is a text on one line, at most 60 characters.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 60 {
		s = string(r[:59]) + "…"
	}
	return s
}

// places lists what can be broken in the files of a package that this system builds.
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

// inFile lists what can be broken in one file.
func inFile(dir, path, text string) ([]place, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []place
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fn.Name.Name == "String" {
			continue // what is only printed is not worth a mutant
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if n == nil {
				return false
			}
			for _, c := range broken(n) {
				from, to := fset.Position(c.from).Offset, fset.Position(c.to).Offset
				out = append(out, place{
					file: path, line: fset.Position(c.from).Line, in: fn.Name.Name, from: from, to: to,
					was: text[from:to], is: strings.ReplaceAll(c.is, "\x00", text[from:to]), pkg: dir, whole: text,
				})
			}
			return true
		})
	}
	return out, nil
}

// change replaces the source between two positions; \x00 stands for what was there.
type change struct {
	from, to token.Pos
	is       string
}

// swapped is what an operator is broken into.
var swapped = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.EQL: "!=", token.NEQ: "==", token.LAND: "||", token.LOR: "&&",
	token.ADD: "-", token.SUB: "+",
}

// broken lists the ways to break one node.
func broken(n ast.Node) []change {
	switch n := n.(type) {
	case *ast.IfStmt:
		return []change{{n.Cond.Pos(), n.Cond.End(), "!(\x00)"}}
	case *ast.BinaryExpr:
		if is, ok := swapped[n.Op]; ok {
			return []change{{n.OpPos, n.OpPos + token.Pos(len(n.Op.String())), is}}
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 32); n.Kind == token.INT && err == nil {
			return []change{{n.Pos(), n.End(), strconv.FormatInt(v+1, 10)}}
		}
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
		if n.Tok != token.DEFINE {
			return []change{{n.Pos(), n.End(), ""}}
		}
	case *ast.DeferStmt:
		return []change{{n.Pos(), n.End(), ""}}
	case *ast.BranchStmt:
		if n.Tok == token.CONTINUE && n.Label == nil {
			return []change{{n.Pos(), n.End(), "break"}}
		}
	}
	return nil
}

// drawn are the places of one package in the order in which they are tried.
func drawn(found []place, seed uint64, dir string) []place {
	slices.SortFunc(found, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.from, b.from), cmp.Compare(a.is, b.is))
	})
	salt := uint64(0)
	for _, c := range []byte(dir) {
		salt = salt*131 + uint64(c)
	}
	r := rand.New(rand.NewPCG(seed, salt))
	r.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found
}
