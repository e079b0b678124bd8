package cmdline

import (
	"math"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// flow follows where the output of commands goes while one parsed text is walked.
// syntax.Walk visits a node before what is inside it.
type flow struct {
	w     *walker
	loud  []span // the output goes into a command that is not pure
	quiet []span // the words of a pure command: its substitutions are its data
	files []span // the output goes into a file
	code  []span // the output goes into a file that a build may read
	loops []span
	last  []span // what runs here runs later, or at any time
	pipes []pipeEnd
}

type span struct{ from, to uint }

// pipeEnd is the right side of a pipe: it writes while the left side runs.
type pipeEnd struct {
	first uint
	span
}

// everywhere is the span of a text whose whole output flows on.
var everywhere = span{0, math.MaxUint}

// place notes where the walk is.
func (f *flow) place(n syntax.Node) {
	at := spanOf(n)
	e := &f.w.carried.events
	e.now, e.first, e.late = at.from+2, at.from+2, 0
	for _, l := range f.loops { // a command behind it in a loop runs before it, too
		if l.holds(at) {
			e.first = min(e.first, l.from+1)
			e.late = max(e.late, l.to)
		}
	}
	for _, p := range f.pipes {
		if p.holds(at) {
			e.first = min(e.first, p.first)
		}
	}
	if within(n, f.last) {
		e.late = math.MaxUint
	}
	e.data = within(n, f.files) && !within(n, f.code)
}

func spanOf(n syntax.Node) span { return span{n.Pos().Offset(), n.End().Offset()} }

// holds reports whether the other span is within this one, or equal to it.
func (s span) holds(o span) bool { return s.from <= o.from && o.to <= s.to }

func within(n syntax.Node, spans []span) bool {
	s := spanOf(n)
	return slices.ContainsFunc(spans, func(o span) bool { return o.holds(s) })
}

// visit carries what a node holds.
func (f *flow) visit(node syntax.Node) {
	c := &f.w.carried
	if node != nil {
		f.place(node)
	}
	switch n := node.(type) {
	case *syntax.Stmt:
		if n.Background || n.Coprocess || n.Disown {
			f.last = append(f.last, spanOf(n))
		}
		f.stmt(n)
	case *syntax.WhileClause, *syntax.ForClause:
		f.loops = append(f.loops, spanOf(n))
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			f.pipe(n)
		}
	case *syntax.CmdSubst, *syntax.ProcSubst:
		if !within(n, f.quiet) {
			f.loud = append(f.loud, spanOf(n))
		}
	case *syntax.CallExpr:
		f.call(n)
	case *syntax.DeclClause:
		words := declWords(n)
		f.sets(n.Variant.Value, words)
		f.words(words, true)
	case *syntax.Assign:
		f.assign(n)
	case *syntax.FuncDecl:
		f.last = append(f.last, spanOf(n))
		commands, _ := knownLines()
		if n.Name == nil { // ()a
			c.unknown = true
			break
		}
		if _, ok := LookUp([]Word{Lit(n.Name.Value)}); ok || commands[n.Name.Value] != nil || specialCommands[n.Name.Value] != nil {
			c.unknown = true // a command of the table is another one from here on
		}
	case *syntax.WordIter:
		if slices.ContainsFunc(readWords(n.Items), func(w Word) bool { return w.Sure == Unknown && !w.Pattern }) {
			c.doubtVariable(n.Name.Value)
		}
		f.literals(readWords(n.Items), true)
	case *syntax.ParamExp:
		if n.Exp != nil && n.Exp.Word != nil {
			w := ReadWord(n.Exp.Word)
			f.literals([]Word{w}, true)
			if w.Sure == Unknown && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				c.doubtVariable(n.Param.Value)
			}
		}
		if n.Repl != nil && n.Repl.With != nil {
			f.literals([]Word{ReadWord(n.Repl.With)}, true)
		}
		f.arithm(n.Index)
	case *syntax.ArithmExp:
		f.arithm(n.X)
	case *syntax.ArithmCmd:
		f.arithm(n.X)
	case *syntax.LetClause:
		for _, x := range n.Exprs {
			f.arithm(x)
		}
	case *syntax.UnaryTest:
		if w, ok := n.X.(*syntax.Word); ok {
			f.literals([]Word{ReadWord(w)}, true)
		}
	case *syntax.BinaryTest:
		for _, x := range []syntax.TestExpr{n.X, n.Y} {
			if w, ok := x.(*syntax.Word); ok && n.Op != syntax.TsReMatch {
				f.literals([]Word{ReadWord(w)}, true)
			}
		}
	}
}

