package policy

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

// maxNest is how many shells deep a text is followed: sh -c 'sh -c ...'.
const maxNest = 8

// parseShell reads a text as bash, comments included.
func parseShell(text string) (*syntax.File, error) {
	if len(text) > maxShell {
		return nil, fmt.Errorf("longer than %d bytes", maxShell)
	}
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).
		Parse(strings.NewReader(text), "")
}

// shellRule is the pattern of a Bash rule.
type shellRule struct {
	prefix  bool     // words are the first words of the command
	words   []string // nil when an exact pattern is more than one plain command
	text    string   // an exact pattern as it was written
	printed string   // the same in one spelling, when words is nil
}

// compileShell reads the pattern of a Bash rule.
func compileShell(p string) (shellRule, error) {
	if prefix, ok := strings.CutSuffix(p, ":*"); ok {
		words, err := plainCommand(prefix)
		if err != nil {
			return shellRule{}, fmt.Errorf("the words before :* must be plain: %w", err)
		}
		return shellRule{prefix: true, words: words}, nil
	}
	words, err := plainCommand(p)
	if err == nil {
		return shellRule{words: words, text: p}, nil
	}
	if strings.Contains(p, "*") {
		return shellRule{}, errors.New(`a wildcard is only understood as a final ":*": Bash(git:*); Bash alone is every command; a star that is meant goes into quotes`)
	}
	file, err := parseShell(p)
	if err != nil {
		return shellRule{}, fmt.Errorf("not readable as a shell command: %w", err)
	}
	if len(file.Stmts) == 0 {
		return shellRule{}, errors.New("no command in it")
	}
	return shellRule{text: p, printed: printShell(file)}, nil
}

// plainCommand reads one simple command of literal words.
func plainCommand(text string) ([]string, error) {
	file, err := parseShell(text)
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
	read, ok := commandWords(s.Cmd)
	if !ok || s.Negated || s.Background || s.Coprocess || s.Disown || s.Semicolon.IsValid() || len(s.Redirs) > 0 {
		return nil, errors.New("not one plain command")
	}
	words, ok := literalWords(read)
	if !ok {
		return nil, errors.New("a word is not literal")
	}
	if words[0] == "" {
		return nil, errors.New("the command's name is empty")
	}
	return words, nil
}

// commandWords returns the words of a simple command, export and its kin included;
// false for everything else and for a command with variables set before it.
func commandWords(c syntax.Command) ([]word, bool) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return readWords(c.Args), len(c.Assigns) == 0
	case *syntax.DeclClause:
		return declWords(c), true
	}
	return nil, false
}

// declWords reads export X=1 and its kin as the words that they are.
func declWords(d *syntax.DeclClause) []word {
	words := []word{lit(d.Variant.Value)}
	for _, a := range d.Args {
		w := word{}
		switch {
		case a.Index != nil || a.Array != nil || a.Append:
		case a.Name == nil && a.Value != nil:
			w = readWord(a.Value)
		case a.Naked && a.Name != nil:
			w = lit(a.Name.Value)
		case a.Name != nil && a.Value == nil:
			w = lit(a.Name.Value + "=")
		case a.Name != nil:
			w = readWord(a.Value)
			w.text = a.Name.Value + "=" + w.text
		}
		words = append(words, w)
	}
	return words
}

func commented(file *syntax.File) bool {
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		if _, ok := n.(*syntax.Comment); ok {
			found = true
		}
		return !found
	})
	return found
}

func printShell(n syntax.Node) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.Minify(true)).Print(&b, n); err != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// shellJudge finds out whether allow rules cover a whole shell text. It fails
// closed: what it does not know is a reason to ask.
type shellJudge struct {
	rules []matcher // allow rules for Bash
	used  []string  // the rules that allowed a part
	moved bool      // an earlier part changed the directory
}

// text allows a text when one rule is for every command, when one rule is this
// very text, or when the text is plain commands joined by && || ; | or newline
// and rules allow each.
func (j *shellJudge) text(text string) error {
	trimmed := strings.Trim(text, " \t\n")
	for _, m := range j.rules {
		if m.rule.Pattern == "" || !m.shell.prefix && m.shell.text == trimmed {
			j.use(m)
			return nil
		}
	}
	return j.script(text, 0)
}

func (j *shellJudge) use(m matcher) {
	if s := m.rule.String(); !slices.Contains(j.used, s) {
		j.used = append(j.used, s)
	}
}

