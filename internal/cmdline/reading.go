package cmdline

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Reading is a shell text as the list of the simple commands that it runs: lists, pipes, subshells, groups, if, for,
// while and case are structure, comments and here-documents are no commands. Where nothing is Unclear, no other
// command runs, but for what a listed command does by itself.
type Reading struct {
	Commands []Command
	Unclear  []Unclear
	Unparsed bool
	Secrets  [][2]int // bytes of the text: from and to of expansions of credentials
	sets     []Word   // NAME=value of the variables that it sets, unknown where the value is
	text     string
}

// Unclear is a part of a text that is not understood.
type Unclear struct {
	From, To int    // bytes of the text
	Why      string // "a function"
	Listed   bool   // the commands in it are in the list all the same
	Variable bool   // it sets a variable that programs may read
	text     string // the part
	dark     bool   // what it runs does not follow from its words
	of       int    // the command in whose words it stands, counted from 1; below 1: none
}

// Command is one simple command of a Reading.
type Command struct {
	From, To int    // bytes of the text
	Words    []Word // none: redirections alone
	Assigns  []Word // NAME=value for this command
	Reads    []Word // files that redirections read, and write
	Writes   []Word
	Document bool     // its standard input is a document of the text
	Input    string   // that document, as far as it is known
	mixed    bool     // what commands print is in it
	Piped    bool     // its standard input may be what another command prints
	Dirs     []string // where its relative paths start, last, and may start when a cd fails, seen from where the text starts
	After    string   // an earlier command after which names of commands may mean something else; "": none
	Moved    bool     // where its relative paths start is not known, nor what its wildcards match
	Followed bool     // it only changes the shell, and the reading follows that: cd, read, set -e
	flow     flow     // where what it prints goes
	// It runs between the first and the last of the statements read.
	first, last int
	// Inner are the commands that this one runs, when it is a wrapper whose command is known: timeout, env,
	// xargs, sh -c. Rest is what find does besides.
	Inner *Reading
	Rest  []Word
}

// Bounds of a reading: what is beyond them is not understood.
const (
	maxCommands = 1024
	maxItems    = 64      // of a loop
	maxValue    = 4 << 10 // bytes of a variable
	maxSize     = 256 << 10
	maxDirs     = 8 // in which a text may be
)

// Read reads a text that runs in the absolute directory cwd. leads reports whether a directory, absolute or seen from
// cwd, is below cwd when its links are followed.
func Read(text, cwd string, leads func(dir string) bool) Reading {
	r := &reader{cwd: cwd, leads: leads, dirs: []string{""}, steps: new(int), size: new(int)}
	return r.read(text)
}

// inner is a reader of what a command runs where it stands.
func (r *reader) inner() *reader {
	in := &reader{cwd: r.cwd, leads: r.leads, dirs: r.dirs, moved: r.moved, depth: r.depth + 1, steps: r.steps, size: r.size}
	in.Reading.text = r.Reading.text
	return in
}

func (r *reader) read(text string) Reading {
	r.Reading.text, r.values = text, map[string]Word{}
	file, err := ParseShell(text)
	switch {
	case r.depth > MaxNest:
		r.unclear(nil, fmt.Sprintf("shells nested more than %d deep", MaxNest))
	case err != nil:
		r.Unparsed = true
		r.Unclear = []Unclear{{To: len(text), Why: "the shell text cannot be parsed: " + err.Error(), dark: true}}
	case len(file.Stmts) == 0:
		r.Unclear = []Unclear{{To: len(text), Why: "there is no command"}}
	default:
		r.counters = countersOf(file)
		r.stmts(file.Stmts)
		r.heard(r.inWords)
	}
	return r.Reading
}

// reader makes a Reading.
type reader struct {
	Reading
	cwd    string
	leads  func(string) bool
	dirs   []string // where the text may be, last where it is when every cd worked
	after  string
	values map[string]Word // variables
	// counters are the variables that the text sets to numbers only: true once it has.
	counters map[string]bool
	depth    int
	moved    bool // Command.Moved
	size     *int // bytes and words read, those of loops once for each round
	steps    *int // statements read, those of loops once for each round
	full     bool // there were too many
	piped    bool
	names    names    // what the last command printed
	fed      names    // what the command gets as its standard input
	lost     bool     // what variables hold is not known any more
	inWords  [][2]int // commands that stand in the words of the statement, from and to
}

