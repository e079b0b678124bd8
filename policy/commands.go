package policy

import (
	"slices"
)

// Command is a command that a shell text may run and whose name is known before it runs.
type Command struct {
	Name string
	// Script is the file that an interpreter is told to run, "" when it is none, or is
	// told otherwise.
	Script string
}

// Commands lists the commands of a Bash call whose names are literal, in order, also
// those behind wrappers, in sh -c, and in what a shell reads on its standard input.
func Commands(c Call) []Command {
	q, err := newQuestion(c)
	if err != nil || !q.hasText {
		return nil
	}
	s := q.walked()
	found := s.commands
	if q.stdin != "" && readerOf(s) == inputIsShell {
		found = append(slices.Clip(found), walk(q.stdin).commands...)
	}
	var out []Command
	for _, c := range found {
		if len(c) == 0 || c[0].sure != literal || c[0].text == "" {
			continue
		}
		out = append(out, Command{Name: c[0].text, Script: scriptOf(c)})
	}
	return out
}

// scriptOf is the script that an interpreter is given as its first operand.
func scriptOf(c []word) string {
	name, args := programName(c[0].text), c[1:]
	options, known := codeOptions[name]
	if options == nil && known { // sed, awk: their first operand is no file
		return ""
	}
	switch {
	case shells[name]:
		options, known = []string{"-c", "-s"}, true
	case name == "source", name == ".":
		options, known = nil, true
	}
	if !known {
		return ""
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.sure != literal, a.text == "-", a.text == "-m", hasAny(args[i:i+1], options...):
			return ""
		case a.text == "-o" || a.text == "-O" || a.text == "-W" || a.text == "-X" || a.text == "-r" || a.text == "--require":
			i++ // its value
		case a.text != "" && a.text[0] != '-' && a.text[0] != '+':
			return a.text
		}
	}
	return ""
}