// arithm carries the words of an arithmetic expression: bash evaluates subscripts in it, also those
// in the values of variables.
func (f *flow) arithm(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			f.literals([]Word{ReadWord(w)}, true)
		}
		return true
	})
}

// literals carries words as far as they are known.
func (f *flow) literals(ws []Word, loud bool) {
	for _, w := range ws {
		f.w.carried.text(w.Text, loud)
	}
}

// words carries the words of a command that is not pure; an unknown word is a doubt.
func (f *flow) words(ws []Word, loud bool) {
	for _, w := range ws {
		if w.Sure == Unknown && !w.Pattern {
			f.w.carried.doubt(loud)
		}
		if w.Pattern && strings.ContainsAny(w.Text, "{}") {
			if _, ok := expandBraces(w.Text); !ok {
				f.w.carried.doubt(loud)
			}
		}
		f.w.carried.text(w.Text, loud)
	}
}

// stmt marks a command whose output goes into a file, and carries its documents.
func (f *flow) stmt(s *syntax.Stmt) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	var words []Word
	if ok && len(call.Args) > 0 {
		words = readWords(call.Args)
	}
	reads := false
	for _, r := range s.Redirs {
		if r.Hdoc != nil || r.Op == syntax.WordHdoc {
			reads = true
		}
		if r.Op == syntax.RdrIn { // the file may be written too
			f.reads(ReadWord(r.Word))
		}
		if writesFile(r) {
			f.files = append(f.files, spanOf(s))
			if w := ReadWord(r.Word); w.Sure != Literal || !dataFile(w.Text) {
				f.code = append(f.code, spanOf(s))
				f.place(s)
				f.w.carried.put()
			}
			f.w.carried.pieces = true
			if len(words) == 1 && words[0].Text == "exec" {
				f.w.carried.unknown = true // what follows writes into the file
			}
		}
	}
	if writesOperands(words) {
		f.files = append(f.files, spanOf(s))
		if slices.ContainsFunc(words[1:], func(w Word) bool {
			return w.Sure != Literal || (w.Text == "" || w.Text[0] != '-') && !dataFile(w.Text)
		}) {
			f.place(s)
			f.w.carried.put()
			f.code = append(f.code, spanOf(s))
		}
	}
	if !reads {
		return
	}
	f.place(s)
	pure := isPure(words)
	loud := !pure || within(s, f.loud)
	if !loud && !within(s, f.files) && !takesInput(words) {
		return
	}
	for _, r := range s.Redirs {
		var doc *syntax.Word
		switch {
		case r.Hdoc != nil:
			doc = r.Hdoc
		case r.Op == syntax.WordHdoc:
			doc = r.Word
		default:
			continue
		}
		if !loud && !within(s, f.files) && words[0].Text == "git" {
			f.say([]Word{documentWord(doc)}, true) // git commit -F -
			continue
		}
		f.words([]Word{documentWord(doc)}, loud)
	}
}

// reads carries a file that a command reads by redirection.
func (f *flow) reads(w Word) {
	c := &f.w.carried
	if w.Sure == Unknown {
		c.copiesAny = c.copiesAny || !strings.Contains(path.Base(w.Text), ".")
	}
	c.copied = append(c.copied, tokensOf(w.Text)...)
	c.moves = c.moves || dataFile(w.Text)
}

// dataExtensions end the names of files that no build runs.
var dataExtensions = Names(`.txt .log .out .diff .patch .md .csv .tsv .html .prof .cover .coverage .pprof .bak .orig`)

func dataFile(name string) bool { return dataExtensions[path.Ext(name)] }

// takesInput reports whether a known command may keep what it reads: split, gzip,
// git commit -F -.
func takesInput(words []Word) bool {
	f, ok := LookUp(words)
	return ok && (f.Write || f.Risk == RiskMedium && BaseName(words[0].Text) == "git")
}

// documentWord reads a here-document, in which brackets and braces have no meaning.
func documentWord(w *syntax.Word) Word {
	return readDocument(w, func(syntax.WordPart, bool) Word { return Word{} })
}

