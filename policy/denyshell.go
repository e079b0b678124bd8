package policy

import (
	"path"
	"slices"
	"strings"
)

// match is a deny rule's answer: no, maybe (then nothing may allow), yes.
type match int

const (
	no match = iota
	maybe
	yes
)

// denies matches a deny rule against everything that a text may run.
func (r shellRule) denies(s script, text, cwd string) match {
	if r.words == nil {
		if r.text == strings.Trim(text, " \t\n") || r.printed != "" && strings.Contains(s.printed, r.printed) {
			return yes
		}
		if s.opaque {
			return maybe
		}
		return no
	}
	best := no
	if s.opaque {
		best = maybe
	}
	for _, c := range s.commands {
		switch r.hits(c, cwd) {
		case yes:
			return yes
		case maybe:
			best = maybe
		}
	}
	if best == no && r.mentions(s.carried) {
		best = maybe
	}
	for _, c := range s.suspects {
		if best == no && r.hits(c, cwd) != no {
			best = maybe
		}
	}
	return best
}

// hits matches one command: its name behind any path, then the pattern's other
// words in order among the words that are no options, then the pattern's options
// anywhere and in any spelling.
func (r shellRule) hits(c []word, cwd string) match {
	if len(c) == 0 {
		return no
	}
	if c[0].sure == unknown {
		return maybe
	}
	if !sameCommand(r.words[0], c[0].text, cwd) {
		return no
	}
	wantArgs, wantOpts := splitOptions(lits(r.words[1:]))
	args, opts := splitOptions(c[1:])
	return min(r.argsHit(wantArgs, args), r.optionsHit(wantOpts, opts, c[1:]))
}

// operand is a word that is no option; after says that it follows one, so that it
// may be that option's value.
type operand struct {
	word
	after bool
}

func splitOptions(ws []word) (args []operand, opts []word) {
	after := false
	for _, w := range ws {
		if w.sure != unknown && len(w.text) > 1 && w.text[0] == '-' {
			opts, after = append(opts, w), true
			continue
		}
		args, after = append(args, operand{w, after}), false
	}
	return args, opts
}

func (r shellRule) argsHit(want, have []operand) match {
	strict, i := yes, 0
	for ; i < len(want); i++ {
		if i >= len(have) {
			strict = no
			break
		}
		if have[i].sure == unknown {
			return maybe // from here on nothing is known
		}
		if have[i].text != want[i].text {
			strict = no
			break
		}
	}
	if strict == yes && (r.prefix || len(have) == len(want)) {
		return yes
	}
	if strict == yes { // an exact rule, and there are more words
		for _, h := range have[len(want):] {
			if h.sure != unknown && !h.after {
				return no
			}
		}
		return maybe
	}
	return loose(want, have)
}

// loose skips words that may be an option's value: git -C dir push.
func loose(want, have []operand) match {
	for len(want) > 0 {
		switch {
		case len(have) == 0:
			return no
		case have[0].sure == unknown:
			return maybe
		case have[0].text == want[0].text:
			want = want[1:]
		case !have[0].after:
			return no
		}
		have = have[1:]
	}
	return maybe
}

func (r shellRule) optionsHit(want, have, all []word) match {
	unsure := slices.ContainsFunc(all, func(w word) bool { return w.sure == unknown })
	for _, o := range want {
		if !hasOption(have, o.text) {
			if unsure {
				return maybe
			}
			return no
		}
	}
	if r.prefix {
		return yes
	}
	for _, o := range have { // an exact rule has no other options
		if !slices.ContainsFunc(want, func(w word) bool { return hasOption([]word{w}, o.text) || hasOption([]word{o}, w.text) }) {
			return no
		}
	}
	return yes
}

// hasOption looks for an option in any spelling: -rf is -fr, -r -f, -Rf,
// --recursive --force, --recurs.
func hasOption(have []word, want string) bool {
	if slices.ContainsFunc(have, func(w word) bool { return sameOption(w.text, want) }) {
		return true
	}
	if !cluster(want, 3) {
		return false
	}
	for _, letter := range want[1:] {
		if !slices.ContainsFunc(have, func(w word) bool { return hasLetter(w.text, letter) }) {
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

// longOptions are the options whose short and long forms deny rules take for one.
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
	if !cluster(have, len(have)) { // a letter may stand many times
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
		return baseName(have) == baseName(want)
	}
	if !strings.Contains(have, "/") {
		return strings.HasPrefix(want, "/") && baseName(have) == baseName(want)
	}
	abs := func(p string) string {
		if !strings.HasPrefix(p, "/") {
			p = path.Join(cwd, p)
		}
		return strings.ToLower(path.Clean(p))
	}
	return abs(want) == abs(have)
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
