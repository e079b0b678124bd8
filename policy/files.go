package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"waggle/internal/cmdline"
)

// deniedFiles looks for the files of a deny rule of Read, Edit or Write in a shell text: a listed command that reads or
// writes one is denied; where another command names one, and where the text does not show which files it means, the
// call asks. An empty glob is every file.
func (q *question) deniedFiles(tool, glob string) cmdline.Match {
	f := &fileDeny{q: q, glob: glob, edits: tool != "Read", pats: q.place.patterns(glob, q.call.Cwd), matched: map[asked]cmdline.Match{},
		read: map[string]cmdline.Match{}, heard: map[string]cmdline.Match{}}
	found := f.text(q.reading())
	if q.stdin != "" && found != cmdline.Yes {
		if readerOf(q.carries()) == inputIsShell {
			found = max(found, f.text(q.readAlone(q.stdin)))
		} else {
			found = max(found, f.mention(cmdline.Lit(q.stdin), where{dirs: []string{""}}, false))
		}
	}
	return found
}

// recorded is the first deny rule for reading files that may lie below the working directory: git may hold them.
func (q *question) recorded(deny []Rule) (Rule, bool) {
	here := q.resolve(".")
	for _, r := range deny {
		if m, err := q.compile(r); err == nil && r.Tool == "Read" && (m.glob == "" || q.place.mayLieBelow(m.glob, q.call.Cwd, here)) {
			return r, true
		}
	}
	return Rule{}, false
}

// fileDeny is one deny rule for files.
type fileDeny struct {
	q     *question
	glob  string
	edits bool // the rule is for writing, not for reading
	pats  patterns
	// What a text gives to programs beside their words: what it prints, and documents. wrote are the files that it
	// writes, linked that names of files may mean others.
	said   []cmdline.Word
	wrote  []string
	linked bool
	depth  int // shells in whose text this one stands
	// Answers that were given: of path, of texts for shells, of what is said.
	matched map[asked]cmdline.Match
	read    map[string]cmdline.Match
	heard   map[string]cmdline.Match
}

// text matches a whole text.
func (f *fileDeny) text(r cmdline.Reading) cmdline.Match {
	f.listen(r)
	return f.reading(r)
}

// shell matches a text that a shell may be given: it asks at most.
func (f *fileDeny) shell(text string) cmdline.Match {
	if found, ok := f.read[text]; ok {
		return found
	}
	if f.depth > cmdline.MaxNest {
		return cmdline.Maybe
	}
	f.read[text] = cmdline.Maybe // it may be given to itself
	inner := &fileDeny{q: f.q, glob: f.glob, edits: f.edits, pats: f.pats, depth: f.depth + 1, matched: f.matched, read: f.read, heard: map[string]cmdline.Match{}}
	found := min(cmdline.Maybe, inner.text(f.q.readAlone(text)))
	f.read[text] = found
	return found
}

func (f *fileDeny) reading(r cmdline.Reading) cmdline.Match {
	found := cmdline.No
	if slices.ContainsFunc(r.Unclear, func(u cmdline.Unclear) bool { return !u.Listed }) {
		found = cmdline.Maybe
	}
	for _, c := range r.Commands {
		found = max(found, f.command(c))
	}
	return found
}

// listen notes what a text prints and writes.
func (f *fileDeny) listen(r cmdline.Reading) {
	for _, c := range r.Commands {
		if len(c.Words) > 0 && (c.Words[0].Text == "echo" || c.Words[0].Text == "printf") {
			f.said = append(f.said, c.Words[1:]...)
		}
		f.said = append(f.said, cmdline.Lit(c.Input))
		for _, w := range c.Writes {
			f.wrote = append(f.wrote, path.Base(w.Text))
		}
		if c.Inner != nil {
			f.listen(*c.Inner)
		}
	}
}