// unclear notes a part that is not understood: what it sets is not known, and what it runs neither, where it holds
// commands of its own or there is no part.
func (r *reader) unclear(n syntax.Node, why string) {
	r.note(n, why)
	at := len(r.Unclear) - 1
	r.Unclear[at].dark = n == nil || r.holdsCommands(n)
	r.lost = true
}

// holdsCommands reads the commands in a part that is not understood.
func (r *reader) holdsCommands(n syntax.Node) (found bool) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			r.shell(n.Stmts)
		case *syntax.ProcSubst:
			r.shell(n.Stmts)
		default:
			return true
		}
		found = true
		return false
	})
	return found
}

// note notes a part that is not understood, and whose commands are read.
func (r *reader) note(n syntax.Node, why string) {
	u := Unclear{Why: why}
	if n != nil {
		u.From, u.To = offsets(n)
		*r.size += u.To - u.From
		u.text = r.text[min(u.From, len(r.text)):max(u.From, min(u.To, len(r.text)))]
	}
	r.Unclear = append(r.Unclear, u)
}

func (r *reader) dark(n syntax.Node, why string) {
	r.unclear(n, why)
	r.Unclear[len(r.Unclear)-1].dark = true
}

func offsets(n syntax.Node) (from, to int) { return int(n.Pos().Offset()), int(n.End().Offset()) }

func (r *reader) stmts(all []*syntax.Stmt) {
	for _, s := range all {
		values := maps.Clone(r.values)
		r.stmt(s)
		if _, chain := s.Cmd.(*syntax.BinaryCmd); chain {
			r.forget(values)
		}
	}
	if len(all) != 1 {
		r.names = names{}
	}
}

// apart reads statements that may not run, or in a shell of their own: what they set is not known behind them.
func (r *reader) apart(all ...*syntax.Stmt) {
	values := maps.Clone(r.values)
	r.stmts(all)
	r.forget(values)
}

// forget takes back what was set since: whether it is set is not known.
func (r *reader) forget(before map[string]Word) {
	maps.DeleteFunc(before, func(name string, was Word) bool { return r.values[name] != was })
	r.values = before
}

// shell reads statements that run in a shell of their own: nothing that they change is seen behind them.
func (r *reader) shell(all []*syntax.Stmt) {
	values, dirs, after := maps.Clone(r.values), r.dirs, r.after
	r.stmts(all)
	r.values, r.dirs, r.after = values, dirs, after
}

func (r *reader) stmt(s *syntax.Stmt) {
	if *r.steps++; *r.steps > maxCommands || *r.size > maxSize {
		if !r.full {
			r.dark(s, "too many commands")
		}
		r.full = true
		r.plain(s)
		return
	}
	begin, doubts, inWords := len(r.Commands), len(r.Unclear), r.inWords
	r.inWords = nil
	later := s.Background || s.Coprocess || s.Disown
	if later {
		r.note(s, "a command in the background (&)")
		r.Unclear[doubts].Listed, r.Unclear[doubts].of, r.Unclear[doubts].text = true, -1, ""
	}
	c := Command{Dirs: r.dirs, After: r.after, Piped: r.piped, Moved: r.moved, first: *r.steps, last: *r.steps}
	c.From, c.To = offsets(s)
	fed, merged := r.fed, false
	for _, d := range s.Redirs {
		r.redirect(d, &c)
		merged = merged || d.Op != syntax.RdrOut && d.Op != syntax.AppOut
	}
	if c.Document || len(c.Reads) > 0 {
		r.fed = names{}
	}
	given := len(r.inWords)
	before, dirs := maps.Clone(r.values), r.dirs
	r.command(s, c)
	if r.fed = fed; merged {
		r.names = names{} // what it says of errors is among them
	}
	if len(s.Redirs) > 0 || later {
		r.forget(before) // a redirection may fail, and then nothing is set; in the background nothing is
	}
	if later {
		r.dirs = dirs
	}
	r.settle(c.From, begin, doubts, given)
	r.inWords = inWords
	if len(c.Writes) > 0 {
		flowsTo(r.Commands[begin:], flow{file: true, code: !onlyData(c.Writes)})
	}
	if later {
		happens(r.Commands[begin:], *r.steps, anyTime)
	}
}

