package cmdline

import (
	"math"
	"path"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// flow is where what a command prints goes, besides to a person.
type flow struct {
	heard bool // a command that is not pure reads it, or gets it among its words
	file  bool // into a file
	code  bool // and that is one that a build may read
}

func (f flow) and(o flow) flow { return flow{f.heard || o.heard, f.file || o.file, f.code || o.code} }

// each visits commands, and those inside them.
func each(all []Command, visit func(*Command)) {
	for i := range all {
		visit(&all[i])
		if all[i].Inner != nil {
			each(all[i].Inner.Commands, visit)
		}
	}
}

// flowsTo notes where the output of commands goes, and of those inside them.
func flowsTo(all []Command, to flow) {
	each(all, func(c *Command) { c.flow = c.flow.and(to) })
}

// anyTime is behind every statement.
const anyTime = math.MaxInt

// happens notes that commands may run as early as behind one statement and as late as at another, those inside them too.
func happens(all []Command, first, last int) {
	each(all, func(c *Command) { c.first, c.last = min(c.first, first), max(c.last, last) })
}

// stands places the commands of a text that another command runs: they come in any order.
func stands(all []Command, first, last int) {
	each(all, func(c *Command) {
		if c.first = first; c.last != anyTime {
			c.last = last
		}
	})
}

// into is where the input of commands goes.
func into(all []Command) (to flow) {
	for _, c := range all {
		to.heard = to.heard || !c.pure() && !c.Followed
		if len(c.Writes) > 0 {
			to = to.and(flow{file: true, code: !onlyData(c.Writes)})
		}
		if c.Inner != nil {
			to = to.and(into(c.Inner.Commands))
		} else if writesOperands(c.Words) || takesInput(c.Words) {
			to = to.and(flow{file: true, code: takesInput(c.Words) || !onlyData(operandsOf(c.Words))})
		}
	}
	return to
}

// settle notes who owns what was noted while a statement was read, and where the output of the commands in its words
// goes: a pure command prints it.
func (r *reader) settle(from, begin, doubts, given int) {
	n, owner := len(r.Commands), -1
	if n > begin && r.Commands[n-1].From == from && len(r.Commands[n-1].Words) > 0 && r.Commands[n-1].pure() {
		owner = n
		for _, s := range r.inWords[:min(given, len(r.inWords))] {
			flowsTo(r.Commands[s[0]:s[1]], into(r.Commands[n-1:])) // it may write what it is given
		}
	} else {
		r.heard(r.inWords)
	}
	for i := range r.Unclear[doubts:] {
		if u := &r.Unclear[doubts+i]; u.of == 0 {
			u.of = owner
		}
	}
}

func (r *reader) heard(spans [][2]int) {
	for _, s := range spans {
		flowsTo(r.Commands[s[0]:s[1]], flow{heard: true})
	}
}

// function reads what a function does: when is not known, nor with which variables.
func (r *reader) function(n *syntax.FuncDecl) {
	if n.Name == nil {
		r.unclear(n, "a function")
		return
	}
	r.note(n, "a function")
	r.lost = true
	_, known := LookUp([]Word{Lit(n.Name.Value)})
	u := &r.Unclear[len(r.Unclear)-1]
	u.dark = known || KnownProgram(n.Name.Value) || specialCommands[n.Name.Value] != nil // it is another command from here on
	u.text = ""                                                                          // its commands are read
	begin := len(r.Commands)
	r.apart(n.Body)
	happens(r.Commands[begin:], *r.steps, anyTime)
}

// set gives a variable a value.
func (r *reader) set(name string, value Word) {
	r.values[name] = value
	value.Text = name + "=" + value.Text
	r.sets = append(r.sets, value)
}

// pure reports whether a command runs no program that its words name, besides those inside it, which are pure too.
func (c Command) pure() bool {
	switch {
	case len(c.Words) == 0:
		return true
	case c.Inner == nil:
		return isPure(c.Words)
	case len(c.Rest) > 0 && !isPure(c.Rest), len(c.Inner.Unclear) > 0:
		return false
	}
	return !slices.ContainsFunc(c.Inner.Commands, func(in Command) bool { return !in.pure() })
}

// dataExtensions end the names of files that no build runs.
var dataExtensions = Names(`.txt .log .out .diff .patch .md .csv .tsv .html .prof .cover .coverage .pprof .bak .orig
	.gitignore .dockerignore .npmignore .eslintignore .prettierignore`)

func dataFile(name string) bool {
	return dataExtensions[path.Ext(name)] && path.Base(name) != "CMakeLists.txt"
}

// onlyData reports files that no build runs.
func onlyData(files []Word) bool {
	return !slices.ContainsFunc(files, func(w Word) bool { return w.Sure != Literal || !dataFile(w.Text) })
}

// operandsOf are the words of a command behind its name that are no options.
func operandsOf(words []Word) (all []Word) {
	for _, w := range words[1:] {
		if w.Sure != Literal || w.Text == "" || w.Text[0] != '-' {
			all = append(all, w)
		}
	}
	return all
}

// takesInput reports whether a known command may keep what it reads: split, gzip, git commit -F -.
func takesInput(words []Word) bool {
	f, ok := LookUp(words)
	return ok && (f.Write && !writesOperands(words) || f.Risk == RiskMedium && BaseName(words[0].Text) == "git")
}

// writesOperands reports whether a command writes its input into files that its words name: tee, sort -o, cp /dev/stdin.
func writesOperands(words []Word) bool {
	f, ok := LookUp(words)
	if ok && words[0].Text == "git" && Spells(words, "apply", "am") {
		return true
	}
	return ok && (f.Write && (words[0].Text == "tee" || words[0].Text == "patch" || Spells(words, "/dev/stdin", "-")) || len(f.Outs) > 0)
}
