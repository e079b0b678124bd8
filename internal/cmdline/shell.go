package cmdline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxShell is how long a shell text may be and still be parsed; a longer one is
// not understood.
const maxShell = 16 << 10

// MaxNest is how many shells deep a text is followed: sh -c 'sh -c ...'.
const MaxNest = 8

// maxShellOpen is how many brackets of a text may be open at once, quoted ones too: the
// parser recurses for each, and reads "((" twice, the second time as two.
const maxShellOpen = 64

// ParseShell reads a text as bash, comments included.
func ParseShell(text string) (*syntax.File, error) {
	if len(text) > maxShell {
		return nil, fmt.Errorf("longer than %d bytes", maxShell)
	}
	if opens(text) > maxShellOpen {
		return nil, fmt.Errorf("more than %d brackets open at once", maxShellOpen)
	}
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).
		Parse(strings.NewReader(text), "")
}

// HasStar reports a * outside of quotes and documents, which a shell would expand, or a person mean as a wildcard.
func HasStar(file *syntax.File) (found bool) {
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DblQuoted, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.ParamExp, *syntax.Comment:
			return false
		case *syntax.Redirect:
			if n.Hdoc != nil {
				return false
			}
		case *syntax.Lit:
			found = found || strings.Contains(strings.ReplaceAll(n.Value, `\*`, ""), "*")
		}
		return !found
	})
	return found
}

// opens is how many brackets of a text are open at once at most.
func opens(text string) (most int) {
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{':
			open++
			most = max(most, open)
		case ')', ']', '}':
			open = max(0, open-1) // a case pattern has a closing parenthesis without an opening one
		}
	}
	return most
}

// ShellRule is the pattern of a Bash rule.
type ShellRule struct {
	Prefix  bool     // words are the first words of the command
	Words   []string // nil when an exact pattern is more than one plain command
	Text    string   // an exact pattern as it was written
	Printed string   // the same in one spelling, when words is nil
}

// PlainCommand reads one simple command of literal words.
func PlainCommand(text string) ([]string, error) {
	file, err := ParseShell(text)
	if err != nil {
		return nil, err
	}
	if len(file.Stmts) != 1 {
		return nil, errors.New("not one command")
	}
	if commented(file) {
		return nil, errors.New("it holds a comment")
	}
	s := file.Stmts[0]
	read, ok := CommandWords(s.Cmd)
	if !ok || s.Negated || s.Background || s.Coprocess || s.Disown || s.Semicolon.IsValid() || len(s.Redirs) > 0 {
		return nil, errors.New("not one plain command")
	}
	words, ok := LiteralWords(read)
	if !ok {
		return nil, errors.New("a word is not literal")
	}
	if words[0] == "" {
		return nil, errors.New("the command's name is empty")
	}
	return words, nil
}

// CommandWords returns the words of a simple command, export and similar builtins included; false
// for everything else and for a command with variables set before it.
func CommandWords(c syntax.Command) ([]Word, bool) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return readWords(c.Args), len(c.Assigns) == 0
	case *syntax.DeclClause:
		return declWords(c), true
	}
	return nil, false
}

// declWords returns the words of export X=1 and similar builtins.
func declWords(d *syntax.DeclClause) []Word {
	words := []Word{Lit(d.Variant.Value)}
	for _, a := range d.Args {
		w := Word{}
		switch {
		case a.Index != nil || a.Array != nil || a.Append:
		case a.Name == nil && a.Value != nil:
			w = ReadWord(a.Value)
		case a.Naked && a.Name != nil:
			w = Lit(a.Name.Value)
		case a.Name != nil && a.Value == nil:
			w = Lit(a.Name.Value + "=")
		case a.Name != nil:
			w = ReadWord(a.Value)
			w.Text = a.Name.Value + "=" + w.Text
		}
		words = append(words, w)
	}
	return words
}

// commented reports whether a text holds a comment.
func commented(file *syntax.File) bool {
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		_, comment := n.(*syntax.Comment)
		found = found || comment
		return !found
	})
	return found
}

// PrintShell writes a node as the shortest text that says the same; "" when it cannot.
func PrintShell(n syntax.Node) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.Minify(true)).Print(&b, n); err != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// StandardStream reports the number of standard input, output or error.
func StandardStream(n string) bool { return n == "0" || n == "1" || n == "2" }

// Covers reports whether everything that o allows is allowed by r.
func (r ShellRule) Covers(o ShellRule) bool {
	return o.Words != nil && (!o.Prefix || r.Prefix) && r.AllowsWords(Lits(o.Words))
}

// AllowsWords reports whether a rule allows a command: the words of the rule are literal in it, or literally begin it.
func (r ShellRule) AllowsWords(words []Word) bool {
	n := len(r.Words)
	if n == 0 || len(words) < n || !r.Prefix && len(words) != n {
		return false
	}
	texts, ok := LiteralWords(words[:n])
	return ok && slices.Equal(r.Words, texts)
}

// ShellText returns TEXT of sh -c TEXT, which is judged as TEXT (commands §7): exactly three words,
// a shell by its plain name or in /bin, and -c alone or with the letters e, l, u before it.
func ShellText(words []string) (string, bool) {
	if len(words) != 3 {
		return "", false
	}
	switch words[0] {
	case "sh", "bash", "dash", "/bin/sh", "/bin/bash":
	default:
		return "", false
	}
	letters, ok := strings.CutPrefix(words[1], "-")
	letters, c := strings.CutSuffix(letters, "c")
	if !ok || !c || strings.Trim(letters, "elu") != "" || strings.HasPrefix(words[2], "-") || strings.HasPrefix(words[2], "+") {
		return "", false // a word that begins with - or + is another option
	}
	return words[2], true
}

// Quote writes words so that every shell reads the same words. A word with a NUL, which no command has, is an error.
func Quote(words []string) (string, error) {
	quoted := make([]string, len(words))
	for i, w := range words {
		if strings.Contains(w, "\x00") {
			return "", fmt.Errorf("command word %d: %w", i+1, errNUL)
		}
		q, err := syntax.Quote(w, syntax.LangPOSIX)
		if err != nil { // a line break, a control: it stands for itself between single quotes
			q = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = q
	}
	return strings.Join(quoted, " "), nil
}

var errNUL = errors.New("a word of a command has no NUL")
