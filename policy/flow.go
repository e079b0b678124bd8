package policy

import (
	"math"
	"path"
	"regexp"
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

// pipeEnd is the right side of a pipe: what it writes is written while the left side runs.
type pipeEnd struct {
	first uint
	span
}

// everywhere is the span of a text whose whole output goes on.
var everywhere = span{0, math.MaxUint}

// place notes where the walk is.
func (f *flow) place(n syntax.Node) {
	at := spanOf(n)
	e := &f.w.carried.events
	e.now, e.first, e.late = at.from+2, at.from+2, 0
	for _, l := range f.loops { // what stands behind it in a loop runs before it, too
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

// holds reports whether the other span lies inside this one, or is it.
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
		if _, ok := lookUp([]word{lit(n.Name.Value)}); ok || knownCommands[n.Name.Value] != nil || specialCommands[n.Name.Value] != nil {
			c.unknown = true // a command of the table is another one from here on
		}
	case *syntax.WordIter:
		if slices.ContainsFunc(readWords(n.Items), func(w word) bool { return w.sure == unknown && !w.pattern }) {
			c.doubtVariable(n.Name.Value)
		}
		f.literals(readWords(n.Items), true)
	case *syntax.ParamExp:
		if n.Exp != nil && n.Exp.Word != nil {
			w := readWord(n.Exp.Word)
			f.literals([]word{w}, true)
			if w.sure == unknown && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				c.doubtVariable(n.Param.Value)
			}
		}
		if n.Repl != nil && n.Repl.With != nil {
			f.literals([]word{readWord(n.Repl.With)}, true)
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
			f.literals([]word{readWord(w)}, true)
		}
	case *syntax.BinaryTest:
		for _, x := range []syntax.TestExpr{n.X, n.Y} {
			if w, ok := x.(*syntax.Word); ok && n.Op != syntax.TsReMatch {
				f.literals([]word{readWord(w)}, true)
			}
		}
	}
}

// arithm carries the words of an arithmetic expression: bash evaluates
// subscripts in it, also those in the values of variables.
func (f *flow) arithm(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			f.literals([]word{readWord(w)}, true)
		}
		return true
	})
}

// literals carries words as far as they are known.
func (f *flow) literals(ws []word, loud bool) {
	for _, w := range ws {
		f.w.carried.text(w.text, loud)
	}
}

// words carries the words of a command that is not pure; one that is not known is
// a doubt.
func (f *flow) words(ws []word, loud bool) {
	for _, w := range ws {
		if w.sure == unknown && !w.pattern {
			f.w.carried.doubt(loud)
		}
		if w.pattern && strings.ContainsAny(w.text, "{}") {
			if _, ok := expandBraces(w.text); !ok {
				f.w.carried.doubt(loud)
			}
		}
		f.w.carried.text(w.text, loud)
	}
}

// stmt marks a command whose output goes into a file, and carries its documents.
func (f *flow) stmt(s *syntax.Stmt) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	var words []word
	if ok && len(call.Args) > 0 {
		words = readWords(call.Args)
	}
	reads := false
	for _, r := range s.Redirs {
		if r.Hdoc != nil || r.Op == syntax.WordHdoc {
			reads = true
		}
		if r.Op == syntax.RdrIn { // what is read may be written
			f.reads(readWord(r.Word))
		}
		if writesFile(r) {
			f.files = append(f.files, spanOf(s))
			if w := readWord(r.Word); w.sure != literal || !dataFile(w.text) {
				f.code = append(f.code, spanOf(s))
				f.place(s)
				f.w.carried.put()
			}
			f.w.carried.pieces = true
			if len(words) == 1 && words[0].text == "exec" {
				f.w.carried.unknown = true // what follows writes into the file
			}
		}
	}
	if writesOperands(words) {
		f.files = append(f.files, spanOf(s))
		if slices.ContainsFunc(words[1:], func(w word) bool {
			return w.sure != literal || (w.text == "" || w.text[0] != '-') && !dataFile(w.text)
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
		if !loud && !within(s, f.files) && words[0].text == "git" {
			f.say([]word{documentWord(doc)}, true) // git commit -F -
			continue
		}
		f.words([]word{documentWord(doc)}, loud)
	}
}

// reads carries a file that a command reads by redirection.
func (f *flow) reads(w word) {
	c := &f.w.carried
	if w.sure == unknown {
		c.copiesAny = c.copiesAny || !strings.Contains(path.Base(w.text), ".")
	}
	c.copied = append(c.copied, tokensOf(w.text)...)
	c.moves = c.moves || dataFile(w.text)
}

// dataExtensions end the names of files that no build runs.
var dataExtensions = names(`.txt .log .out .diff .patch .md .csv .tsv .html .prof .cover .coverage .pprof .bak .orig`)

func dataFile(name string) bool { return dataExtensions[path.Ext(name)] }

// takesInput reports whether a known command may keep what it reads: split, gzip,
// git commit -F -.
func takesInput(words []word) bool {
	f, ok := lookUp(words)
	return ok && (f.write || f.risk == RiskMedium && baseName(words[0].text) == "git")
}

// documentWord reads a here-document: brackets and braces mean nothing in it.
func documentWord(w *syntax.Word) word {
	out := word{sure: literal}
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			text, sure := doubleQuoted(p)
			b.WriteString(text)
			out.sure = min(out.sure, sure)
		default:
			out.sure = unknown
		}
	}
	out.text = b.String()
	return out
}