// plain lists the commands of a statement as they are written.
func (r *reader) plain(s *syntax.Stmt) {
	syntax.Walk(s, func(n syntax.Node) bool {
		c := Command{Dirs: r.dirs, After: "too many commands", Moved: true, last: anyTime}
		switch n := n.(type) {
		case *syntax.CallExpr:
			c.Words = readWords(n.Args)
		case *syntax.Redirect:
			if n.Hdoc == nil {
				c.Writes = []Word{ReadWord(n.Word)}
			}
		case *syntax.Assign:
			if n.Name != nil {
				r.sets = append(r.sets, Word{Text: n.Name.Value + "=", Sure: Unknown})
			}
		}
		if len(c.Words)+len(c.Writes) > 0 {
			c.From, c.To = offsets(n)
			r.Commands = append(r.Commands, c)
		}
		return true
	})
}

func (r *reader) command(s *syntax.Stmt, c Command) {
	switch n := s.Cmd.(type) {
	case *syntax.CallExpr:
		r.call(n, c)
		return
	case *syntax.DeclClause:
		r.declare(n, c)
		return
	}
	around := len(r.Commands)
	if len(c.Reads)+len(c.Writes) > 0 || c.Document {
		r.Commands = append(r.Commands, c)
	}
	defer func() {
		if c.Document { // what is inside reads it
			flowsTo(r.Commands[around:around+1], into(r.Commands[around+1:]))
		}
	}()
	r.names = names{}
	switch n := s.Cmd.(type) {
	case nil:
	case *syntax.BinaryCmd:
		r.binary(n)
	case *syntax.Subshell:
		r.shell(n.Stmts)
	case *syntax.Block:
		r.stmts(n.Stmts)
	case *syntax.IfClause:
		for ; n != nil; n = n.Else {
			r.apart(n.Cond...)
			r.apart(n.Then...)
		}
		r.names = names{}
	case *syntax.WhileClause:
		r.loop(n, func() {
			r.stmts(n.Cond)
			r.apart(n.Do...)
		})
	case *syntax.ForClause:
		r.forEach(n)
	case *syntax.CaseClause:
		if w := r.word(n.Word); !w.Known() {
			r.unclear(n.Word, "a choice by what is not known before it runs")
		}
		for _, item := range n.Items {
			r.words(item.Patterns)
			r.apart(item.Stmts...)
		}
		r.names = names{}
	case *syntax.TimeClause:
		if n.Stmt != nil {
			r.apart(n.Stmt) // to some shells it is a program
		}
	case *syntax.CoprocClause:
		r.dark(s, "a coprocess")
		r.apart(n.Stmt)
	case *syntax.TestClause:
		if n.Pos().Line() != n.End().Line() {
			r.unclear(n, "a [[ ]] of several lines")
		}
		r.test(n.X, len(r.Unclear))
	case *syntax.FuncDecl:
		r.function(n)
	default:
		r.unclear(s, "a part that is not plain commands")
	}
}

func (r *reader) binary(n *syntax.BinaryCmd) {
	fed, values := r.fed, maps.Clone(r.values)
	switch n.Op {
	case syntax.AndStmt:
		r.stmt(n.X)
		r.fed = fed
		r.stmt(n.Y) // what X set is set when Y runs
		r.names = names{}
	case syntax.OrStmt:
		r.stmt(n.X)
		r.forget(values)
		r.fed = fed
		r.apart(n.Y)
		r.names = names{}
	case syntax.Pipe, syntax.PipeAll:
		start, begin := *r.steps, len(r.Commands)
		r.apart(n.X)
		if n.Op == syntax.PipeAll {
			r.names = names{}
		}
		piped, middle, doubts := r.piped, len(r.Commands), len(r.Unclear)
		r.fed, r.piped = r.names, true
		r.apart(n.Y)
		r.fed, r.piped = fed, piped
		to := into(r.Commands[middle:])
		to.heard = to.heard || len(r.Unclear) > doubts
		flowsTo(r.Commands[begin:middle], to)
		happens(r.Commands[middle:], start, 0) // it may write before the other side runs
	default:
		r.unclear(n, "parts joined by "+n.Op.String())
	}
}

