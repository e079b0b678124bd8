package policy

import (
	"errors"
	"path"
	"slices"
	"strings"

	"waggle/internal/cmdline"
)

// Links resolves the symbolic links of paths. internal/fs/realpath does it on the file
// system, Recorded from a record.
type Links interface {
	// Real returns the absolute path that path, absolute and not cleaned, reaches
	// once every link is followed: the deepest existing ancestor resolved, the rest
	// appended, ".." after a link as the kernel has it. An error is a doubt.
	Real(path string) (string, error)
}

// RealPath is what one path resolved to. An empty Real: it could not be resolved.
type RealPath struct {
	Spelled string `json:"path"`
	Real    string `json:"real"`
}

// Recorded are resolved paths as a record holds them. Judging a call by them gives
// the same answer on every machine and at any later time (RealPaths).
type Recorded []RealPath

var (
	errNotRecorded = errors.New("the record does not have the target of the path")
	errUnresolved  = errors.New("the path could not be resolved when it was asked")
)

// Real returns what is recorded of a path, and an error for a path that is not.
func (r Recorded) Real(p string) (string, error) {
	for _, pair := range r {
		if pair.Spelled != p {
			continue
		}
		if pair.Real == "" {
			return "", errUnresolved
		}
		return pair.Real, nil
	}
	return "", errNotRecorded
}

// Or resolves by the record first and what it does not hold by other Links: the files
// that a tool has resolved, then the disk.
func (r Recorded) Or(other Links) Links { return &first{r, other} }

type first struct {
	known Recorded
	other Links
}

func (f *first) Real(p string) (string, error) {
	if real, err := f.known.Real(p); !errors.Is(err, errNotRecorded) {
		return real, err
	}
	return f.other.Real(p)
}

// near resolves the directory of a rule that was not known when the paths were
// recorded: as far as the deepest recorded directory above it says.
func (r Recorded) near(p string) string {
	best, real := "", p
	for _, pair := range r {
		if dir := path.Clean(pair.Spelled); pair.Real != "" && len(dir) > len(best) && under(dir, p) {
			best, real = dir, joinGlob(pair.Real, strings.TrimPrefix(strings.TrimPrefix(p, dir), "/"))
		}
	}
	return real
}

// trace resolves and keeps what it resolved.
type trace struct {
	links Links
	found Recorded
}

func (t *trace) Real(p string) (string, error) {
	if real, err := t.found.Real(p); !errors.Is(err, errNotRecorded) {
		return real, err
	}
	real, err := t.links.Real(p)
	if err != nil {
		real = ""
	}
	t.found = append(t.found, RealPath{p, real})
	return real, err
}

// RealPaths lists every path that judging the call under these policies resolves,
// with what c.Links makes of it. A call that is judged by Recorded(RealPaths(...))
// gets the verdict that it gets by c.Links at that moment.
func RealPaths(c Call, under ...Policy) []RealPath {
	if c.Links == nil {
		return nil
	}
	t := &trace{links: c.Links}
	if strings.HasPrefix(c.Home, "/") && strings.Contains(string(c.Input), "~") {
		t.found = Recorded{{"~", path.Clean(c.Home)}} // the directory that "~" was replaced with
	}
	c.Links = t
	RiskOf(c)
	for _, p := range under {
		q, err := newQuestion(c)
		if err != nil {
			break
		}
		q.denied(p.Deny)
		for _, r := range p.Allow { // each by itself: Judge stops at the first that is enough
			q.allowedBy(r)
		}
		mode, _ := lookupMode(p.Mode)
		p.allows(mode, q)
		if q.hasText {
			q.resolveFiles(q.reading())
		}
	}
	return t.found
}

// resolveFiles resolves every file that a text names, whichever rule would be asked about it.
func (q *question) resolveFiles(r cmdline.Reading) {
	for _, c := range r.Commands {
		words := slices.Concat(c.Reads, c.Writes)
		if c.Inner != nil {
			q.resolveFiles(*c.Inner)
		}
		for _, command := range [][]cmdline.Word{c.Words, c.Rest} {
			e := cmdline.EffectOf(command)
			words = slices.Concat(words, e.Reads, e.Writes, e.In)
		}
		for _, w := range words {
			for _, dir := range c.Dirs {
				if w.Known() && !w.Output {
					q.resolve(inDir(dir, w.Text))
				}
			}
		}
	}
}

