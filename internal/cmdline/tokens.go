package cmdline

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// mentions reports whether the carried words name the rule's command with all words that the rule
// requires beside it.
func (r ShellRule) mentions(c *Carried) bool {
	if c.unknown {
		return true
	}
	denied := BaseName(r.Words[0])
	if slices.ContainsFunc(c.copied, func(t string) bool { return namesProgram(t, denied) }) || r.phrased(c) {
		return true
	}
	own := len(r.Words) > 1 && slices.Contains(c.names, denied)
	put := c.edits > 1 || c.edits > 0 && c.pieces // a name may be put together
	if !own && !c.wild && !slices.ContainsFunc(c.tokens, func(t string) bool {
		return namesProgram(t, denied) || put && spellsOut(t, denied)
	}) {
		return false
	}
	return r.required(c)
}

// required looks for the words that the rule requires beside the program's name. Options among the
// words of pure commands count too: a variable may turn one into another program.
func (r ShellRule) required(c *Carried) bool {
	var options []Word
	for _, t := range slices.Concat(c.tokens, c.options) {
		if len(t) > 1 && t[0] == '-' {
			option, _, _ := strings.Cut(t, "/") // s/ls/rm -rf/
			options = append(options, Lit(option))
		}
	}
	for _, want := range r.Words[1:] {
		switch {
		case c.args: // they may be among the words that are not shown
		case len(want) > 1 && want[0] == '-':
			if !hasOption(options, want) && !slices.ContainsFunc(c.tokens, func(t string) bool { return mayBeOption(t, want) }) {
				return false
			}
		case !slices.ContainsFunc(c.tokens, func(t string) bool { return sameToken(t, want) }):
			return false
		}
	}
	return true
}

// mayBeOption reports whether a pattern may match a file whose name is the option.
func mayBeOption(token, want string) bool {
	if !strings.ContainsAny(token, "*?[") {
		return false
	}
	spellings := []string{want}
	if cluster(want, 3) {
		turned := []byte(want[1:])
		slices.Reverse(turned)
		spellings = append(spellings, "-"+string(turned))
	}
	return slices.ContainsFunc(spellings, func(s string) bool { return matches(token, s) })
}

// spellsOut reports whether a token contains the letters of a name in their order.
func spellsOut(token, name string) bool {
	for i := 0; i < len(token) && name != ""; i++ {
		if token[i] == name[0] {
			name = name[1:]
		}
	}
	return name == ""
}

// phrased reports whether a text for another program contains, in one word, all options that the
// rule requires: the part before them may spell the program.
func (r ShellRule) phrased(c *Carried) bool {
	return slices.ContainsFunc(c.phrases, func(ts []string) bool {
		found := false
		for _, want := range r.Words[1:] {
			if len(want) > 2 && want[0] == '-' {
				if found = hasOption(Lits(ts), want); !found {
					return false
				}
			}
		}
		return found
	})
}

// sameToken compares a token with an operand of a rule; the token may hold wildcards.
func sameToken(token, want string) bool {
	if token == want {
		return true
	}
	if !strings.ContainsAny(token, "*?[") {
		return slices.Contains(tokensOf(want), token) && strings.ContainsAny(want, separatorsOfTokens)
	}
	return matches(token, want)
}

// matches compares a name with a pattern; one that cannot be read matches none.
func matches(pattern, name string) bool {
	ok, _ := path.Match(pattern, name)
	return ok
}

// namesProgram compares a token with a program's name: behind a path, with
// wildcards, or behind the letter of an option (tar -Iname).
func namesProgram(token, denied string) bool {
	base := BaseName(token)
	switch {
	case base == denied:
		return true
	case len(token) > 1 && token[0] == '-' && token[1] != '-':
		return strings.HasSuffix(BaseName(token[1:]), denied)
	case strings.ContainsAny(base, "*?["):
		rooted := token[0] == '/' || token[0] == '~'
		return matches(base, denied) && (rooted || strings.Trim(base, "*") != "")
	}
	return false
}

// separatorsOfTokens separate the tokens of a text: blanks, quotes, and the word separators of the
// languages that a carrier may read.
const separatorsOfTokens = " \t\r\n\v\f'\"`=,;:()[]{}<>|&!@#$%^+~\\\x00"

func tokensOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separatorsOfTokens, r) })
}

// expansion finds what another shell would expand in a literal text.
var expansion = Pattern("`|\\$[({\\['\"A-Za-z0-9_@*#?!-]")

// bracketed matches a pattern for one character: [a-z], [[:alpha:]], [!x].
var bracketed = Pattern(`\[(\[:[a-z]+:\]|[^\]\[\s])+\]`)

var bareQuotes = strings.NewReplacer("\\\r\n", "", "\\\n", "", "'", "", `"`, "", `\`, "")

// joinedLiterals matches the text between two literals that a program joins: "r"+"m".
var joinedLiterals = Pattern(`["'][ \t]*[+.&|]{0,2}[ \t]*["']`)

// escapes are written alike in printf, echo -e, $'..', sed, C, Python and JavaScript.
var escapes = Pattern(`\\(x\{?[0-9a-fA-F]{1,6}\}?|u\{?[0-9a-fA-F]{1,6}\}?|U[0-9a-fA-F]{1,8}|o?0?[0-7]{1,3}|[abefnrtv])`)

// shortHex is an escape in languages to which it ends behind two digits: \x48EAD.
var shortHex = Pattern(`\\x([0-9a-fA-F]{2})([0-9a-fA-F])`)

// unescape decodes the escapes of a text.
func unescape(text string) string {
	return escapes().ReplaceAllStringFunc(text, func(e string) string {
		switch e[1] {
		case 'n', 'r', 'v', 'f':
			return "\n"
		case 't':
			return "\t"
		case 'a', 'b', 'e':
			return " "
		}
		base, digits := 8, strings.TrimLeft(e[1:], "o")
		if strings.IndexByte("xuU", e[1]) >= 0 {
			base, digits = 16, strings.Trim(e[2:], "{}")
		}
		n, err := strconv.ParseUint(digits, base, 32)
		if err != nil || n > 0x10ffff {
			return e
		}
		return string(rune(n))
	})
}

// ExpandBraces spells out a{b,c}d. It is false for a{b..c} and for too many words.
func ExpandBraces(s string) ([]string, bool) {
	out := []string{""}
	for s != "" {
		open := strings.IndexByte(s, '{')
		if open < 0 {
			break
		}
		depth, parts, from, end := 0, []string{}, open+1, -1
		for i := open; i < len(s) && end < 0; i++ {
			switch s[i] {
			case '{':
				depth++
			case ',':
				if depth == 1 {
					parts, from = append(parts, s[from:i]), i+1
				}
			case '}':
				if depth--; depth == 0 {
					parts, end = append(parts, s[from:i]), i
				}
			}
		}
		if end < 0 {
			break
		}
		var inner []string
		for _, p := range parts {
			all, ok := ExpandBraces(p)
			if !ok {
				return nil, false
			}
			inner = append(inner, all...)
		}
		if len(parts) == 1 {
			if strings.Contains(parts[0], "..") {
				return nil, false
			}
			inner = []string{s[open : end+1]}
		}
		if len(out)*len(inner) > 256 {
			return nil, false
		}
		var next []string
		for _, head := range out {
			for _, i := range inner {
				next = append(next, head+s[:open]+i)
			}
		}
		out, s = next, s[end+1:]
	}
	for i := range out {
		out[i] += s
	}
	return out, true
}