// readDocument is documentWord; expand says what is known of an expansion in it.
func readDocument(w *syntax.Word, expand func(part syntax.WordPart, quoted bool) Word) Word {
	out := Lit("")
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			out = out.and(Lit(p.Value))
		case *syntax.SglQuoted:
			out = out.and(Lit(p.Value))
		case *syntax.DblQuoted:
			out = out.and(doubleQuoted(p, expand))
		default:
			out = out.and(expand(part, true))
		}
	}
	return out
}

// writesOperands reports whether a command writes its input into files that its words name: tee,
// sort -o, cp /dev/stdin.
func writesOperands(words []Word) bool {
	if len(words) == 0 {
		return false
	}
	f, ok := LookUp(words)
	if ok && words[0].Text == "git" && Spells(words, "apply", "am") {
		return true
	}
	return ok && (f.Write && (words[0].Text == "tee" || words[0].Text == "patch" || Spells(words, "/dev/stdin", "-")) || len(f.Outs) > 0)
}

func writesFile(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.AppClob,
		syntax.RdrAll, syntax.RdrAllClob, syntax.AppAll, syntax.AppAllClob:
		w := ReadWord(r.Word)
		return w.Sure != Literal || w.Text != "/dev/null" && w.Text != "/dev/stdout" && w.Text != "/dev/stderr"
	case syntax.DplOut:
		w := ReadWord(r.Word)
		return w.Sure != Literal || !StandardStream(w.Text) && w.Text != "-"
	}
	return false
}

// pipe marks what flows into a command that is not pure, or into a file.
func (f *flow) pipe(b *syntax.BinaryCmd) {
	pure, file, data := true, false, true
	f.pipes = append(f.pipes, pipeEnd{spanOf(b).from + 1, spanOf(b.Y)})
	if _, simple := b.X.Cmd.(*syntax.CallExpr); !simple && b.X.Cmd != nil {
		if _, chain := b.X.Cmd.(*syntax.BinaryCmd); !chain {
			f.last = append(f.last, spanOf(b.X))
		}
	}
	syntax.Walk(b.Y, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			words := readWords(n.Args)
			if len(words) > 0 {
				pure = pure && isPure(words)
				file = file || writesOperands(words) || takesInput(words)
				if writesOperands(words) {
					data = data && !slices.ContainsFunc(words[1:], func(w Word) bool {
						return w.Sure != Literal || (w.Text == "" || w.Text[0] != '-') && !dataFile(w.Text)
					})
				} else {
					data = data && !takesInput(words)
				}
			}
		case *syntax.Redirect:
			if writesFile(n) {
				file = true
				w := ReadWord(n.Word)
				data = data && w.Sure == Literal && dataFile(w.Text)
			}
		case *syntax.DeclClause, *syntax.FuncDecl:
			pure = false
		}
		return pure
	})
	if !pure {
		f.loud = append(f.loud, spanOf(b.X))
	} else if file {
		f.files = append(f.files, spanOf(b.X))
		if !data {
			f.code = append(f.code, spanOf(b.X))
		}
	}
}

// call carries a command that is not pure, or whose output flows on.
func (f *flow) call(n *syntax.CallExpr) {
	words := readWords(n.Args)
	if len(words) == 0 {
		return
	}
	c := &f.w.carried
	for _, a := range n.Assigns { // a variable of this command only
		if a.Value != nil {
			if w := ReadWord(a.Value); w.Sure == Unknown {
				c.unknown = true
			}
		}
	}
	loud, file := within(n, f.loud), within(n, f.files)
	pure := isPure(words)
	if pure {
		fit, _ := LookUp(words)
		f.say(words[1:], fit.Risk != RiskLow)
	}
	switch {
	case pure && !loud && !file:
		for _, a := range n.Args {
			f.quiet = append(f.quiet, spanOf(a))
		}
	case pure:
		f.words(words[1:], loud)
		if !loud {
			c.code(joinTexts(words[1:]), false)
		}
		words := behind(words)
		switch {
		case transforms(words) || slices.ContainsFunc(words[1:], func(w Word) bool {
			return w.Sure == Unknown && w.Pattern && !strings.Contains(path.Base(w.Text), ".")
		}) && !selects[BaseName(words[0].Text)]:
			c.doubt(loud)
		case loud:
			c.retold = c.retold || !repeats[BaseName(words[0].Text)]
		default:
			c.listed = c.listed || !repeats[BaseName(words[0].Text)]
		}
	case Transparent(words) && !loud && !file:
	default:
		if (loud || file) && transforms(behind(words)) {
			c.doubt(loud)
		}
		f.words(words[1:], true) // the name itself is compared as a command's name
		c.names = append(c.names, BaseName(words[0].Text))
	}
	f.name(n, words)
}

