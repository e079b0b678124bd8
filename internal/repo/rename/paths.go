package main

import (
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// paths maps the import paths of one module path to those of another.
type paths struct {
	from, to string
	packages []string // sorted, by path below the module
}

// file returns a file's content with the new paths.
func (p paths) file(name string, old []byte) ([]byte, error) {
	text := p.mentions(string(old))
	switch filepath.Ext(name) {
	case ".go":
		return p.source(name, text)
	case ".mod", ".md":
		return []byte(p.directives(text, filepath.Ext(name) == ".md")), nil
	}
	return []byte(text), nil
}

// source replaces the imports of the module's root, which no other text tells from the
// program's name.
func (p paths) source(name, text string) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	out, had := text, false
	for _, spec := range slices.Backward(f.Imports) {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil && path == p.from {
			at := fset.Position(spec.Path.Pos()).Offset
			out = out[:at] + strconv.Quote(p.to) + out[at+len(spec.Path.Value):]
			had = true
		}
	}
	if !had {
		return []byte(out), nil
	}
	return format.Source([]byte(out))
}

// directive is a line of go.mod, or of a document that shows one, with a module's path.
var directive = regexp.MustCompile(`(?m)^([ \t]*(?:(module|require|replace|exclude|import)[ \t]+)?)("?)(\S+?)("?)([ \t]+v[0-9].*|[ \t]+=>.*|[ \t]*)$`)

// directives replaces the root's path in lines of go.mod. In a document a line begins
// with the directive's word, or is an import.
func (p paths) directives(text string, document bool) string {
	return directive.ReplaceAllStringFunc(text, func(line string) string {
		m := directive.FindStringSubmatch(line)
		indent, word, open, path, shut, rest := m[1], m[2], m[3], m[4], m[5], m[6]
		alone := strings.TrimSpace(rest) == ""
		quoted := open != "" && shut != ""
		switch {
		case path != p.from:
			return line
		case word == "module", word == "import" && quoted, alone && quoted && document, !alone && word != "", !alone && !document:
			return indent + open + p.to + shut + rest
		}
		return line
	})
}

// mentions replaces the paths of packages wherever they stand as whole words.
func (p paths) mentions(text string) string {
	var b strings.Builder
	done := 0
	for {
		i := strings.Index(text[done:], p.from+"/")
		if i < 0 {
			b.WriteString(text[done:])
			return b.String()
		}
		i += done
		b.WriteString(text[done:i])
		done = i + len(p.from)
		whole := i == 0 || !letter(text[i-1]) && text[i-1] != '/'
		if whole && p.known(text[done+1:]) {
			b.WriteString(p.to)
		} else {
			b.WriteString(p.from)
		}
	}
}

// known reports whether text begins with a package's path; a name of the package may
// follow, as in journal.Open.
func (p paths) known(text string) bool {
	end := 0
	for end < len(text) && (letter(text[end]) || text[end] == '/') {
		end++
	}
	word := strings.TrimRight(text[:end], "./")
	if _, ok := slices.BinarySearch(p.packages, word); ok {
		return true
	}
	dir, _, dot := strings.Cut(word, ".")
	_, ok := slices.BinarySearch(p.packages, dir)
	return dot && ok
}

// letter reports whether a byte can be in a part of a path.
func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~$", c) >= 0
}