func (f *fileDeny) command(c cmdline.Command) cmdline.Match {
	found := cmdline.No
	at := where{dirs: c.Dirs, moved: f.linked || c.Moved}
	redirected := c.Reads
	if f.edits {
		redirected = c.Writes
	}
	for _, w := range redirected {
		found = max(found, f.word(w, at, false))
	}
	for _, a := range c.Assigns {
		if cmdline.AssignmentRisk(a) != cmdline.RiskLow {
			found = max(found, f.mention(a, at, true))
		}
		if _, grade := envRisk(a.Text); grade == RiskHigh && f.glob != "" {
			found = max(found, cmdline.Maybe)
		}
	}
	words := c.Words
	if c.Inner != nil {
		found, words = max(found, f.reading(*c.Inner)), c.Rest
	}
	if len(words) == 0 {
		return found
	}
	found = max(found, f.effect(words, at))
	if e := cmdline.EffectOf(words); !e.Listed || e.Unsure {
		found = max(found, f.unlisted(c, words, at))
	}
	f.linked = f.linked || cmdline.BaseName(words[0].Text) == "ln" || cmdline.EffectOf(words).Moves
	return found
}

// where is where relative paths start. moved: perhaps elsewhere.
type where struct {
	dirs  []string
	moved bool
	whole bool // what lies below a name is meant with it, whatever the name looks like
}

// effect matches what a listed command reads or writes.
func (f *fileDeny) effect(words []cmdline.Word, at where) cmdline.Match {
	e := cmdline.EffectOf(words)
	found := cmdline.No
	if e.Names && !f.edits || !e.Listed {
		return found
	}
	for _, in := range e.In {
		for _, d := range at.dirs {
			at.dirs = append(slices.Clip(at.dirs), inDir(d, in.Text))
		}
	}
	at.whole = e.Moves
	files := e.Reads
	if f.edits {
		files = e.Writes
	}
	for _, w := range files {
		found = max(found, f.word(w, at, e.Tree && f.like(e.Like)))
	}
	if e.Unsure && f.glob != "" {
		found = max(found, cmdline.Maybe)
	}
	return found
}

// unlisted matches a command whose files are not listed: it asks where it names one, or may be told of one.
func (f *fileDeny) unlisted(c cmdline.Command, words []cmdline.Word, at where) cmdline.Match {
	name, base := cmdline.ProgramName(words[0].Text), cmdline.BaseName(words[0].Text)
	if f.glob == "" || f.edits && base == "git" && cmdline.Spells(words, "add", "commit", "push", "tag") {
		return cmdline.No
	}
	open := cmdline.Spells(words, "--no-index", "--untracked") || base == "git" && cmdline.Spells(words, "rm", "mv") || !cmdline.KnownProgram(words[0].Text) || cmdline.CodeReaders[name] || cmdline.Shells[name]
	for i, w := range words[:len(words)-1] {
		if w.Text == "-C" || w.Text == "--directory" || w.Text == "--prefix" {
			at.dirs = append(slices.Clip(at.dirs), words[i+1].Text)
		}
	}
	found := cmdline.No
	for _, w := range cmdline.Named(cmdline.WithoutProse(words)) {
		found = max(found, f.mention(w, at, open))
	}
	if _, wraps := cmdline.Wrappers[base]; wraps || base == "sudo" {
		for i := 1; i < min(len(words), 16); i++ {
			if words[i].Sure != cmdline.Unknown {
				found = max(found, min(cmdline.Maybe, f.effect(words[i:], at)))
			}
		}
	}
	if name == "eval" || cmdline.Shells[name] {
		for _, w := range words[1:] {
			if strings.HasPrefix(w.Text, "-O") || strings.HasPrefix(w.Text, "+O") {
				found = max(found, cmdline.Maybe) // its wildcards match other files
			}
			if at.moved {
				found = max(found, cmdline.Maybe)
			} else if w.Sure == cmdline.Literal && strings.ContainsAny(w.Text, " \t\n|;&<>") {
				found = max(found, f.shell(w.Text))
			}
		}
	}
	told := c.Piped || c.Document || slices.ContainsFunc(words[1:], func(w cmdline.Word) bool { return slices.Contains(f.wrote, path.Base(w.Text)) })
	if told {
		found = max(found, f.hears(at, open, cmdline.Shells[name]))
	}
	return found
}