// name notes what a command does with files and with the names of commands.
func (f *flow) name(n syntax.Node, words []Word) {
	c := &f.w.carried
	if words[0].Sure == Unknown {
		return // the walk itself is opaque then
	}
	name := BaseName(words[0].Text)
	fit, ok := LookUp(words)
	switch {
	case copies[name]:
		for _, w := range words[1:] {
			if w.Sure == Unknown && (!w.Pattern || strings.HasPrefix(w.Text, "/") || strings.ContainsAny(w.Text, "{}")) {
				c.write()
			}
			c.text(w.Text, false)
			c.moves = c.moves || dataFile(w.Text)
			if base := ProgramName(w.Text); strings.Contains(w.Text, "/") && (CodeReaders[base] || Shells[base]) {
				c.unknown = true
			}
		}
		if slices.ContainsFunc(words, func(w Word) bool { return strings.Contains(w.Text, "bin/") }) {
			c.runAnywhere()
		}
		if !ok || name == "split" && cuts(words[1:], "bCn", "--b", "--line-b", "--n") { // dd conv=lcase, split -b
			c.write()
			c.run()
		}
	case name == "hash" || name == "enable" || name == "alias" || name == "unalias":
		c.unknown = true // names of commands mean something else from here on
	case ok && fit.Write && (name == "sed" || name == "gsed"):
		f.words(words, false)
		c.edits++
		c.pieces = c.pieces || strings.ContainsAny(joinTexts(words), ";\n") || Spells(words, "-e", "--expression")
	case name == "xargs" && HasAny(words[1:], "-I", "-i", "--replace") || name == "xargs" && slices.ContainsFunc(words[1:], func(w Word) bool { return strings.HasPrefix(w.Text, "-I") }):
		c.unknown = c.unknown || !isPure(words) // its input may be anywhere in the commands that it runs
	case name == "chmod":
		if slices.ContainsFunc(words[1:], func(w Word) bool { return strings.Contains(w.Text, "x") || strings.ContainsAny(w.Text, "7531") }) {
			c.runAnywhere()
		}
	case ok && (fit.Risk == RiskMedium && !fit.Write || name == "git" || Fetchers[name]):
		c.build()
	case !ok && !Transparent(words):
		c.run()
		if CodeReaders[ProgramName(words[0].Text)] && !Shells[ProgramName(words[0].Text)] {
			c.interpret()
		}
		if within(n, f.files) || within(n, f.loud) {
			c.write()
		}
		if strings.ContainsFunc(joinTexts(words[1:]), func(r rune) bool { return r == '(' }) {
			c.unknown = true // code in another language
		}
	}
	if readsCode(words) {
		c.unknown = true
	}
	if name == "patch" || name == "git" && Spells(words, "apply", "am") || within(n, f.code) {
		c.moves = c.moves || slices.ContainsFunc(words[1:], func(w Word) bool { return w.Sure == Unknown || dataFile(w.Text) })
	}
	f.sets(name, words)
	c.args = c.args || name == "xargs" && !isPure(words)
	for _, w := range words[1:] {
		if subscript(w) && Evaluates[name] {
			c.unknown = true
		}
	}
}

// behind returns the command behind wrappers: env, nice, command.
func behind(words []Word) []Word {
	for range MaxNest {
		inner, ok := []Word(nil), false
		if BaseName(words[0].Text) == "command" && len(words) > 1 {
			inner, ok = words[1:], true
		} else if fit, known := LookUp(words); known {
			inner, ok = innerOf(words, fit)
		}
		if !ok || len(inner) == 0 {
			break
		}
		words = inner
	}
	return words
}

// copies are the programs that give a file another name or place.
var copies = Names(`cp mv ln install dd link split csplit rsync`)

// repeats are the commands whose output is their words or the files that they name, with a function
// that selects those of their words that the output does not contain.
var (
	repeats = Names(`echo printf cat tee true false :`)
	selects = Names(`grep egrep fgrep rg wc du ls sort uniq`)
)