// place is where a call's paths start from, and how they are resolved.
type place struct {
	links   Links
	cwd     string // "" when it is not known
	realCwd string // cwd with links followed; cwd without Links
	doubt   string // why realCwd is not known
	home    string
	guarded []string // absolute paths, both spellings
}

func placeOf(c Call) place {
	pl := place{links: c.Links, guarded: slices.Clone(c.Guarded)}
	if r, ok := c.Links.(Recorded); ok && c.Home == "" {
		c.Home, _ = r.Real("~")
	}
	if strings.HasPrefix(c.Home, "/") {
		pl.home = path.Clean(c.Home)
	}
	if _, bad := cmdline.Invisible(c.Cwd, ""); strings.HasPrefix(c.Cwd, "/") && !bad && len(c.Cwd) <= maxPath {
		pl.cwd = path.Clean(c.Cwd)
		pl.realCwd = pl.cwd
	}
	if c.Links == nil {
		return pl
	}
	if pl.cwd != "" {
		real, err := c.Links.Real(pl.cwd)
		pl.realCwd = real
		if err != nil {
			pl.doubt, pl.realCwd = "the working directory cannot be resolved: "+causeText(err), ""
		}
	}
	for _, g := range c.Guarded {
		if real, err := pl.real(g); err == nil && real != g {
			pl.guarded = append(pl.guarded, real)
		}
	}
	return pl
}

