package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxShell is how long a shell text may be and still be parsed; a longer one is
// not understood.
const maxShell = 16 << 10

// maxNest is how many shells deep a text is followed: sh -c 'sh -c ...'.
const maxNest = 8

// maxShellOpen is how many brackets of a text may be open at once, quoted ones too: the
// parser recurses for each, and reads "((" twice, the second time as two.
const maxShellOpen = 64

// parseShell reads a text as bash, comments included.
func parseShell(text string) (*syntax.File, error) {
	if len(text) > maxShell {
		return nil, fmt.Errorf("longer than %d bytes", maxShell)
	}
	if opens(text) > maxShellOpen {
		return nil, fmt.Errorf("more than %d brackets open at once", maxShellOpen)
	}
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).
		Parse(strings.NewReader(text), "")
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
			open = max(0, open-1) // case patterns close what nothing opened
		}
	}
	return most
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
	rules   []matcher // allow rules for Bash
	used    []string  // the rules that allowed a part
	cwd     string
	dir     string                // where cd has led, below cwd
	leads   func(dir string) bool // whether a directory lies below cwd, links followed
	moved   bool                  // an earlier part changed the directory
	after   string                // the part after which nothing is allowed by rule
	reading bool                  // no rules: commands that only read are allowed
	looked  bool                  // one of them reads
	paths   []string              // what they read
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
	if j.reading {
		return j.readCommand(c, read, depth)
	}
	words, ok := literalWords(read)
	if !ok {
		return fmt.Errorf("%q holds an expansion or a wildcard", clip(printShell(c)))
	}
	for _, w := range words {
		if strings.Contains(w, "\n") {
			return errors.New("a word holds a line break")
		}
	}
	if j.after != "" {
		return fmt.Errorf("after %q no rule allows what follows", clip(j.after))
	}
	if j.moved && strings.Contains(words[0], "/") && !strings.HasPrefix(words[0], "/") {
		return fmt.Errorf("%q is relative to a directory that the text changes", clip(words[0]))
	}
	if err := evaluatesSubscript(words); err != nil {
		return err
	}
	if err := j.allowed(words, depth); err != nil {
		return err
	}
	j.follow(words)
	return nil
}

// readCommand accepts a command that only reads, with literal words and wildcards.
func (j *shellJudge) readCommand(c syntax.Command, read []word, depth int) error {
	for _, w := range read {
		if w.sure != literal && !(w.pattern && !strings.ContainsAny(w.text, "{}~=") && !strings.Contains(w.text, "..")) || strings.Contains(w.text, "\n") {
			return fmt.Errorf("%q holds an expansion", clip(printShell(c)))
		}
	}
	texts, ok := literalWords(read)
	if text, shell := shellText(texts); ok && shell {
		return j.script(text, depth+1)
	}
	switch read[0].text {
	case "cd":
		if !ok {
			return errors.New("the directory is not known")
		}
		j.follow(texts)
		if j.after != "" {
			return errors.New("the text leaves the working directory")
		}
		j.moved = false // paths are read below dir
		return nil
	case "pushd", "popd":
		return errors.New("the directory is not known")
	}
	return j.read(read)
}

// follow notes what a command does to those behind it: another directory, or a
// shell in which words no longer mean what they say.
func (j *shellJudge) follow(words []string) {
	for len(words) > 1 && (words[0] == "command" || words[0] == "builtin") {
		words = words[1:]
		for len(words) > 1 && (words[0] == "--" || words[0] == "-p") {
			words = words[1:]
		}
	}
	switch {
	case words[0] == "cd" || words[0] == "pushd":
		j.moved = true
		dir, ok := j.below(words)
		if !ok {
			j.after = strings.Join(words, " ")
			return
		}
		j.dir = dir
	case words[0] == "popd":
		j.moved = true
		j.after = "popd"
	case words[0] == "printf" && len(words) > 1 && strings.HasPrefix(words[1], "-") && words[1] != "--",
		words[0] == "set" && !settles(words),
		changesShell[words[0]]:
		j.after = strings.Join(words, " ")
	}
}

// changesShell are the builtins after which a command's name or a variable that
// programs read may mean something else.
var changesShell = names(`export declare typeset local readonly alias unalias hash enable source . eval trap read mapfile readarray
	getopts let unset shopt exec bind complete compopt coproc history fc function umask ulimit disown wait newgrp`)

// settles recognises set -euo pipefail.
func settles(words []string) bool {
	_, ok := fitSet(lits(words))
	return ok
}

// below returns the directory that cd leads to, relative to the working
// directory. It is false for one that is not below it, that is not named, or that
// is reached through "..": an earlier cd may have failed.
func (j *shellJudge) below(words []string) (string, bool) {
	args := words[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) != 1 || args[0] == "" || args[0][0] == '-' || args[0][0] == '+' || args[0][0] == '~' {
		return "", false
	}
	if strings.HasPrefix(args[0], "/") {
		clean := path.Clean(args[0])
		if !strings.HasPrefix(j.cwd, "/") || !under(path.Clean(j.cwd), clean) {
			return "", false
		}
		return strings.TrimPrefix(strings.TrimPrefix(clean, path.Clean(j.cwd)), "/"), j.leads(clean)
	}
	if slices.Contains(strings.Split(args[0], "/"), "..") {
		return "", false
	}
	dir := path.Join(j.dir, args[0])
	return dir, j.leads(dir)
}

// evaluatesSubscript refuses a subscript that bash evaluates as arithmetic, and so
// as commands: test -v 'a[$(x)]'.
func evaluatesSubscript(words []string) error {
	name := words[0]
	rest := words[1:]
	if (name == "command" || name == "builtin") && len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}
	if !evaluates[name] {
		return nil
	}
	for _, w := range rest {
		if strings.Contains(w, "[") {
			return fmt.Errorf("%s may evaluate the subscript in %q", name, clip(w))
		}
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

// shellText returns TEXT of sh -c TEXT, which is judged as TEXT (commands §7):
// exactly three words, a shell by its plain name or in /bin, and -c alone
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
