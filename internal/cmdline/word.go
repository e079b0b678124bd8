package cmdline

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"waggle/internal/pattern"
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
	Output  bool // unknown only for what commands of the same Reading print, and numbers such as $?
	Cut     bool // of such names: where one ends is a guess, and what is behind a blank or a line break in it may be taken for another
	Split   bool // an expansion without quotes: any number of words
	Below   bool // of an output: names of files that a search has found below the paths that it names, or a stream of it
	Joined  bool // an output beside other text: what they say together is not known
}

// Known reports whether all that a word can be follows from the text that it stands in.
func (w Word) Known() bool { return w.Sure != Unknown || w.Pattern || w.Output }

// Lit is a word whose text is known.
func Lit(s string) Word { return Word{Text: s, Sure: Literal} }

// is reports a word whose text is known to be this.
func (w Word) is(text string) bool { return w.Sure == Literal && w.Text == text }

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
	return unquote(w, func(syntax.WordPart, bool) Word { return Word{} })
}

// unquote reads a word; expand says what is known of an expansion in it.
func unquote(w *syntax.Word, expand func(part syntax.WordPart, quoted bool) Word) Word {
	if v := w.Lit(); v == "[" || v == "]" || v == "=" {
		return Lit(v) // the command [, its end and its operator: no class is open, no command is named
	}
	out := Lit("")
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text, sure := bareText(p.Value, i == 0)
			out = out.and(Word{Text: text, Sure: sure, Pattern: sure == Unknown && !strings.ContainsAny(p.Value, "$`")})
		case *syntax.SglQuoted:
			one := Lit(p.Value)
			if p.Dollar {
				one.Sure = guessed
				if strings.Contains(p.Value, `\`) {
					one.Sure = Unknown
				}
			}
			out = out.and(one)
		case *syntax.DblQuoted:
			out = out.and(doubleQuoted(p, expand))
		default:
			out = out.and(expand(part, false))
		}
	}
	return out
}

// and is a word with another behind it.
func (w Word) and(o Word) Word {
	both := Word{Text: w.named(o) + o.named(w), Sure: min(w.Sure, o.Sure), Split: w.Split || o.Split}
	if both.Sure == Unknown {
		both.Pattern = (w.Sure != Unknown || w.Pattern) && (o.Sure != Unknown || o.Pattern)
		both.Output = !both.Pattern && w.Known() && o.Known()
		both.Cut = w.Cut || o.Cut
		both.Joined = w.Joined || o.Joined || both.Output && w != Lit("") && o != Lit("") && !w.isNumber() && !o.isNumber()
		both.Below = both.Output && (w.Text == "" && w.Sure == Literal && o.Below || o.Text == "" && o.Sure == Literal && w.Below)
	}
	return both
}

// isNumber reports the output that is one.
func (w Word) isNumber() bool { return w.Output && w.Text == number.Text }

// named is the text of a word beside another: what stands for an output is none.
func (w Word) named(beside Word) string {
	if (w.Below || w.isNumber()) && beside != Lit("") {
		return ""
	}
	return w.Text
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
			if strings.HasPrefix(v[i:], "{}") { // itself
				b.WriteString("{}")
				i++
				continue
			}
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

func doubleQuoted(q *syntax.DblQuoted, expand func(part syntax.WordPart, quoted bool) Word) Word {
	out := Lit("")
	if q.Dollar {
		out.Sure = guessed
	}
	return quotedParts(out, q.Parts, expand, func(l *syntax.Lit) Word { return quotedText(l.Value, l == q.Parts[len(q.Parts)-1]) })
}

// quotedParts is a word with parts behind it that stand together between quotes.
func quotedParts(out Word, parts []syntax.WordPart, expand func(part syntax.WordPart, quoted bool) Word, text func(*syntax.Lit) Word) Word {
	for _, part := range parts {
		if l, ok := part.(*syntax.Lit); ok {
			out = out.and(text(l))
		} else {
			out = out.and(expand(part, true))
		}
	}
	return out
}

// readDocument reads a here-document, in which brackets and braces have no meaning; expand says what is known of an
// expansion in it.
func readDocument(w *syntax.Word, expand func(part syntax.WordPart, quoted bool) Word) Word {
	return quotedParts(Lit(""), w.Parts, expand, func(l *syntax.Lit) Word { return Lit(l.Value) })
}

// quotedText removes the backslashes of a text between double quotes. last: the quote ends behind it.
func quotedText(v string, last bool) Word {
	var b strings.Builder
	sure := Literal
	for i := 0; i < len(v); i++ {
		c := v[i]
		if c == '\\' && i+1 < len(v) && strings.IndexByte("$`\"\\\n", v[i+1]) >= 0 {
			if i++; v[i] != '\n' { // a line that goes on
				b.WriteByte(v[i])
			}
			continue
		}
		if c == '`' || c == '$' && !(i+1 == len(v) && last || i+1 < len(v) && strings.IndexByte(" )|/\n", v[i+1]) >= 0) {
			sure = Unknown
		}
		b.WriteByte(c)
	}
	return Word{Text: b.String(), Sure: sure}
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

// Pattern is pattern.New.
var Pattern = pattern.New