// loop reads what runs again and again: a command that stands behind another one runs before it too, and what it sets
// is not known.
func (r *reader) loop(n syntax.Command, body func()) {
	begin, dirs, start := len(r.Commands), len(r.dirs), *r.steps
	set, sure := assigned(n)
	maps.DeleteFunc(r.values, func(name string, _ Word) bool { return set[name] || !sure })
	values, lost := maps.Clone(r.values), r.lost
	body()
	r.forget(values)
	r.names = names{}
	happens(r.Commands[begin:], start, *r.steps+1)
	if r.lost && !lost {
		r.dark(nil, "a loop that sets what is not known")
	}
	if len(r.dirs) != dirs {
		r.changed("cd in a loop")
	}
	for i := begin; r.after != "" && i < len(r.Commands); i++ {
		r.Commands[i].After = r.after
	}
}

func (r *reader) forEach(n *syntax.ForClause) {
	items, ok := n.Loop.(*syntax.WordIter)
	if !ok {
		r.unclear(n.Loop, "a loop without a list")
		r.loop(n, func() { r.apart(n.Do...) })
		return
	}
	all := r.words(items.Items)
	switch {
	case changesCommands(items.Name.Value):
		r.dark(items, items.Name.Value+" is set, which programs may read")
	case !neutral(items.Name.Value):
		r.unclear(items, items.Name.Value+" is set, which programs may read")
	case n.Select, !items.InPos.IsValid():
		r.unclear(items, "a loop over words that are not in the text")
		all = nil
	case len(all) > maxItems:
		r.unclear(items, "a loop over too many words")
		all = nil
	}
	if len(all) == 0 {
		all = []Word{{}} // what would run is in the list all the same
	}
	r.loop(n, func() {
		values := r.values
		for _, value := range all {
			if r.full {
				break
			}
			r.values = maps.Clone(values)
			value.Split = value.Pattern || value.Split
			r.set(items.Name.Value, value)
			r.apart(n.Do...)
		}
		r.values = values
	})
	delete(r.values, items.Name.Value)
}

// assigned are the variables that a command sets. It is not sure where a command may set others.
func assigned(n syntax.Node) (set map[string]bool, sure bool) {
	set, sure = map[string]bool{}, true
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				set[n.Name.Value] = true
			}
		case *syntax.WordIter:
			set[n.Name.Value] = true
		case *syntax.CallExpr:
			words := readWords(n.Args)
			if len(words) == 0 {
				break
			}
			if words[0].Text == "read" {
				for _, w := range words[1:] {
					set[w.Text] = true
				}
			}
			sure = sure && words[0].Sure == Literal && !Evaluates[words[0].Text] && words[0].Text != "command" && words[0].Text != "builtin" && words[0].Text != "eval" ||
				words[0].Text == "read" || words[0].Text == "test" || words[0].Text == "["
		}
		return true
	})
	return set, sure
}

