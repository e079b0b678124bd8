package cmdline

import (
	"slices"
	"strings"
)

// open finds the command behind a wrapper.
func (r *reader) open(c *Command) {
	words := c.Words
	if texts, ok := LiteralWords(words); ok {
		if text, shell := ShellText(texts); shell {
			inner := r.inner().read(text)
			c.Inner = &inner
			return
		}
	}
	name := words[0].Text
	if systemPath(name) {
		name = BaseName(name)
	}
	var assigns []Word
	var inner []Word
	switch {
	case name == "find":
		c.Rest, inner = findRun(words)
	case name == "command" && len(words) > 1 && !words[1].is("-v") && !words[1].is("-V"), name == "exec" && len(words) > 1:
		if inner = words[1:]; inner[0].is("--") {
			inner = inner[1:]
		}
	default:
		f, ok := LookUp(words)
		if !ok || f.Inner == 0 {
			return
		}
		if inner = words[f.Inner:]; name == "env" {
			assigns = words[1:f.Inner]
		} else if name == "xargs" {
			if !plainXargs(words[1:f.Inner]) {
				return
			}
			inner = r.fill(words[1:f.Inner], inner)
		}
	}
	if len(inner) == 0 || inner[0].Sure != Literal || inner[0].Text == "" || inner[0].Text[0] == '-' || strings.Contains(inner[0].Text, "=") ||
		slices.ContainsFunc(assigns, func(w Word) bool { return w.Sure != Literal || !isAssignment(w.Text) }) {
		c.Rest = nil
		return
	}
	in := Command{From: c.From, To: c.To, Words: inner, Assigns: assigns, Dirs: c.Dirs, After: c.After, Document: c.Document, Input: c.Input, Piped: c.Piped || name == "xargs", Moved: c.Moved,
		first: c.first, last: c.last}
	if r.depth > MaxNest {
		return
	}
	sub := r.inner()
	sub.piped, sub.fed = c.Piped, r.fed
	sub.open(&in)
	sub.Commands = append(sub.Commands, in)
	c.Inner = &sub.Reading
}

// plainXargs reports options of xargs that all of them read alike: no file to read from, and one mark at most.
func plainXargs(options []Word) bool {
	marks, others := 0, 0
	for i := 0; i < len(options); i++ {
		switch o := options[i].Text; {
		case options[i].Sure != Literal:
			return false
		case o == "-I":
			marks++
			i++
		case strings.HasPrefix(o, "-I"):
			marks++
		case o == "-0" || o == "-r" || o == "-t" || o == "-x" || o == "--null" || o == "--no-run-if-empty":
		case o == "-n" || o == "-L" || o == "-P" || o == "-d":
			others++
			i++
		case countOption().MatchString(o):
			others++
		default:
			return false
		}
	}
	return marks == 0 || marks == 1 && others == 0
}

var countOption = Pattern(`^-[nLP][0-9]+$`)

// fill is the command that xargs runs, with what it reads in place.
func (r *reader) fill(options, command []Word) []Word {
	read := outputOf(r.fed.lines() || r.fed.zero && HasAny(options, "-0", "--null"), r.fed)
	for i, o := range options {
		if mark, ok := strings.CutPrefix(o.Text, "-I"); ok {
			if mark == "" && i+1 == len(options) {
				return nil // the value of another option
			} else if mark == "" {
				mark = options[i+1].Text
			}
			return placed(command, mark, read)
		}
	}
	read.Split = true
	return append(slices.Clone(command), read)
}

// placed puts a word in the place of a mark within the words of a command; nil where that may make another command of it.
func placed(command []Word, mark string, read Word) []Word {
	command = slices.Clone(command)
	for i, w := range command {
		switch {
		case !strings.Contains(w.Text, mark):
		case i == 0 || strings.HasPrefix(w.Text, "-"):
			return nil
		case w.is(mark):
			command[i] = read
		default:
			command[i] = Word{Text: w.Text, Output: true, Joined: true}
		}
	}
	return command
}

// findRun cuts find into what it selects and the one command that it runs.
func findRun(words []Word) (rest, command []Word) {
	for i, w := range words {
		if !slices.Contains(findRuns, w.Text) {
			continue
		}
		if !w.is("-exec") {
			return nil, nil // it asks, or runs in another directory
		}
		end := i + 1
		for end < len(words) && !words[end].is(";") && !words[end].is("+") {
			end++
		}
		if _, ok := LiteralWords(words[i+1 : end]); !ok || end != len(words)-1 {
			return nil, nil // a word may be several, or more follows
		}
		return words[:i], placed(words[i+1:end], "{}", Word{Text: likeOf(words[:i]), Output: true, Below: true})
	}
	return nil, nil
}

// outputOf is a word that is one of the names, or any output.
func outputOf(isName bool, n names) Word {
	if !isName {
		return Word{Output: true}
	}
	return Word{Text: n.like, Output: true, Below: true, Cut: !n.zero}
}