// say keeps the words of a pure command: another command may print them. stores says that the
// command keeps them: git commit -m, touch.
func (f *flow) say(ws []Word, stores bool) {
	c := &f.w.carried
	if c.said == nil {
		c.said = &carried{budget: c.budget}
	}
	for _, w := range ws {
		c.said.text(w.Text, false)
		c.said.unknown = c.said.unknown || stores && w.Sure == Unknown && !w.Pattern
	}
}

// copiesFiles notes a command that copies, wherever it stands: what it copies, and
// whether the text names it.
func (c *carried) copiesFiles(words []Word) {
	fit, ok := LookUp(words)
	name := BaseName(words[0].Text)
	if !copies[name] && !(ok && fit.Write) {
		return
	}
	for _, w := range words[1:] {
		if copies[name] {
			base := path.Base(w.Text)
			c.copiesAny = c.copiesAny || w.Sure == Unknown && (!w.Pattern || !strings.Contains(base, "."))
			c.copied = append(c.copied, tokensOf(w.Text)...)
		}
	}
}

// sets notes the variables that a builtin sets to what the text does not show, and those
// that programs see.
func (f *flow) sets(name string, words []Word) {
	c := &f.w.carried
	switch name {
	case "printf":
		for i, w := range words[:len(words)-1] {
			if w.Text == "-v" {
				c.doubtVariable(words[i+1].Text)
			}
		}
	case "read", "mapfile", "readarray", "getopts":
		for _, w := range words[1:] {
			if identifier().MatchString(w.Text) {
				c.doubtVariable(w.Text)
			}
		}
	case "set", "shopt":
		c.exports = c.exports || Spells(words, "allexport") || slices.ContainsFunc(words[1:], func(w Word) bool {
			return len(w.Text) > 1 && w.Text[0] == '-' && strings.ContainsRune(w.Text, 'a')
		})
	case "export", "declare", "typeset", "local":
		visible := name == "export"
		for _, w := range words[1:] {
			if option := len(w.Text) > 1 && w.Text[0] == '-'; option {
				visible = visible || strings.ContainsRune(w.Text, 'x')
				c.exports = c.exports || strings.ContainsRune(w.Text, 'n') && name != "export" // another name for a variable
			} else if visible {
				variable, _, _ := strings.Cut(w.Text, "=")
				c.export(variable)
			}
		}
	}
}

// Evaluates are the builtins that run substitutions in a subscript.
var Evaluates = Names(`test [ printf read unset declare typeset local readonly export let wait getopts mapfile readarray`)

func joinTexts(ws []Word) string {
	texts := make([]string, len(ws))
	for i, w := range ws {
		texts[i] = w.Text
	}
	return strings.Join(texts, " ")
}

// assign carries a value, its subscript, and notes variables that change what
// runs.
func (f *flow) assign(a *syntax.Assign) {
	c := &f.w.carried
	f.arithm(a.Index)
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			f.arithm(e.Index)
			if e.Value != nil {
				f.literals([]Word{ReadWord(e.Value)}, true)
			}
		}
	}
	w := Word{Sure: Literal}
	if a.Value != nil {
		w = ReadWord(a.Value)
		f.literals([]Word{w}, true)
	}
	if a.Name == nil {
		return
	}
	if a.Value != nil || a.Array != nil {
		f.w.Assigned = append(f.w.Assigned, Word{Text: a.Name.Value + "=" + w.Text, Sure: w.Sure})
	}
	if w.Sure == Unknown && a.Value != nil || a.Append && a.Array == nil {
		c.doubtVariable(a.Name.Value)
	}
	if changesCommands(a.Name.Value) || w.Sure == Unknown && runsValue().MatchString(a.Name.Value) {
		c.unknown = true
	}
}

// changesCommands names the variables by which another program answers to the
// name of a command, or a file runs before it.
func changesCommands(name string) bool {
	switch name {
	case "PATH", "BASH_ENV", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "CDPATH", "EXECIGNORE":
		return true
	}
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || strings.HasPrefix(name, "BASH_FUNC_")
}

// runsValue are variables whose value some program runs.
var runsValue = pattern(`^(PS[0-9]|PROMPT_COMMAND|SHELL|VISUAL|BROWSER|HOME|XDG_.*|.*(PAGER|EDITOR|COMMAND|CMD|EXEC|OPTIONS|OPTS|FLAGS|SSH|ASKPASS|OPEN)|GIT_.*|PYTHON.*|PERL.*|RUBY.*|NODE_.*|CC|CXX|LD|AR)$`)