// hears matches what a text says, for a command that may be told it.
func (f *fileDeny) hears(at where, open, shell bool) cmdline.Match {
	key := fmt.Sprint(at, open, shell)
	found, ok := f.heard[key]
	if ok {
		return found
	}
	if shell && at.moved && len(f.said) > 0 {
		found = cmdline.Maybe
	}
	for _, w := range f.said {
		found = max(found, f.mention(w, at, open))
		if shell && w.Sure == cmdline.Literal && found == cmdline.No {
			found = max(found, f.shell(w.Text))
		}
	}
	f.heard[key] = found
	return found
}

// mention asks about a word that names a file of the rule, anywhere in it. open: what becomes of the word is not known, so
// one that is not known, or a directory above such a file, counts.
func (f *fileDeny) mention(w cmdline.Word, at where, open bool) cmdline.Match {
	if !w.Known() || w.Output || w.Pattern && strings.Contains(w.Text, "{") {
		if open {
			return cmdline.Maybe
		}
		return cmdline.No
	}
	texts := []string{w.Text}
	if bare := unquoted.Replace(w.Text); bare != w.Text {
		texts = append(texts, bare)
	}
	for _, text := range texts {
		if f.named(text, at, open) {
			return cmdline.Maybe
		}
		for _, token := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("'\"`=,:;()<>|&@{}$#", r) }) {
			tail := token[min(2, len(token)):]
			if base := strings.TrimPrefix(token, "/"); strings.Contains(text, ":/") && f.named(base, at, false) {
				return cmdline.Maybe // from the top of the repository
			}
			if f.named(token, at, open && strings.Trim(token, "./") != "") || token[0] == '-' && f.named(tail, at, false) || token == "file" && strings.Contains(text, "file:") {
				return cmdline.Maybe
			}
		}
	}
	return cmdline.No
}

// like reports whether a file of the rule may have a name that a wildcard matches.
func (f *fileDeny) like(wildcard string) bool {
	last := f.pats.text[strings.LastIndexByte(f.pats.text, '/')+1:]
	return wildcard == "" || last == "**" || namesMeet(strings.ToLower(last), strings.ToLower(wildcard))
}

