package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"waggle/internal/cmdline"
)

const (
	globMeta      = `*?[{\`
	maxGlobBraces = 4
	maxPath       = 4096
)

// compileGlob checks a path pattern and cleans it. It is a doublestar glob: * and ? match within a
// name, ** matches any number of directories when it is a whole segment, [a-z] is a class of
// letters and digits, {a,b} alternatives, \ makes the next character literal.
func compileGlob(p string) (string, error) {
	if err := checkGlob(p); err != nil {
		return "", err
	}
	clean := cleanGlob(p)
	return clean, checkGlob(clean) // ./~ is no better than ~
}

func checkGlob(p string) error {
	switch {
	case p != strings.TrimSpace(p):
		return errors.New("the path begins or ends with a space")
	case strings.HasPrefix(p, "~"):
		return errors.New(`"~" is not resolved here; write the absolute path`)
	case isDrive(p):
		return errors.New("drive letters are not supported; write a path relative to the working directory")
	case strings.Count(p, "{") > maxGlobBraces:
		return fmt.Errorf("more than %d brace groups", maxGlobBraces)
	case !doublestar.ValidatePattern(p):
		return errors.New("the path pattern cannot be read: an open class, brace or backslash")
	case !plainClasses(p):
		return errors.New("a class holds letters, digits, _ and ranges of them only: another could match a /")
	case strings.Count(p, "(") != strings.Count(p, ")"):
		return errors.New("unbalanced parentheses")
	case len(p) > 1 && strings.HasSuffix(p, "/"):
		return fmt.Errorf("a path does not end in /; write %s** for the files below", p)
	}
	_, rest := splitGlob(p)
	for _, seg := range strings.Split(rest, "/") {
		if seg == ".." || seg == "." {
			return fmt.Errorf("%q after a wildcard never matches a cleaned path", seg)
		}
	}
	return nil
}

func cleanGlob(p string) string {
	base, rest := splitGlob(p)
	clean := path.Clean(base)
	switch {
	case rest == "":
		return clean
	case base == "" || clean == ".":
		return cleanRest(rest)
	case clean == "/":
		return "/" + cleanRest(rest)
	}
	return clean + "/" + cleanRest(rest)
}

// isDrive recognises C: and what is below it.
func isDrive(p string) bool {
	letter := p != "" && ('a' <= p[0]|0x20 && p[0]|0x20 <= 'z')
	return letter && len(p) >= 2 && p[1] == ':' && (len(p) == 2 || p[2] == '/' || p[2] == '\\')
}

// plainClasses reports whether every class of a valid glob contains only letters, digits and
// underscores: doublestar lets a class match the separator.
func plainClasses(p string) bool {
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '[':
			end := i + 1 + strings.IndexByte(p[i+1:], ']')
			for j := i + 1; j < end; j++ {
				between := p[j] == '-' && j > i+1 && j+1 < end && cmdline.WordByte(p[j-1]) && cmdline.WordByte(p[j+1])
				if !cmdline.WordByte(p[j]) && !between {
					return false
				}
			}
			i = end
		}
	}
	return true
}

// splitGlob cuts a pattern before its first segment with a wildcard; base has no
// wildcard, and is "" when the first segment has one.
func splitGlob(p string) (base, rest string) {
	at := strings.IndexAny(p, globMeta)
	if at < 0 {
		return p, ""
	}
	cut := strings.LastIndexByte(p[:at], '/')
	switch {
	case cut < 0:
		return "", p
	case cut == 0:
		return "/", p[1:]
	}
	return p[:cut], p[cut+1:]
}

// cleanRest removes empty segments.
func cleanRest(rest string) string {
	segs := slices.DeleteFunc(strings.Split(rest, "/"), func(s string) bool { return s == "" })
	return strings.Join(segs, "/")
}

// target is one path that a call is about.
type target struct {
	abs     string // cleaned, absolute; a best guess when doubt is set
	doubt   string // why the file is unknown
	inside  bool   // at or under the working directory, in every spelling
	guarded []string
	spelled []string // abs, and what "~" makes of it
	real    []string // with links followed: one, or more with a doubt; none without Links
}

// lostCwd stands for an unknown working directory; no rule can name it.
const lostCwd = "/\x00"

// resolve cleans a path as text: symbolic links are place.resolve's to follow.
func resolve(cwd, p string) target {
	t := target{}
	known := strings.HasPrefix(cwd, "/")
	if _, bad := cmdline.Invisible(cwd, ""); bad {
		known = false
	}
	if !known {
		cwd = lostCwd
	}
	switch _, bad := cmdline.Invisible(p, ""); {
	case len(p) > maxPath || len(cwd) > maxPath:
		t.doubt = fmt.Sprintf("the path is longer than %d bytes", maxPath)
		return t
	case bad:
		t.doubt = "the path holds an invisible character"
	case strings.HasPrefix(p, "~"):
		t.doubt = `the path begins with "~", which some tools resolve`
	case strings.Contains(p, `\`):
		t.doubt = "the path holds a backslash"
	case isDrive(p):
		t.doubt = "the path begins with a drive letter"
	case !known && !strings.HasPrefix(p, "/"):
		t.doubt = "the working directory is not known"
	}
	if strings.HasPrefix(p, "/") {
		t.abs = path.Clean(p)
	} else {
		t.abs = path.Join(cwd, p)
	}
	return t
}

func under(dir, p string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// anchored is a glob as an absolute one.
func anchored(glob, cwd string) string {
	if strings.HasPrefix(glob, "/") {
		return glob
	}
	if !strings.HasPrefix(cwd, "/") {
		cwd = lostCwd
	}
	base, rest := splitGlob(glob)
	return joinGlob(escapeGlob(path.Join(cwd, base)), rest)
}

func joinGlob(base, rest string) string {
	switch {
	case rest == "":
		return base
	case base == "/":
		return "/" + rest
	}
	return base + "/" + rest
}

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)

func escapeGlob(s string) string { return globEscaper.Replace(s) }

// allowsPath reports whether an allow glob matches a target in every spelling; for
// edits a guarded name must be spelled out in the glob.
func (pl place) allowsPath(glob, cwd string, t target, edits bool) bool {
	pat := pl.patterns(glob, cwd)
	if t.doubt != "" || pat.allow == "" {
		return false
	}
	for _, s := range t.spelled {
		if !doublestar.MatchUnvalidated(pat.text, s) && !doublestar.MatchUnvalidated(pat.allow, s) {
			return false
		}
	}
	for _, s := range t.real {
		if !doublestar.MatchUnvalidated(pat.allow, s) {
			return false
		}
	}
	if !edits {
		return true
	}
	spelled := guardedIn(glob)
	for _, g := range t.guarded {
		if !slices.Contains(spelled, g) && pat.text != escapeGlob(g) {
			return false
		}
	}
	return true
}

// deniesPath matches every spelling of a target with every spelling of a deny glob.
// It compares without regard to case too, and with backslashes read as separators: a
// file system may.
func (pl place) deniesPath(glob, cwd string, t target) cmdline.Match {
	pats := pl.patterns(glob, cwd)
	for _, s := range slices.Concat(t.spelled, t.real) {
		for _, p := range []string{s, path.Clean(strings.ReplaceAll(s, `\`, "/"))} {
			for _, pat := range append([]string{pats.text}, pats.real...) {
				if doublestar.MatchUnvalidated(pat, p) ||
					doublestar.MatchUnvalidated(strings.ToLower(pat), strings.ToLower(p)) {
					return cmdline.Yes
				}
			}
		}
	}
	if pats.doubt || t.doubt != "" {
		return cmdline.Maybe
	}
	return cmdline.No
}

// mayLieBelow reports whether a glob may cmdline.Match something under a target.
func (pl place) mayLieBelow(glob, cwd string, t target) bool {
	pats := pl.patterns(glob, cwd)
	for _, dir := range slices.Concat(t.spelled, t.real) {
		for _, pat := range append([]string{pats.text}, pats.real...) {
			if base, rest := splitGlob(pat); under(dir, base) || rest != "" && under(base, dir) {
				return true
			}
		}
	}
	return pats.doubt
}

// globRoot is where a Glob call starts to look: its path and the part of its
// pattern before the first wildcard.
func globRoot(dir, pattern string) (root, doubt string) {
	meta := strings.ContainsAny(pattern, globMeta)
	switch {
	case meta && strings.Contains(pattern, ".."):
		return dir, `the pattern mixes ".." and wildcards`
	case strings.Contains(pattern, "{/"), strings.Contains(pattern, ",/"), strings.Contains(pattern, "~"):
		return dir, "the pattern may expand to an absolute path"
	}
	base, _ := splitGlob(pattern)
	switch {
	case strings.HasPrefix(base, "/") || dir == "":
		return base, ""
	case base == "":
		return dir, ""
	}
	return dir + "/" + base, ""
}
