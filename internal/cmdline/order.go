package cmdline

import (
	"path"
	"slices"
	"strings"
)

// event notes when a step runs a program, and what it writes.
func (c *Carried) event(s step) {
	words := s.Words
	for _, a := range s.Assigns {
		if AssignmentRisk(a) != RiskLow {
			c.run(s.last, s.at) // it may be what it runs
			c.run(s.last, 0)
		}
	}
	for _, w := range s.Reads { // the file may be written too
		c.moves = c.moves || dataFile(w.Text)
	}
	if len(words) == 0 && s.flow.code && slices.ContainsFunc(tokensOf(s.Input), dataFile) {
		c.moves = true
	}
	if len(s.Writes) > 0 {
		c.pieces = true
		if !onlyData(s.Writes) {
			c.wrote = min(c.wrote, s.first)
		}
	}
	c.makes = c.makes || !s.isPure && strings.Contains(joinTexts(words), "make") || s.name == "make" || s.name == "gmake"
	if len(words) == 0 {
		return
	}
	if writesOperands(words) && !onlyData(operandsOf(words)) {
		c.wrote = min(c.wrote, s.first)
	}
	c.moves = c.moves || c.mayMove(s)
	if s.flow.file && (waits().MatchString(joinTexts(words)) || waits().MatchString(s.Input)) {
		c.run(anyTime, 0) // a text that starts what runs on
	}
	switch {
	case s.name == "chmod" && slices.ContainsFunc(words[1:], func(w Word) bool { return strings.Contains(w.Text, "x") || strings.ContainsAny(w.Text, "7531") }),
		copies[s.name] && slices.ContainsFunc(words, func(w Word) bool { return strings.Contains(w.Text, "bin/") }):
		c.run(anyTime, 0) // a file becomes a program
	case s.name == "trap":
		c.run(anyTime, 0)
		c.built = anyTime
	case stays[s.name], !s.isPure && slices.ContainsFunc(words, func(w Word) bool { return slices.Contains(tokensOf(w.Text), "setsid") }):
		c.run(anyTime, s.at)
	case !s.isPure && (s.name == "export" || s.name == "declare" || s.name == "typeset") && strings.ContainsAny(joinTexts(words), "/.|!;"):
		c.run(anyTime, 0) // a variable may be what a program runs
	case !s.isPure && s.listed && s.fit.Risk == RiskMedium && !s.fit.Write: // go run
		c.built = max(c.built, s.last)
	case !s.isPure:
		c.run(s.last, s.at)
		if slices.ContainsFunc(words, func(w Word) bool { return slices.ContainsFunc(tokensOf(w.Text), isInterpreter) }) {
			c.interprets = max(c.interprets, s.last)
		}
	case s.fit.Risk == RiskMedium && !s.fit.Write || s.name == "git" || fetchers[s.name]:
		c.built = max(c.built, s.last)
	}
}

// mayMove reports a step by which a file of data may become one that a build reads.
func (c *Carried) mayMove(s step) bool {
	switch {
	case copies[s.name], s.name == "git" && Spells(s.Words, "mv", "apply", "am"), s.name == "patch":
		return slices.ContainsFunc(s.Words[1:], func(w Word) bool {
			return dataFile(w.Text) || w.Sure == Unknown && (!copies[s.name] || strings.ContainsAny(path.Ext(w.Text), "*?["))
		})
	case s.flow.code, writesOperands(s.Words) && !onlyData(operandsOf(s.Words)):
		return EffectOf(s.Words).Tree || s.name == "tar" || slices.ContainsFunc(tokensOf(s.Input), dataFile) ||
			slices.ContainsFunc(s.Words[1:], func(w Word) bool { return w.Sure == Unknown || slices.ContainsFunc(tokensOf(w.Text), dataFile) })
	}
	return false
}

// waits is a command in the background.
var waits = Pattern(`[^&>]&([^&>0-9]|$)`)

// run notes when a program runs, of the step at a place; 0: of none.
func (c *Carried) run(last, at int) {
	if last > c.ran || c.ranBy == 0 && last >= c.ran {
		c.ranElse, c.ran, c.ranBy = max(c.ranElse, c.ran), last, at
	} else if at != c.ranBy {
		c.ranElse = max(c.ranElse, last)
	}
}

// later is when another program runs than that of a step.
func (c *Carried) later(s step) int {
	if c.ranBy == s.at {
		return c.ranElse
	}
	return c.ran
}

// stays are programs that start others, which run on.
var stays = Names(`setsid at batch daemonize systemd-run screen tmux start-stop-daemon`)

func isInterpreter(name string) bool {
	return CodeReaders[ProgramName(name)] && !Shells[ProgramName(name)]
}

// runs reports whether a file that is written by a step may run, or be read by a build, later.
func (c *Carried) runs(s step, code bool) bool {
	return s.first < c.later(s) || (code || c.moves) && s.first < c.built
}