var unquoted = strings.NewReplacer("'", "", `"`, "", `\`, "")

func (f *fileDeny) named(text string, at where, above bool) bool {
	if text == "" || len(text) > maxPath {
		return false
	}
	one := cmdline.Lit(text)
	if strings.ContainsAny(text, "*?[") {
		one = cmdline.Word{Text: text, Pattern: true}
	}
	at.moved = false
	if f.word(one, at, false) != cmdline.No {
		return true
	}
	return above && slices.ContainsFunc(at.dirs, func(dir string) bool {
		base, _ := splitGlob(f.pats.text)
		t := f.q.resolve(inDir(dir, text))
		return slices.ContainsFunc(slices.Concat(t.spelled, t.real), func(p string) bool { return under(p, base) })
	})
}

// word compares a file that a command reads or writes with the rule. Where the text has been in more than one
// directory, the last is the one that is meant.
func (f *fileDeny) word(w cmdline.Word, at where, tree bool) cmdline.Match {
	switch {
	case f.glob == "" && w.Sure != cmdline.Unknown:
		return cmdline.Yes
	case w.Below && w.Text != "":
		if !f.like("\x00" + w.Text) {
			return cmdline.No
		}
		return cmdline.Maybe
	case !w.Known() || w.Output || strings.ContainsAny(w.Text, "{}") && w.Pattern:
		return cmdline.Maybe
	}
	found := cmdline.No
	if at.moved && !strings.HasPrefix(w.Text, "/") || at.moved && w.Pattern {
		found = cmdline.Maybe
	}
	for i, dir := range at.dirs {
		one := f.path(inDir(dir, w.Text), w.Pattern, tree && (at.whole || !cmdline.IsFile(w.Text)))
		if one == cmdline.Yes && i+1 < len(at.dirs) {
			one = cmdline.Maybe
		}
		found = max(found, one)
	}
	return found
}

// asked is what path was asked.
type asked struct {
	path          string
	pattern, tree bool
}

func (f *fileDeny) path(p string, pattern, tree bool) cmdline.Match {
	key := asked{p, pattern, tree}
	found, ok := f.matched[key]
	if !ok {
		found = f.match(p, pattern, tree)
		f.matched[key] = found
	}
	return found
}

func (f *fileDeny) match(p string, pattern, tree bool) cmdline.Match {
	if pattern {
		dir, rest := literalPart(p)
		t := f.q.resolve(dir)
		segs := strings.FieldsFunc(rest, func(r rune) bool { return r == '/' })
		if t.doubt != "" || slices.Contains(segs, "..") {
			return cmdline.Maybe
		}
		segs = slices.DeleteFunc(segs, func(s string) bool { return s == "." })
		for _, base := range slices.Concat(t.spelled, t.real) {
			for _, glob := range append([]string{f.pats.text}, f.pats.real...) {
				if globsMeet(strings.Split(glob, "/"), append(strings.Split(escapeGlob(strings.TrimSuffix(base, "/")), "/"), segs...), tree || f.edits) {
					return cmdline.Maybe
				}
			}
		}
		if !tree {
			return cmdline.No
		}
		p = dir
	}
	t := f.q.resolve(p)
	found := f.q.place.deniesPath(f.glob, f.q.call.Cwd, t)
	if found == cmdline.No && tree && f.q.place.mayLieBelow(f.glob, f.q.call.Cwd, t) {
		return cmdline.Maybe
	}
	return found
}

// globsMeet reports whether a file may match both a rule's glob and a shell's pattern, cut at their slashes. tree: what
// lies below the pattern's matches counts too.
func globsMeet(glob, pattern []string, tree bool) bool {
	switch {
	case len(glob) == 0:
		return len(pattern) == 0
	case len(pattern) == 0:
		return tree
	case glob[0] == "**":
		return globsMeet(glob[1:], pattern, tree) || globsMeet(glob, pattern[1:], tree) || len(glob) == 1
	}
	return namesMeet(strings.ToLower(glob[0]), strings.ToLower(pattern[0])) && globsMeet(glob[1:], pattern[1:], tree)
}

// namesMeet reports whether a name may match both. A wildcard of a shell does not match a dot at the beginning of a name;
// one of find does: a zero byte is before it.
func namesMeet(glob, pattern string) bool {
	pattern, find := strings.CutPrefix(pattern, "\x00")
	if i, j := strings.IndexByte(pattern, '['), strings.LastIndexByte(pattern, ']'); i >= 0 && j > i {
		pattern = pattern[:i] + "*" + pattern[j+1:] // shells differ in what brackets match
	}
	name, plain := unescapeSegment(glob)
	wild := strings.IndexAny(pattern, "*?[")
	switch {
	case wild == 0 && strings.HasPrefix(glob, ".") && !find:
		return false
	case plain:
		ok, err := path.Match(pattern, name)
		return ok || err != nil
	case wild < 0:
		text, _ := unescapeSegment(pattern)
		return doublestar.MatchUnvalidated(glob, text)
	case strings.ContainsAny(glob, `{\`):
		return true
	}
	before := func(s string) string { return s[:strings.IndexAny(s, "*?[")] }
	behind := func(s string) string { return s[strings.LastIndexAny(s, "*?]")+1:] }
	a, b, c, d := before(glob), before(pattern), behind(glob), behind(pattern)
	return (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) && (strings.HasSuffix(c, d) || strings.HasSuffix(d, c))
}