// test reads [[ ]], up to its first doubt: what it compares is data, but for numbers and names, which shells evaluate. A shell that does not know
// it takes what stands in it for commands and redirections.
func (r *reader) test(x syntax.TestExpr, doubts int) {
	if len(r.Unclear) > doubts {
		found := r.holdsCommands(x)
		r.Unclear[doubts].dark = r.Unclear[doubts].dark || found
		return
	}
	switch n := x.(type) {
	case *syntax.BinaryTest:
		switch n.Op {
		case syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch, syntax.TsReMatch:
			if from, to := offsets(n); strings.ContainsAny(r.text[from:min(to, len(r.text))], "|&;<>()\n") && !strings.Contains(r.text[from:min(to, len(r.text))], "$(") {
				r.unclear(n, "a comparison in [[ ]] that shells read differently")
			}
			for _, x := range []syntax.TestExpr{n.X, n.Y} {
				if w, ok := x.(*syntax.Word); ok && !r.word(w).Known() {
					r.unclear(n, "a comparison of what is not known before it runs")
				}
			}
		case syntax.AndTest, syntax.OrTest:
			if y, unary := n.Y.(*syntax.UnaryTest); !unary || y.Op == syntax.TsNot {
				r.unclear(n, "a comparison in [[ ]] that shells read differently")
			}
			r.test(n.X, doubts)
			r.test(n.Y, doubts)
		default:
			r.unclear(n, "a comparison in [[ ]] that shells read differently")
		}
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			r.unclear(n, "a test that evaluates variables")
		}
		r.test(n.X, doubts)
	case *syntax.Word:
		r.word(n)
	default:
		r.unclear(x, "a part of [[ ]] that shells read differently")
	}
}

func (r *reader) redirect(d *syntax.Redirect, c *Command) {
	if d.N != nil && !StandardStream(d.N.Value) {
		r.unclear(d, "a redirection of another stream")
	}
	switch {
	case d.Hdoc != nil:
		if !plainDelimiter(d) {
			r.unclear(d, "a document that shells end at different places")
		}
		_, to := offsets(d.Hdoc)
		body := r.text[min(int(d.Word.End().Offset()), len(r.text)):min(max(to, int(d.Word.End().Offset())), len(r.text))]
		*r.size += len(body)
		if d.Word.Lit() != "" && (strings.Contains(body, "\\\n") || r.shellsDiffer(d.Hdoc.Parts)) {
			r.unclear(d, "a document that shells read differently")
		}
		r.document(c, d.Hdoc, readDocument(d.Hdoc, r.expand), "a document with a part that is not known before it runs")
		return
	case d.Op == syntax.WordHdoc:
		r.document(c, d.Word, r.word(d.Word), "a text that is not known before it runs")
		return
	}
	w := r.word(d.Word)
	device := w.Sure == Literal && slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr"}, w.Text)
	switch d.Op {
	case syntax.RdrIn:
		if d.N != nil && d.N.Value != "0" {
			r.unclear(d, "a file in the place of an output")
			c.Writes = append(c.Writes, w) // > /dev/stderr writes it
		}
		if !w.is("/dev/null") {
			c.Reads = append(c.Reads, w)
		}
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.AppClob, syntax.RdrAll, syntax.RdrAllClob, syntax.AppAll, syntax.AppAllClob:
		if !device {
			c.Writes = append(c.Writes, w)
		}
	case syntax.DplOut, syntax.DplIn:
		if w.Sure != Literal || !StandardStream(w.Text) && w.Text != "-" {
			r.unclear(d, "a redirection to another stream")
			c.Writes = append(c.Writes, Word{})
		} else if w.Text == "0" && (d.Op == syntax.DplOut || d.N != nil && d.N.Value != "0") {
			c.Writes = append(c.Writes, Word{}) // the input in the place of an output: > /dev/stderr writes it
		}
	default:
		r.unclear(d, "a redirection "+d.Op.String())
		c.Reads, c.Writes = append(c.Reads, w), append(c.Writes, w)
	}
}

// document gives a command a text as its input.
func (r *reader) document(c *Command, n syntax.Node, text Word, unknown string) {
	c.Document, c.mixed = true, c.mixed || text.Output
	if c.Input += text.Text; !text.Known() {
		r.unclear(n, unknown)
	}
}

// plainDelimiter reports a here-document that every shell ends at the same line.
func plainDelimiter(d *syntax.Redirect) bool {
	text := ""
	if len(d.Word.Parts) == 1 {
		switch p := d.Word.Parts[0].(type) {
		case *syntax.Lit:
			text = p.Value
		case *syntax.SglQuoted:
			if !p.Dollar {
				text = p.Value
			}
		case *syntax.DblQuoted:
			if len(p.Parts) == 1 && !p.Dollar {
				if l, ok := p.Parts[0].(*syntax.Lit); ok {
					text = l.Value
				}
			}
		}
	}
	if !identifierOrNumber().MatchString(text) {
		return false
	}
	plain := true
	for _, part := range d.Hdoc.Parts {
		if _, lit := part.(*syntax.Lit); !lit && part.Pos().Line() != part.End().Line() {
			plain = false
		}
	}
	return plain
}

