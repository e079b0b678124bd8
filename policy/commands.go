package policy

import (
	"slices"

	"waggle/internal/cmdline"
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
	found := q.carries().Commands
	if typed := q.typed(); typed != nil {
		found = slices.Concat(found, typed.Commands)
	}
	var out []Command
	for _, c := range found {
		if len(c) > 0 && c[0].Sure == cmdline.Literal && c[0].Text != "" {
			out = append(out, Command{Name: c[0].Text, Script: scriptOf(c)})
		}
	}
	return out
}

// scriptOf is the script that an interpreter is given as its first operand.
func scriptOf(c []cmdline.Word) string {
	name, args := cmdline.ProgramName(c[0].Text), c[1:]
	options, known := cmdline.CodeOptions[name]
	if options == nil && known { // sed, awk: their first operand is no file
		return ""
	}
	switch {
	case cmdline.Shells[name]:
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
		case a.Sure != cmdline.Literal, a.Text == "-", a.Text == "-m", cmdline.HasAny(args[i:i+1], options...):
			return ""
		case a.Text == "-o" || a.Text == "-O" || a.Text == "-W" || a.Text == "-X" || a.Text == "-r" || a.Text == "--require":
			i++ // its value
		case a.Text != "" && a.Text[0] != '-' && a.Text[0] != '+':
			return a.Text
		}
	}
	return ""
}
