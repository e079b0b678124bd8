package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waggle/internal/face/cli/app"
	"waggle/internal/pattern"
	"waggle/operator"
	"waggle/team"
)

// helpWidth is the width of help without a terminal.
const helpWidth = 80

// helpBelow gives every command below root the help of commandHelp.
func helpBelow(a *app.App, root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { commandHelp(a, cmd) })
	}
}

// helpCmd is help of a command. That of waggle itself, and of all, is rootHelp.
func helpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | all]",
		Short: "Help about any command",
		Args: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err == nil && cmd.HasSubCommands() {
				err = unknownCommand(cmd, rest)
			}
			if e := (*operator.Error)(nil); cmd == root && errors.As(err, &e) {
				e.Near = append(e.Near, team.Near(args[0], []string{"all"})...)
			}
			return err
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if cmd, _, err := root.Find(args); err == nil {
				for _, c := range cmd.Commands() {
					if c.IsAvailableCommand() {
						names = append(names, c.Name()+"\t"+c.Short)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, _, err := root.Find(args)
			if err != nil {
				return err
			}
			return cmd.Help()
		},
	}
}

// commandHelp prints the help of one command, within the width of the terminal.
func commandHelp(a *app.App, cmd *cobra.Command) {
	width := helpColumns(a)
	sayLines(a, "", reflow(cmp.Or(strings.TrimSpace(cmd.Long), cmd.Short), width))
	a.Say("\n%s", app.Bold("Usage"))
	sayLines(a, "  ", wrap(cmd.UseLine(), width-4))
	if cmd.Example != "" {
		a.Say("\n%s", app.Bold("Examples"))
		a.Say("%s", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		a.Say("\n%s", app.Bold("Commands"))
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				sayRow(a, sub.Name(), sub.Short, width)
			}
		}
	}
	cmd.InitDefaultHelpFlag()
	a.Say("\n%s", app.Bold("Flags"))
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			sayFlag(a, f, width)
		}
	})
	var names []string
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	a.Say("\n%s", app.Bold("Flags of every command"))
	sayLines(a, "  ", wrap(strings.Join(names, " ")+" (waggle help all says what they do)", width-4))
}

// sayFlag prints one flag: its name, the kind of its value, its usage, and its default where that says
// something.
func sayFlag(a *app.App, f *pflag.Flag, width int) {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	kind, usage := pflag.UnquoteUsage(f)
	if kind != "" {
		name += " " + strings.ToUpper(kind)
	}
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
	default:
		if !strings.Contains(usage, "(default") {
			usage += " (default " + f.DefValue + ")"
		}
	}
	sayRow(a, name, strings.ReplaceAll(usage, "\n", " "), width)
}

// reflow wraps the paragraphs and the rows of tables of a text to a width. Other lines that begin with a space stay as they are.
func reflow(text string, width int) (out []string) {
	var paragraph, row string
	end := func() {
		if row != "" {
			out = append(out, indented(row, width)...)
		}
		if paragraph != "" {
			out = append(out, wrap(paragraph, width)...)
		}
		paragraph, row = "", ""
	}
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		switch {
		case l == "":
			end()
			out = append(out, "")
		case spaces(l) > 0 && spaces(l) == len(tableHead().FindString(row)): // goes on with the last cell
			row += " " + strings.TrimLeft(l, " ")
		case strings.HasPrefix(l, " "):
			end()
			row = l
		case paragraph == "":
			end()
			paragraph = l
		case strings.HasSuffix(paragraph, ",") && strings.HasPrefix(l, `"`): // a document's fields
			paragraph += l
		default:
			paragraph += " " + l
		}
	}
	end()
	return out
}

// tableHead is all but the last cell of a row of a table.
var tableHead = pattern.New(`^ +\S(?:.*?\S)?  +`)

// spaces is how many blanks a line begins with.
func spaces(l string) int { return len(l) - len(strings.TrimLeft(l, " ")) }

// indented wraps one line below its own beginning, a row of a table below its last cell where that has room.
func indented(l string, width int) []string {
	if ansi.StringWidth(l) <= width {
		return []string{l}
	}
	head := tableHead().FindString(l)
	lines := wrap(l[len(head):], width-len(head))
	if head == "" || slices.ContainsFunc(lines, func(l string) bool { return ansi.StringWidth(l) > width-len(head) }) {
		head = l[:spaces(l)]
		lines = wrap(l[len(head):], width-len(head))
	}
	for i := range lines {
		lines[i] = head + lines[i]
		head = strings.Repeat(" ", len(head))
	}
	return lines
}

// wrap breaks a text at spaces, and a word that is too long after commas.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && ansi.StringWidth(line)+1+ansi.StringWidth(word) <= width {
			line += " " + word
			continue
		}
		if line != "" && (ansi.StringWidth(word) <= width || !strings.Contains(word, ",")) {
			lines, line = append(lines, line), ""
		} else if line != "" {
			line += " "
		}
		for _, part := range strings.SplitAfter(word, ",") {
			if ansi.StringWidth(line)+ansi.StringWidth(part) > width && strings.TrimSpace(line) != "" {
				lines, line = append(lines, strings.TrimRight(line, " ")), ""
			}
			line += part
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
