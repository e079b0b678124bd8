package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"waggle/internal/cmdline"
)

// compileShell reads the pattern of a Bash rule.
func compileShell(p string) (cmdline.ShellRule, error) {
	if prefix, ok := strings.CutSuffix(p, ":*"); ok {
		words, err := cmdline.PlainCommand(prefix)
		if err != nil {
			return cmdline.ShellRule{}, fmt.Errorf("the words before :* must be plain: %w", err)
		}
		return cmdline.ShellRule{Prefix: true, Words: words}, nil
	}
	words, err := cmdline.PlainCommand(p)
	if err == nil {
		return cmdline.ShellRule{Words: words, Text: p}, nil
	}
	if strings.Contains(p, "*") {
		return cmdline.ShellRule{}, errors.New(`a wildcard is only understood as a final ":*": Bash(git:*); Bash alone is every command; a star that is meant goes into quotes`)
	}
	file, err := cmdline.ParseShell(p)
	if err != nil {
		return cmdline.ShellRule{}, fmt.Errorf("not readable as a shell command: %w", err)
	}
	if len(file.Stmts) == 0 {
		return cmdline.ShellRule{}, errors.New("no command in it")
	}
	return cmdline.ShellRule{Text: p, Printed: cmdline.PrintShell(file)}, nil
}

// shellJudge decides whether allow rules cover a whole shell text. It fails closed: every part that
// it cannot judge is a reason to ask.
type shellJudge struct {
	rules   []matcher // allow rules for Bash
	used    []string  // the rules that allowed a part
	cwd     string
	dir     string                // where cd has led, below cwd
	leads   func(dir string) bool // whether a directory is below cwd, links resolved
	moved   bool                  // an earlier part changed the directory
	after   string                // the part after which no rule allows anything
	reading bool                  // no rules: commands that only read are allowed
	looked  bool                  // one of them reads
	dirs    []string              // where cd has led
	paths   []string              // what they read
}

// text allows a text when one rule is for every command, when one rule is this
// very text, or when the text is plain commands joined by && || ; | or newline
// and rules allow each.
func (j *shellJudge) text(text string) error {
	trimmed := strings.Trim(text, " \t\n")
	for _, m := range j.rules {
		if m.rule.Pattern == "" || !m.shell.Prefix && m.shell.Text == trimmed {
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
	if depth > cmdline.MaxNest {
		return fmt.Errorf("shells are nested more than %d deep", cmdline.MaxNest)
	}
	if strings.Contains(text, "\\\n") {
		return errors.New("a line is continued with a backslash")
	}
	file, err := cmdline.ParseShell(text)
	if err != nil {
		return fmt.Errorf("the shell text cannot be parsed: %w", err)
	}
	if cmdline.Commented(file) {
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
		words, ok := cmdline.CommandWords(c)
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
	if r.Hdoc != nil || r.Word == nil || r.N != nil && !cmdline.StandardStream(r.N.Value) {
		return false
	}
	w := cmdline.ReadWord(r.Word)
	if w.Sure != cmdline.Literal {
		return false
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrIn:
		return w.Text == "/dev/null"
	case syntax.DplOut:
		return w.Text == "1" || w.Text == "2"
	}
	return false
}

func (j *shellJudge) command(c syntax.Command, read []cmdline.Word, depth int) error {
	if j.reading {
		return j.readCommand(c, read, depth)
	}
	words, ok := cmdline.LiteralWords(read)
	if !ok {
		return fmt.Errorf("%q holds an expansion or a wildcard", clip(cmdline.PrintShell(c)))
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
func (j *shellJudge) readCommand(c syntax.Command, read []cmdline.Word, depth int) error {
	for _, w := range read {
		if w.Sure != cmdline.Literal && !(w.Pattern && !strings.ContainsAny(w.Text, "{}~=") && !strings.Contains(w.Text, "..")) || strings.Contains(w.Text, "\n") {
			return fmt.Errorf("%q holds an expansion", clip(cmdline.PrintShell(c)))
		}
	}
	texts, ok := cmdline.LiteralWords(read)
	if text, shell := cmdline.ShellText(texts); ok && shell {
		return j.script(text, depth+1)
	}
	switch read[0].Text {
	case "cd":
		if !ok {
			return errors.New("the directory is not known")
		}
		j.follow(texts)
		if j.after != "" {
			return errors.New("the text leaves the working directory")
		}
		j.moved, j.dirs = false, append(j.dirs, j.dir)
		return nil
	case "pushd", "popd":
		return errors.New("the directory is not known")
	}
	return j.read(read)
}

// follow records the effect of a command on later ones: another directory, or a shell in which
// words have another meaning.
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
var changesShell = cmdline.Names(`export declare typeset local readonly alias unalias hash enable source . eval trap read mapfile readarray
	getopts let unset shopt exec bind complete compopt coproc history fc function umask ulimit disown wait newgrp`)

// settles recognises set -euo pipefail.
func settles(words []string) bool {
	_, ok := cmdline.FitSet(cmdline.Lits(words))
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
	if !cmdline.Evaluates[name] {
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
		if m.shell.Allows(words) {
			j.use(m)
			return nil
		}
	}
	if text, ok := cmdline.ShellText(words); ok {
		if strings.Contains(text, "\n") {
			return errors.New("a word holds a line break")
		}
		return j.script(text, depth+1)
	}
	return fmt.Errorf("no rule allows %q", clip(strings.Join(words, " ")))
}
