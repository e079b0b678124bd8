package cmdline

import (
	"slices"
	"strings"
)

// fitSed reads sed with scripts that print, drop and replace lines and name no file and no program. It has what
// every sed reads alike; all else is not known.
func fitSed(c []Word) (Fit, bool) {
	f, scripts, plain := Fit{Risk: RiskLow}, 0, false
	for i := 1; i < len(c); i++ {
		w := c[i]
		switch option := strings.HasPrefix(w.Text, "-"); {
		case option && plain: // one sed reads it as an option, another as a file
			return Fit{}, false
		case w.Sure != Literal:
			if !beginsPlain(w) || scripts == 0 {
				return Fit{}, false
			}
			plain = true
			f.Operands = append(f.Operands, w)
		case w.Text == "-e":
			if i++; i >= len(c) || c[i].Sure != Literal || !plainSed(c[i].Text) {
				return Fit{}, false
			}
			scripts++
		case sedInPlace().MatchString(w.Text):
			f.Risk, f.Write = RiskMedium, true
		case option:
			if !slices.Contains([]string{"-n", "-E", "-r", "-s", "-u", "-z", "-nE", "-nr", "-En", "--quiet", "--silent", "--regexp-extended"}, w.Text) {
				return Fit{}, false
			}
		case scripts == 0:
			if !plainSed(w.Text) {
				return Fit{}, false
			}
			scripts, plain = scripts+1, true
		default:
			plain = true
			f.Operands = append(f.Operands, w)
		}
	}
	if f.Write && slices.ContainsFunc(f.Operands, func(w Word) bool { return strings.Contains(w.Text, "..") }) {
		return Fit{}, false // to some the word behind -i is its value, and the next one the script
	}
	f.Paths = append([]Word{}, f.Operands...)
	return f, scripts > 0
}

var sedInPlace = Pattern(`^(-i|-i\.[a-z]+|-Ei|-ri|--in-place(=\.[a-z]+)?)$`)

// beginsPlain reports a wildcard whose matches are no options.
func beginsPlain(w Word) bool {
	return w.Pattern && w.Text != "" && (WordByte(w.Text[0]) || w.Text[0] == '.' || w.Text[0] == '/')
}

// plainSed reads a script: commands with ";" between them.
func plainSed(script string) bool {
	if !printable(script) {
		return false
	}
	for rest := script; ; rest = rest[1:] {
		var ok bool
		if rest, ok = afterSed(rest); !ok {
			return false
		}
		switch rest = strings.TrimLeft(rest, " "); {
		case strings.Trim(rest, "; ") == "":
			return true
		case rest[0] != ';':
			return false
		}
	}
}

// afterSed returns what follows one command.
func afterSed(s string) (rest string, ok bool) {
	rest, one := afterAddress(strings.TrimLeft(s, " "))
	if next, two := strings.CutPrefix(rest, ","); one && two {
		if rest, ok = afterAddress(strings.TrimPrefix(next, "+")); !ok {
			return "", false
		}
	}
	rest = strings.TrimLeft(rest, " ")
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "!"), " ")
	switch {
	case rest == "":
		return "", false
	case strings.IndexByte("pdqQ=nNgGhHxDP", rest[0]) >= 0:
		return rest[1:], true
	case rest[0] != 's' || len(rest) == 1 || strings.IndexByte("/|,#@:!%", rest[1]) < 0:
		return "", false
	}
	mark := rest[1]
	if rest, ok = afterText(rest[2:], mark, true); !ok {
		return "", false
	}
	if rest, ok = afterText(rest, mark, false); !ok {
		return "", false
	}
	return strings.TrimLeft(rest, "gpIi0123456789"), true
}

// afterAddress returns what follows a line number, $ or /expression/.
func afterAddress(s string) (rest string, ok bool) {
	switch {
	case s == "":
		return s, false
	case s[0] == '$':
		return s[1:], true
	case s[0] == '/':
		rest, ok = afterText(s[1:], '/', true)
		return strings.TrimPrefix(rest, "I"), ok
	}
	rest = strings.TrimLeft(s, "0123456789")
	return rest, rest != s
}

// afterText returns what follows the mark that ends an expression, or what it is replaced with. A bracket that holds
// the mark or a backslash is read in two ways, so there is none.
func afterText(s string, mark byte, expression bool) (rest string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == mark:
			return s[i+1:], true
		case s[i] == '\\':
			if i++; i == len(s) || s[i] != mark && strings.IndexByte(`.*+?|(){}[]^$/\bBwWsSnt<>0123456789&-"`, s[i]) < 0 {
				return "", false
			}
		case s[i] == '[' && expression:
			n := bracket(s[i:], mark)
			if n == 0 {
				return "", false
			}
			i += n - 1
		}
	}
	return "", false
}

var classes = Pattern(`^\[\^?([^]^[\\]|\[:[a-z]+:\])+\]`) // behind ^ a bracket would be a member

// bracket is the length of the bracket expression at the beginning of a text that is read in one way; else 0.
func bracket(s string, mark byte) int {
	b := classes().FindString(s)
	if strings.IndexByte(b, mark) >= 0 {
		return 0
	}
	return len(b)
}

// printable reports a text of printable ASCII: other bytes may be half of a character.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
