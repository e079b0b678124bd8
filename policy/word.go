package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// certainty says how far the text of a word can be known without running it.
type certainty int

const (
	unknown certainty = iota // an expansion, a glob, a brace: the text is not known
	guessed                  // probably this text: $'..' and $".." without escapes, ~/x, =x
	literal                  // exactly this text
)

// word is one shell word with its quotes taken off.
type word struct {
	text    string
	sure    certainty
	pattern bool // unknown only for wildcards and braces; text holds them
}

func lit(s string) word { return word{text: s, sure: literal} }

func lits(words []string) []word {
	out := make([]word, len(words))
	for i, w := range words {
		out[i] = lit(w)
	}
	return out
}

func readWords(ws []*syntax.Word) []word {
	out := make([]word, len(ws))
	for i, w := range ws {
		out[i] = readWord(w)
	}
	return out
}

// readWord unquotes a word as bash, dash and zsh all would; where they differ the
// word is not literal.
func readWord(w *syntax.Word) word {
	var b strings.Builder
	if v := w.Lit(); v == "[" || v == "]" {
		return lit(v) // the command [ and its end: no class is open
	}
	sure, pattern := literal, true
	for i, part := range w.Parts {
		text, s := "", unknown
		switch p := part.(type) {
		case *syntax.Lit:
			text, s = bareText(p.Value, i == 0)
			pattern = pattern && !strings.ContainsAny(p.Value, "$`")
		case *syntax.SglQuoted:
			text, s = p.Value, literal
			if p.Dollar {
				s = guessed
				if strings.Contains(text, `\`) {
					s, pattern = unknown, false
				}
			}
		case *syntax.DblQuoted:
			text, s = doubleQuoted(p)
			pattern = pattern && s != unknown
		default:
			pattern = false
		}
		b.WriteString(text)
		sure = min(sure, s)
	}
	return word{text: b.String(), sure: sure, pattern: pattern && sure == unknown}
}

// bareText takes the backslashes off an unquoted stretch. first is true at the
// start of the word.
func bareText(v string, first bool) (string, certainty) {
	var b strings.Builder
	sure := literal
	for i := 0; i < len(v); i++ {
		c := v[i]
		switch c {
		case '\\':
			if i+1 == len(v) {
				return b.String() + `\`, unknown // at the end of the text
			}
			i++
			b.WriteByte(v[i])
			continue
		case '*', '?', '[', ']', '{', '}', '$', '`':
			sure = unknown
		case '~':
			// The home directory: at the start of a word, of a value, of a path in a list.
			if i == 0 && first || i > 0 && (v[i-1] == '=' || v[i-1] == ':') {
				sure = min(sure, guessed)
			}
		case '=':
			if i == 0 && first { // zsh: the path of a command
				sure = min(sure, guessed)
			}
		}
		b.WriteByte(c)
	}
	return b.String(), sure
}

func doubleQuoted(q *syntax.DblQuoted) (string, certainty) {
	var b strings.Builder
	sure := literal
	if q.Dollar {
		sure = guessed
	}
	for _, part := range q.Parts {
		l, ok := part.(*syntax.Lit)
		if !ok {
			sure = unknown
			continue
		}
		for i := 0; i < len(l.Value); i++ {
			c := l.Value[i]
			if c == '\\' && i+1 < len(l.Value) && strings.IndexByte("$`\"\\", l.Value[i+1]) >= 0 {
				i++
				b.WriteByte(l.Value[i])
				continue
			}
			if c == '$' || c == '`' {
				sure = unknown
			}
			b.WriteByte(c)
		}
	}
	return b.String(), sure
}

// literalWords returns the texts when every word is literal.
func literalWords(ws []word) ([]string, bool) {
	out := make([]string, len(ws))
	for i, w := range ws {
		if w.sure != literal {
			return nil, false
		}
		out[i] = w.text
	}
	return out, true
}