func (j *shellJudge) script(text string, depth int) error {
	if depth > maxNest {
		return fmt.Errorf("shells are nested more than %d deep", maxNest)
	}
	if strings.Contains(text, "\\\n") {
		return errors.New("a line is continued with a backslash")
	}
	file, err := parseShell(text)
	if err != nil {
		return fmt.Errorf("the shell text cannot be parsed: %w", err)
	}
	if commented(file) {
		return errors.New("the shell text holds a comment")
	}
	if len(file.Stmts) == 0 {
		return errors.New("there is no command")
	}
	for _, s := range file.Stmts {
		if err := j.stmt(s, depth); err != nil {
			return err
		}
	}
	return nil
}

func (j *shellJudge) stmt(s *syntax.Stmt, depth int) error {
	switch {
	case s.Background:
		return errors.New("a part runs in the background (&)")
	case s.Negated:
		return errors.New("a part is negated (!)")
	case s.Coprocess || s.Disown:
		return errors.New("a part is a coprocess")
	}
	for _, r := range s.Redirs {
		if !harmlessRedirect(r) {
			return errors.New("a part redirects to or from a file")
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr, *syntax.DeclClause:
		words, ok := commandWords(c)
		if !ok {
			return errors.New("a part sets variables for a command")
		}
		return j.command(c, words, depth)
	case *syntax.BinaryCmd:
		if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt && c.Op != syntax.Pipe {
			return errors.New("parts are joined by " + c.Op.String())
		}
		if err := j.stmt(c.X, depth); err != nil {
			return err
		}
		return j.stmt(c.Y, depth)
	case nil:
		return errors.New("a part is a redirection alone")
	}
	return errors.New("the shell text is more than plain commands joined by && || ; | or newline")
}

// harmlessRedirect accepts /dev/null and copies of the standard streams: 2>&1.
func harmlessRedirect(r *syntax.Redirect) bool {
	if r.Hdoc != nil || r.Word == nil || r.N != nil && !standardStream(r.N.Value) {
		return false
	}
	w := readWord(r.Word)
	if w.sure != literal {
		return false
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrIn:
		return w.text == "/dev/null"
	case syntax.DplOut:
		return w.text == "1" || w.text == "2"
	}
	return false
}

func standardStream(n string) bool { return n == "0" || n == "1" || n == "2" }

func (j *shellJudge) command(c syntax.Command, read []word, depth int) error {
	words, ok := literalWords(read)
	if !ok {
		return fmt.Errorf("%q holds an expansion or a wildcard", clip(printShell(c)))
	}
	for _, w := range words {
		if strings.Contains(w, "\n") {
			return errors.New("a word holds a line break")
		}
	}
	if j.moved && strings.Contains(words[0], "/") && !strings.HasPrefix(words[0], "/") {
		return fmt.Errorf("%q is relative to a directory that the text changes", clip(words[0]))
	}
	if err := j.allowed(words, depth); err != nil {
		return err
	}
	switch words[0] {
	case "cd", "pushd", "popd":
		j.moved = true
	}
	return nil
}

func (j *shellJudge) allowed(words []string, depth int) error {
	for _, m := range j.rules {
		if m.shell.allows(words) {
			j.use(m)
			return nil
		}
	}
	if text, ok := shellText(words); ok {
		if strings.Contains(text, "\n") {
			return errors.New("a word holds a line break")
		}
		return j.script(text, depth+1)
	}
	return fmt.Errorf("no rule allows %q", clip(strings.Join(words, " ")))
}

func (r shellRule) allows(words []string) bool {
	switch {
	case r.words == nil || len(words) < len(r.words):
		return false
	case !r.prefix && len(words) != len(r.words):
		return false
	}
	return slices.Equal(r.words, words[:len(r.words)])
}

// shellText returns TEXT of sh -c TEXT, which is judged as TEXT (DESIGN, "The team
// file"): exactly three words, a shell by its plain name or in /bin, and -c alone
// or with the letters e, l, u, x before it.
func shellText(words []string) (string, bool) {
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
	if !ok || !c || strings.Trim(letters, "elux") != "" || strings.HasPrefix(words[2], "-") || strings.HasPrefix(words[2], "+") {
		return "", false // what begins with - or + is one more option
	}
	return words[2], true
}