var identifierOrNumber = Pattern(`^[A-Za-z0-9_]+$`)

// declare reads export and similar builtins: harmless variables are no command.
func (r *reader) declare(n *syntax.DeclClause, c Command) {
	for _, a := range n.Args {
		if a.Value != nil {
			r.word(a.Value)
		}
		if a.Array != nil || a.Index != nil {
			r.unclear(n, "an array")
		}
	}
	c.Words = declWords(n)
	for i, a := range n.Args {
		if a.Name != nil {
			delete(r.values, a.Name.Value)
		}
		if a.Name != nil && !a.Naked {
			r.sets = append(r.sets, c.Words[i+1])
		}
		if a.Name != nil && changesCommands(a.Name.Value) {
			r.dark(a, a.Name.Value+" is set, by which commands are found")
		}
	}
	if n.Variant.Value == "export" && DeclareRisk(c.Words[1:]) != RiskHigh && len(c.Reads)+len(c.Writes) == 0 {
		return
	}
	r.Commands = append(r.Commands, c)
	r.changed(n.Variant.Value)
}

func (r *reader) call(n *syntax.CallExpr, c Command) {
	var assigns []Word
	for _, a := range n.Assigns {
		w, ok := Lit(""), a.Array == nil && a.Index == nil && !a.Append
		if a.Value != nil {
			w = r.word(a.Value)
		}
		if !ok || !w.Known() {
			r.note(a, "a variable whose value is not known before it runs")
			if at := len(r.Unclear) - 1; !ok {
				dark := r.holdsCommands(a) || changesCommands(a.Name.Value)
				r.Unclear[at].dark, r.lost, w = dark, true, Word{}
			}
		}
		if len(n.Args) == 0 {
			if set := (Word{Text: a.Name.Value + "=" + w.Text, Sure: w.Sure}); !neutral(a.Name.Value) && !(harmless[a.Name.Value] && AssignmentRisk(set) == RiskLow) {
				r.note(a, a.Name.Value+" is set, which programs may read")
				u := &r.Unclear[len(r.Unclear)-1]
				u.Variable = true
				u.Listed = !changesCommands(a.Name.Value) && a.Name.Value != "GLOBIGNORE"
				u.dark = changesCommands(a.Name.Value) || !w.Known() && runsValue().MatchString(a.Name.Value)
			}
			if len(w.Text) > maxValue {
				w = Word{}
			}
			if _, counts := r.counters[a.Name.Value]; counts {
				r.counters[a.Name.Value] = true
			}
			r.set(a.Name.Value, w)
		}
		if args := readWords(n.Args); len(args) > 0 && args[0].Text == "read" && a.Name.Value == "IFS" {
			continue // it says where read cuts
		}
		w.Text = a.Name.Value + "=" + w.Text
		assigns = append(assigns, w)
	}
	if len(n.Args) == 0 {
		if len(c.Reads)+len(c.Writes) > 0 {
			r.Commands = append(r.Commands, c)
		}
		return
	}
	c.Assigns, c.Words = assigns, r.words(n.Args)
	if len(r.inWords) > 0 { // they run before it
		*r.steps++
		c.first, c.last = *r.steps, *r.steps
	}
	for _, w := range c.Words {
		*r.size += len(w.Text) + 1
	}
	if slices.ContainsFunc(n.Args, func(w *syntax.Word) bool { return w.Lit() == "{" || w.Lit() == "}" }) {
		r.unclear(n, "a brace by itself")
	}
	if name := r.word(n.Args[0]); name.Sure != Literal || name.Text == "" {
		r.unclear(n.Args[0], "a command that is not known before it runs")
		r.Commands, r.names = append(r.Commands, c), names{}
		return
	}
	if len(assigns) > 0 && specialBuiltins[c.Words[0].Text] {
		clear(r.values) // some shells keep what is set for it
	}
	r.open(&c)
	c.Followed = r.follow(c.Words)
	r.Commands = append(r.Commands, c)
	if r.names = namesOf(c.Words); r.fed.lines() && selectsLines(c.Words) {
		r.names = r.fed
	}
}