// writesOperands reports whether a command writes what it reads into files that
// its words name: tee, sort -o, cp /dev/stdin.
func writesOperands(words []word) bool {
	if len(words) == 0 {
		return false
	}
	f, ok := lookUp(words)
	if ok && words[0].text == "git" && spells(words, "apply", "am") {
		return true
	}
	return ok && (f.write && (words[0].text == "tee" || words[0].text == "patch" || spells(words, "/dev/stdin", "-")) || len(f.outs) > 0)
}

func writesFile(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.AppClob,
		syntax.RdrAll, syntax.RdrAllClob, syntax.AppAll, syntax.AppAllClob:
		w := readWord(r.Word)
		return w.sure != literal || w.text != "/dev/null" && w.text != "/dev/stdout" && w.text != "/dev/stderr"
	case syntax.DplOut:
		w := readWord(r.Word)
		return w.sure != literal || !standardStream(w.text) && w.text != "-"
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
					data = data && !slices.ContainsFunc(words[1:], func(w word) bool {
						return w.sure != literal || (w.text == "" || w.text[0] != '-') && !dataFile(w.text)
					})
				} else {
					data = data && !takesInput(words)
				}
			}
		case *syntax.Redirect:
			if writesFile(n) {
				file = true
				w := readWord(n.Word)
				data = data && w.sure == literal && dataFile(w.text)
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

// call carries a command that is not pure, or whose output goes on.
func (f *flow) call(n *syntax.CallExpr) {
	words := readWords(n.Args)
	if len(words) == 0 {
		return
	}
	c := &f.w.carried
	for _, a := range n.Assigns { // a variable of this command only
		if a.Value != nil {
			if w := readWord(a.Value); w.sure == unknown {
				c.unknown = true
			}
		}
	}
	loud, file := within(n, f.loud), within(n, f.files)
	pure := isPure(words)
	if pure {
		fit, _ := lookUp(words)
		f.say(words[1:], fit.risk != RiskLow)
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
		case transforms(words) || slices.ContainsFunc(words[1:], func(w word) bool {
			return w.sure == unknown && w.pattern && !strings.Contains(path.Base(w.text), ".")
		}) && !selects[baseName(words[0].text)]:
			c.doubt(loud)
		case loud:
			c.retold = c.retold || !repeats[baseName(words[0].text)]
		default:
			c.listed = c.listed || !repeats[baseName(words[0].text)]
		}
	case transparent(words) && !loud && !file:
	default:
		if (loud || file) && transforms(behind(words)) {
			c.doubt(loud)
		}
		f.words(words[1:], true) // the name itself is compared as a command's name
		c.names = append(c.names, baseName(words[0].text))
	}
	f.name(n, words)
}

