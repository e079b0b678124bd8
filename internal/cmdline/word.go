package cmdline

import (
	"regexp"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Certainty says how far the text of a word is known without running it.
type Certainty int

const (
	Unknown Certainty = iota // an expansion, a glob, a brace: the text is not known
	guessed                  // probably this text: $'..' and $".." without escapes, ~/x, =x
	Literal                  // exactly this text
)

// Word is one shell word without its quotes.
type Word struct {
	Text    string
	Sure    Certainty
	Pattern bool // unknown only for wildcards and braces; text holds them
}

// Lit is a word whose text is known.
func Lit(s string) Word { return Word{Text: s, Sure: Literal} }

// Lits are such words.
func Lits(words []string) []Word {
	out := make([]Word, len(words))
	for i, w := range words {
		out[i] = Lit(w)
	}
	return out
}

func readWords(ws []*syntax.Word) []Word {
	out := make([]Word, len(ws))
	for i, w := range ws {
		out[i] = ReadWord(w)
	}
	return out
}

// ReadWord unquotes a word as bash, dash and zsh all would; where they differ the word is not
// literal.
func ReadWord(w *syntax.Word) Word {
	var b strings.Builder
	if v := w.Lit(); v == "[" || v == "]" {
		return Lit(v) // the command [ and its end: no class is open
	}
	sure, pattern := Literal, true
	for i, part := range w.Parts {
		text, s := "", Unknown
		switch p := part.(type) {
		case *syntax.Lit:
			text, s = bareText(p.Value, i == 0)
			pattern = pattern && !strings.ContainsAny(p.Value, "$`")
		case *syntax.SglQuoted:
			text, s = p.Value, Literal
			if p.Dollar {
				s = guessed
				if strings.Contains(text, `\`) {
					s, pattern = Unknown, false
				}
			}
		case *syntax.DblQuoted:
			text, s = doubleQuoted(p)
			pattern = pattern && s != Unknown
		default:
			pattern = false
		}
		b.WriteString(text)
		sure = min(sure, s)
	}
	return Word{Text: b.String(), Sure: sure, Pattern: pattern && sure == Unknown}
}

// bareText removes the backslashes of an unquoted part. first is true at the start of the word.
func bareText(v string, first bool) (string, Certainty) {
	var b strings.Builder
	sure := Literal
	for i := 0; i < len(v); i++ {
		c := v[i]
		switch c {
		case '\\':
			if i+1 == len(v) {
				return b.String() + `\`, Unknown // at the end of the text
			}
			i++
			b.WriteByte(v[i])
			continue
		case '*', '?', '[', ']', '{', '}', '$', '`':
			sure = Unknown
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

func doubleQuoted(q *syntax.DblQuoted) (string, Certainty) {
	var b strings.Builder
	sure := Literal
	if q.Dollar {
		sure = guessed
	}
	for _, part := range q.Parts {
		l, ok := part.(*syntax.Lit)
		if !ok {
			sure = Unknown
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
				sure = Unknown
			}
			b.WriteByte(c)
		}
	}
	return b.String(), sure
}

// LiteralWords returns the texts when every word is literal.
func LiteralWords(ws []Word) ([]string, bool) {
	out := make([]string, len(ws))
	for i, w := range ws {
		if w.Sure != Literal {
			return nil, false
		}
		out[i] = w.Text
	}
	return out, true
}

// pattern is a regular expression that is compiled when it is first asked for: most
// commands of the program read no command line.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