// follow records what a command changes for those behind it: the directory, variables, what names mean. It reports
// whether the command does only what is followed.
func (r *reader) follow(words []Word) bool {
	for len(words) > 1 && (words[0].is("command") || words[0].is("builtin")) {
		words = words[1:]
		for len(words) > 1 && words[0].Sure == Literal && strings.HasPrefix(words[0].Text, "-") && !words[0].is("-v") && !words[0].is("-V") {
			words = words[1:]
		}
	}
	switch name := words[0].Text; {
	case words[0].Sure != Literal:
		r.changed("a command that is not known")
	case name == "cd", name == "pushd":
		dirs, ok := r.below(words[1:])
		if !ok {
			r.changed(strings.TrimSpace(name + " " + joinTexts(words[1:])))
			return false
		}
		r.dirs = dirs
		return true
	case name == "read":
		for _, w := range words[1:] {
			if w.is("-r") {
				continue
			}
			if w.Sure != Literal || !neutral(w.Text) {
				r.changed(name)
				return false
			}
			r.set(w.Text, outputOf(r.fed.lines(), r.fed))
			r.sets[len(r.sets)-1].Sure = Unknown
		}
		return true
	case name == "set":
		if _, ok := fitSet(words); ok {
			return true
		}
		r.changed(name)
	case name == "printf" && len(words) > 1 && (words[1].Sure == Unknown || strings.HasPrefix(words[1].Text, "-") && words[1].Text != "--"), changesShell[name]:
		r.changed(name)
	}
	return false
}

// changed notes a command after which names of commands, variables and the directory may be others.
func (r *reader) changed(by string) {
	r.after = by
	clear(r.values)
	name, _, _ := strings.Cut(by, " ")
	r.lost = r.lost || name != "cd" && name != "pushd" && name != "export"
	r.moved = r.moved || movers[name]
}

// movers are the builtins behind which a relative path may start anywhere, or a wildcard match more.
var movers = Names(`cd pushd popd eval source . trap shopt set setopt unsetopt emulate alias enable command builtin exec`)

// specialBuiltins are those of POSIX for which variables that are set before them stay set.
var specialBuiltins = Names(`. : break continue eval exec exit export readonly return set shift times trap unset`)

// changesShell are the builtins after which a command's name or a variable that programs read may mean something
// else.
var changesShell = Names(`export declare typeset local readonly alias unalias hash enable setopt unsetopt emulate source . eval trap mapfile readarray popd
	getopts let unset shopt exec bind complete compopt coproc history fc function umask ulimit disown wait newgrp`)

// below returns where a text may be after cd, seen from where it starts, last where it is when every cd worked. It is false
// where one is not below it, is not known, or is reached through "..": an earlier cd may have failed.
func (r *reader) below(args []Word) ([]string, bool) {
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	if len(args) != 1 || args[0].Sure != Literal || args[0].Text == "" || strings.ContainsRune("-+~", rune(args[0].Text[0])) || len(r.dirs) >= maxDirs {
		return nil, false
	}
	to := args[0].Text
	if strings.HasPrefix(to, "/") {
		clean, cwd := path.Clean(to), path.Clean(r.cwd)
		if !strings.HasPrefix(r.cwd, "/") || clean != cwd && !strings.HasPrefix(clean, strings.TrimSuffix(cwd, "/")+"/") {
			return nil, false
		}
		dir := strings.TrimPrefix(strings.TrimPrefix(clean, cwd), "/")
		return lastOf(r.dirs, dir), r.leads(clean)
	}
	if slices.Contains(strings.Split(to, "/"), "..") {
		return nil, false
	}
	dirs := r.dirs
	for _, from := range r.dirs {
		dir := path.Join(from, to)
		if !r.leads(dir) {
			return nil, false
		}
		dirs = lastOf(dirs, dir)
	}
	return dirs, true
}

// lastOf is a list with an element at its end.
func lastOf(list []string, last string) []string {
	return append(slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == last }), last)
}