// name notes what a command does with files and with the names of commands.
func (f *flow) name(n syntax.Node, words []word) {
	c := &f.w.carried
	if words[0].sure == unknown {
		return // the walk itself is opaque then
	}
	name := baseName(words[0].text)
	fit, ok := lookUp(words)
	switch {
	case copies[name]:
		for _, w := range words[1:] {
			if w.sure == unknown && (!w.pattern || strings.HasPrefix(w.text, "/") || strings.ContainsAny(w.text, "{}")) {
				c.write()
			}
			c.text(w.text, false)
			c.moves = c.moves || dataFile(w.text)
			if base := programName(w.text); strings.Contains(w.text, "/") && (codeReaders[base] || shells[base]) {
				c.unknown = true
			}
		}
		if slices.ContainsFunc(words, func(w word) bool { return strings.Contains(w.text, "bin/") }) {
			c.runAnywhere()
		}
		if !ok || name == "split" && cuts(words[1:], "bCn", "--b", "--line-b", "--n") { // dd conv=lcase, split -b
			c.write()
			c.run()
		}
	case name == "hash" || name == "enable" || name == "alias" || name == "unalias":
		c.unknown = true // names of commands mean something else from here on
	case ok && fit.write && (name == "sed" || name == "gsed"):
		f.words(words, false)
		c.edits++
		c.pieces = c.pieces || strings.ContainsAny(joinTexts(words), ";\n") || spells(words, "-e", "--expression")
	case name == "xargs" && hasAny(words[1:], "-I", "-i", "--replace") || name == "xargs" && slices.ContainsFunc(words[1:], func(w word) bool { return strings.HasPrefix(w.text, "-I") }):
		c.unknown = c.unknown || !isPure(words) // its input stands anywhere in what it runs
	case name == "chmod":
		if slices.ContainsFunc(words[1:], func(w word) bool { return strings.Contains(w.text, "x") || strings.ContainsAny(w.text, "7531") }) {
			c.runAnywhere()
		}
	case ok && (fit.risk == RiskMedium && !fit.write || name == "git" || fetchers[name]):
		c.build()
	case !ok && !transparent(words):
		c.run()
		if codeReaders[programName(words[0].text)] && !shells[programName(words[0].text)] {
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
	if name == "patch" || name == "git" && spells(words, "apply", "am") || within(n, f.code) {
		c.moves = c.moves || slices.ContainsFunc(words[1:], func(w word) bool { return w.sure == unknown || dataFile(w.text) })
	}
	f.sets(name, words)
	c.args = c.args || name == "xargs" && !isPure(words)
	for _, w := range words[1:] {
		if subscript(w) && evaluates[name] {
			c.unknown = true
		}
	}
}

// behind returns the command behind wrappers: env, nice, command.
func behind(words []word) []word {
	for range maxNest {
		inner, ok := []word(nil), false
		if baseName(words[0].text) == "command" && len(words) > 1 {
			inner, ok = words[1:], true
		} else if fit, known := lookUp(words); known {
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
var copies = names(`cp mv ln install dd link split csplit rsync`)

// repeats are the commands whose output is their words or the files that they name, and
// selects those of whose words the output holds nothing.
var (
	repeats = names(`echo printf cat tee true false :`)
	selects = names(`grep egrep fgrep rg wc du ls sort uniq`)
)

// say keeps the words of a pure command: another command may print them. stores says that
// the command keeps them: git commit -m, touch.
func (f *flow) say(ws []word, stores bool) {
	c := &f.w.carried
	if c.said == nil {
		c.said = &carried{budget: c.budget}
	}
	for _, w := range ws {
		c.said.text(w.text, false)
		c.said.unknown = c.said.unknown || stores && w.sure == unknown && !w.pattern
	}
}

// copiesFiles notes a command that copies, wherever it stands: what it copies, and
// whether the text names it.
func (c *carried) copiesFiles(words []word) {
	fit, ok := lookUp(words)
	name := baseName(words[0].text)
	if !copies[name] && !(ok && fit.write) {
		return
	}
	for _, w := range words[1:] {
		if copies[name] {
			base := path.Base(w.text)
			c.copiesAny = c.copiesAny || w.sure == unknown && (!w.pattern || !strings.Contains(base, "."))
			c.copied = append(c.copied, tokensOf(w.text)...)
		}
	}
}

// sets notes the variables that a builtin sets to what the text does not show, and those
// that programs see.
func (f *flow) sets(name string, words []word) {
	c := &f.w.carried
	switch name {
	case "printf":
		for i, w := range words[:len(words)-1] {
			if w.text == "-v" {
				c.doubtVariable(words[i+1].text)
			}
		}
	case "read", "mapfile", "readarray", "getopts":
		for _, w := range words[1:] {
			if identifier.MatchString(w.text) {
				c.doubtVariable(w.text)
			}
		}
	case "set", "shopt":
		c.exports = c.exports || spells(words, "allexport") || slices.ContainsFunc(words[1:], func(w word) bool {
			return len(w.text) > 1 && w.text[0] == '-' && strings.ContainsRune(w.text, 'a')
		})
	case "export", "declare", "typeset", "local":
		visible := name == "export"
		for _, w := range words[1:] {
			if option := len(w.text) > 1 && w.text[0] == '-'; option {
				visible = visible || strings.ContainsRune(w.text, 'x')
				c.exports = c.exports || strings.ContainsRune(w.text, 'n') && name != "export" // another name for a variable
			} else if visible {
				variable, _, _ := strings.Cut(w.text, "=")
				c.export(variable)
			}
		}
	}
}

// evaluates are the builtins that run substitutions in a subscript.
var evaluates = names(`test [ printf read unset declare typeset local readonly export let wait getopts mapfile readarray`)

func joinTexts(ws []word) string {
	texts := make([]string, len(ws))
	for i, w := range ws {
		texts[i] = w.text
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
				f.literals([]word{readWord(e.Value)}, true)
			}
		}
	}
	w := word{sure: literal}
	if a.Value != nil {
		w = readWord(a.Value)
		f.literals([]word{w}, true)
	}
	if a.Name == nil {
		return
	}
	if a.Value != nil || a.Array != nil {
		f.w.assigned = append(f.w.assigned, word{text: a.Name.Value + "=" + w.text, sure: w.sure})
	}
	if w.sure == unknown && a.Value != nil || a.Append && a.Array == nil {
		c.doubtVariable(a.Name.Value)
	}
	if changesCommands(a.Name.Value) || w.sure == unknown && runsValue.MatchString(a.Name.Value) {
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
var runsValue = regexp.MustCompile(`^(PS[0-9]|PROMPT_COMMAND|SHELL|VISUAL|BROWSER|HOME|XDG_.*|.*(PAGER|EDITOR|COMMAND|CMD|EXEC|OPTIONS|OPTS|FLAGS|SSH|ASKPASS|OPEN)|GIT_.*|PYTHON.*|PERL.*|RUBY.*|NODE_.*|CC|CXX|LD|AR)$`)
