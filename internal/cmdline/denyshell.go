package cmdline

import (
	"path"
	"slices"
	"strings"
)

// Match is a deny rule's answer: no, maybe (then the call must ask), yes.
type Match int

const (
	No Match = iota
	Maybe
	Yes
)

// Denies matches a deny rule against everything that a text may run.
func (r ShellRule) Denies(c *Carried, cwd string) Match {
	if r.Words == nil {
		return r.deniesText(c)
	}
	best := No
	for _, words := range c.Commands {
		if best = max(best, r.Hits(words, cwd)); best == Yes {
			return Yes
		}
	}
	if c.Opaque || r.mentions(c) || slices.ContainsFunc(c.suspects, func(c []Word) bool { return r.Hits(c, cwd) != No }) {
		best = Maybe
	}
	return best
}

// deniesText matches a rule for a text that is more than one plain command.
func (r ShellRule) deniesText(c *Carried) Match {
	for _, text := range c.texts {
		if r.Text == strings.Trim(text, " \t\n") {
			return Yes
		}
		if file, err := ParseShell(text); err == nil && r.Printed != "" && strings.Contains(PrintShell(file), r.Printed) {
			return Yes
		}
	}
	if c.Opaque {
		return Maybe
	}
	return No
}

// Hits matches one command: its name behind any path, then the pattern's other words in order among
// the words that are not options, then the pattern's options anywhere and in any spelling.
func (r ShellRule) Hits(c []Word, cwd string) Match {
	if len(c) == 0 {
		return No
	}
	if c[0].Sure == Unknown {
		return Maybe
	}
	if !sameCommand(r.Words[0], c[0].Text, cwd) {
		return No
	}
	wantArgs, wantOpts := splitOptions(Lits(r.Words[1:]))
	args, opts := splitOptions(c[1:])
	return min(r.argsHit(wantArgs, args), r.optionsHit(wantOpts, opts, c[1:]))
}

// operand is a word that is not an option; after says that it follows one, so that it may be that
// option's value.
type operand struct {
	Word
	after bool
}

func splitOptions(ws []Word) (args []operand, opts []Word) {
	after := false
	for _, w := range ws {
		if w.Sure != Unknown && len(w.Text) > 1 && w.Text[0] == '-' {
			opts, after = append(opts, w), true
			continue
		}
		args, after = append(args, operand{w, after}), false
	}
	return args, opts
}

func (r ShellRule) argsHit(want, have []operand) Match {
	for i, w := range want {
		switch {
		case i < len(have) && have[i].Sure == Unknown:
			return Maybe // the rest is unknown
		case i >= len(have) || have[i].Text != w.Text:
			return loose(want, have)
		}
	}
	more := have[len(want):]
	switch {
	case r.Prefix || len(more) == 0:
		return Yes
	case slices.ContainsFunc(more, func(h operand) bool { return h.Sure != Unknown && !h.after }): // an exact rule
		return No
	}
	return Maybe
}

// loose skips words that may be an option's value: git -C dir push.
func loose(want, have []operand) Match {
	for len(want) > 0 {
		switch {
		case len(have) == 0:
			return No
		case have[0].Sure == Unknown:
			return Maybe
		case have[0].Text == want[0].Text:
			want = want[1:]
		case !have[0].after:
			return No
		}
		have = have[1:]
	}
	return Maybe
}

func (r ShellRule) optionsHit(want, have, all []Word) Match {
	unsure := slices.ContainsFunc(all, func(w Word) bool { return w.Sure == Unknown })
	for _, o := range want {
		if !hasOption(have, o.Text) {
			if unsure {
				return Maybe
			}
			return No
		}
	}
	if r.Prefix {
		return Yes
	}
	for _, o := range have { // an exact rule has no other options
		if !slices.ContainsFunc(want, func(w Word) bool { return hasOption([]Word{w}, o.Text) || hasOption([]Word{o}, w.Text) }) {
			return No
		}
	}
	return Yes
}

// hasOption looks for an option in any spelling: -rf is -fr, -r -f, -Rf, --recursive --force,
// --recurs.
func hasOption(have []Word, want string) bool {
	if slices.ContainsFunc(have, func(w Word) bool { return sameOption(w.Text, want) }) {
		return true
	}
	if !cluster(want, 3) {
		return false
	}
	for _, letter := range want[1:] {
		if !slices.ContainsFunc(have, func(w Word) bool { return hasLetter(w.Text, letter) }) {
			return false
		}
	}
	return true
}

func sameOption(have, want string) bool {
	name, _, _ := strings.Cut(have, "=")
	if have == want || name == want {
		return true
	}
	long, isLong := strings.CutPrefix(want, "--")
	if !isLong {
		return false
	}
	if short, ok := strings.CutPrefix(name, "--"); ok { // GNU accepts any unique beginning
		return short != "" && strings.HasPrefix(long, short)
	}
	for letter, l := range longOptions {
		if l == long && hasLetter(have, letter) {
			return true
		}
	}
	return false
}

// longOptions are the options whose short and long forms are equal for deny rules.
var longOptions = map[rune]string{'r': "recursive", 'R': "recursive", 'f': "force"}

// cluster reports whether an option is a few letters behind one dash.
func cluster(o string, most int) bool {
	if len(o) < 2 || len(o) > most+1 || o[0] != '-' || o[1] == '-' {
		return false
	}
	for _, c := range o[1:] {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return true
}

func hasLetter(have string, letter rune) bool {
	if long, ok := strings.CutPrefix(have, "--"); ok {
		name, _, _ := strings.Cut(long, "=")
		return name != "" && longOptions[letter] != "" && strings.HasPrefix(longOptions[letter], name)
	}
	if !cluster(have, len(have)) { // a letter may be repeated
		return false
	}
	if letter == 'r' || letter == 'R' {
		return strings.ContainsAny(have, "rR")
	}
	return strings.ContainsRune(have, letter)
}

// sameCommand compares a deny rule's command with one that is about to run. A
// plain name matches behind any path; a path matches the same path, and an
// absolute one matches its plain name too.
func sameCommand(want, have, cwd string) bool {
	if !strings.Contains(want, "/") {
		return BaseName(have) == BaseName(want)
	}
	if !strings.Contains(have, "/") {
		return strings.HasPrefix(want, "/") && BaseName(have) == BaseName(want)
	}
	abs := func(p string) string {
		if !strings.HasPrefix(p, "/") {
			p = path.Join(cwd, p)
		}
		return strings.ToLower(path.Clean(p))
	}
	return abs(want) == abs(have)
}

// WordByte reports whether a byte is a letter or digit of a word.
func WordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