// causeText is an error for a sentence: its innermost text, which names no path twice.
func causeText(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// real resolves an absolute path; without Links it stays as it is.
func (pl place) real(p string) (string, error) {
	if pl.links == nil {
		return path.Clean(p), nil
	}
	if !strings.Contains(p, "..") {
		p = path.Clean(p) // the kernel reads doubled slashes and "." alike
	}
	real, err := pl.links.Real(p)
	if err == nil && !strings.HasPrefix(real, "/") {
		err = errors.New("it resolves to no absolute path")
	}
	return real, err
}

// realNear is real of the directory of a rule, text when it is clean: a record that has it not may have one above it.
func (pl place) realNear(dir, text string) (string, error) {
	real, err := pl.real(dir)
	if recorded, ok := pl.links.(Recorded); ok && errors.Is(err, errNotRecorded) {
		return recorded.near(text), nil
	}
	return real, err
}

// resolve reads a path of a call: as text, and with links followed.
func (pl place) resolve(cwd, p string) target {
	t := resolve(cwd, p)
	if t.abs == "" {
		return t
	}
	t.spelled = []string{t.abs}
	if rest, tilde := strings.CutPrefix(p, "~/"); pl.home != "" && (tilde || p == "~") {
		t.spelled = append(t.spelled, path.Join(pl.home, rest))
	}
	if pl.links != nil && !strings.Contains(t.abs, "\x00") {
		pl.follow(&t, p)
	}
	t.inside = t.doubt == ""
	t.guarded = nil
	for _, s := range append(slices.Clone(t.spelled), t.real...) {
		named := s
		switch {
		case pl.realCwd != "" && under(pl.realCwd, s):
			named = strings.TrimPrefix(s, pl.realCwd)
		case pl.cwd != "" && under(pl.cwd, s):
			named = strings.TrimPrefix(s, pl.cwd)
		default:
			t.inside = false
		}
		t.guarded = union(t.guarded, guardedIn(named))
		for _, g := range pl.guarded {
			if under(strings.ToLower(path.Clean(g)), strings.ToLower(s)) {
				t.guarded = union(t.guarded, []string{g})
			}
		}
	}
	return t
}

// follow adds the targets of a path's spellings. A path with ".." is resolved twice: as the kernel
// does it and as a program does that cleans the text first. Where the two differ, the file is
// unknown.
func (pl place) follow(t *target, p string) {
	doubt := func(why string) {
		if t.doubt == "" {
			t.doubt = why
		}
	}
	if pl.doubt != "" {
		doubt(pl.doubt)
	}
	raw := t.abs
	if strings.Contains(p, "..") {
		raw = p
		if !strings.HasPrefix(p, "/") {
			raw = pl.cwd + "/" + p
		}
	}
	for _, s := range append([]string{raw}, t.spelled...) {
		real, err := pl.real(s)
		switch {
		case err != nil:
			doubt("the path cannot be resolved: " + causeText(err))
		case len(t.real) > 0 && !slices.Contains(t.real, real):
			doubt(`the path leads to one file as the system reads ".." and to another as text`)
			t.real = append(t.real, real)
		case len(t.real) == 0:
			t.real = []string{real}
		}
	}
}

// patterns are the absolute globs of a rule's glob.
type patterns struct {
	text  string   // as it is spelled
	real  []string // with the links of its literal part followed
	allow string   // the one of real that an allow rule has; "" for none
	doubt bool     // the literal part cannot be resolved
}

// patterns resolves the literal part of a glob. In an allow rule links below the working directory,
// by whatever name, are not followed: the repository controls them, and a process that can replace
// one would choose what the rule allows. Links at and above the working directory, and elsewhere,
// are followed.
func (pl place) patterns(glob, cwd string) patterns {
	out := patterns{text: anchored(glob, cwd)}
	if pl.links == nil {
		out.real, out.allow = []string{out.text}, out.text
		return out
	}
	dir, rest := literalPart(glob)
	raw := dir
	if !strings.HasPrefix(glob, "/") {
		if pl.cwd == "" {
			return out
		}
		raw = strings.TrimSuffix(pl.cwd+"/"+dir, "/")
	}
	text := path.Clean(raw)
	for _, d := range []string{raw, text} {
		real, err := pl.realNear(d, text)
		switch {
		case err != nil:
			out.doubt = true
		case !slices.Contains(out.real, joinGlob(escapeGlob(real), rest)):
			out.real = append(out.real, joinGlob(escapeGlob(real), rest))
		}
	}
	switch {
	case pl.cwd != "" && under(pl.cwd, text):
		if pl.realCwd != "" {
			out.allow = joinGlob(escapeGlob(path.Join(pl.realCwd, strings.TrimPrefix(text, pl.cwd))), rest)
		}
	case pl.realCwd != "" && under(pl.realCwd, text):
		out.allow = joinGlob(escapeGlob(text), rest)
	case len(out.real) == 1 && !out.doubt:
		out.allow = out.real[0]
		if out.allow != out.text { // the path contains a link
			if at := pl.entered(text); at != "" {
				out.allow = joinGlob(escapeGlob(at), rest)
			}
		}
	}
	return out
}

// entered is a directory that leads into the working directory by another name: as far as
// its links lead there, and as it is spelled from there on. It is "" for any other.
func (pl place) entered(dir string) string {
	if pl.realCwd == "" {
		return ""
	}
	for i := 1; i <= len(dir); i++ {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		real, err := pl.realNear(dir[:i], dir[:i])
		if err != nil {
			return ""
		}
		if under(pl.realCwd, real) {
			return path.Join(real, dir[i:])
		}
	}
	return ""
}

// literalPart cuts a glob before its first segment with a wildcard; dir is
// unescaped, and "" when the first segment has one.
func literalPart(glob string) (dir, rest string) {
	segs := strings.Split(glob, "/")
	var plain []string
	for i, seg := range segs {
		text, ok := unescapeSegment(seg)
		if !ok {
			rest = strings.Join(segs[i:], "/")
			break
		}
		plain = append(plain, text)
	}
	dir = strings.Join(plain, "/")
	if dir == "" && strings.HasPrefix(glob, "/") {
		dir = "/"
	}
	return dir, rest
}

// unescapeSegment removes the backslashes of a segment; ok is false when it contains a wildcard.
func unescapeSegment(seg string) (text string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(seg); i++ {
		switch {
		case seg[i] == '\\' && i+1 < len(seg):
			i++
		case strings.IndexByte(globMeta, seg[i]) >= 0:
			return "", false
		}
		b.WriteByte(seg[i])
	}
	return b.String(), true
}
