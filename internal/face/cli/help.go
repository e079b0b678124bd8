package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/team"
)

// helpGroup is a group of commands in the help of waggle itself: those of the first screen, and the
// others.
type helpGroup struct {
	title       string
	first, more []string
}

// helpGroups are the groups in their order. The first screen has at most fifteen commands. A command that no
// group has is in the last one.
var helpGroups = []helpGroup{
	{"Start work", []string{"new", "init", "run", "up"}, []string{"demo", "resume", "spawn", "guest", "join", "adopt", "mcp"}},
	{"See", []string{"status", "top", "peek"}, []string{"why", "logs", "log", "inbox", "recap", "attach", "wait", "budget", "audit"}},
	{"Answer", []string{"pending", "approve", "deny"}, []string{"show", "answer", "plan", "net", "policy", "mode", "undo"}},
	{"Steer", []string{"send", "task"}, []string{"take", "msg", "detach"}},
	{"Results", []string{"diff", "merge"}, []string{"compare", "review", "pr", "path", "open", "shell"}},
	{"End, set up", []string{"down"}, []string{"stop", "repair", "gc", "team", "hooks", "doctor", "sandbox", "serve", "bridge", "skill", "protocol", "bench", "completion", "version", "uninstall", "help"}},
}

// rootHelp reports whether a command line asks for the help of waggle itself, and whether for that of
// all commands.
func rootHelp(root *cobra.Command, args []string) (asked, all bool) {
	var words []string
	for _, arg := range args {
		switch {
		case arg == "--":
			return false, false
		case arg == "-h" || arg == "--help":
			asked = true
		case !strings.HasPrefix(arg, "-"):
			words = append(words, arg)
		}
	}
	switch {
	case slices.Equal(words, []string{"help"}):
		return true, false
	case slices.Equal(words, []string{"help", "all"}):
		return true, true
	}
	cmd, _, err := root.Find(args)
	return asked && err == nil && cmd == root, false
}

// sayHelp prints the help of waggle itself, within the width of the terminal.
func sayHelp(a *app.App, root *cobra.Command, all bool) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	width := helpColumns(a)
	faint := func(text string) {
		for _, l := range wrap(text, width) {
			a.Say("%s", app.Faint(l))
		}
	}
	a.Say("%s\n\n%s", root.Short, app.Bold("waggle [COMMAND] [FLAGS]"))
	if !all {
		faint("without a command: what needs you, failed, works and is ready; on a terminal the full screen (--plain: as lines)")
	}
	for i, g := range helpGroups {
		names := g.first
		if all {
			names = slices.Concat(g.first, g.more)
		}
		if all && i == len(helpGroups)-1 {
			names = append(names, unlisted(root)...)
		}
		sayGroup(a, root, g.title, names, width)
	}
	if !all {
		a.Say("")
		faint("waggle help all: every command, flag and exit code; waggle COMMAND --help: one")
		return
	}
	a.Say("\n%s", app.Bold("Flags of every command"))
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		sayRow(a, name, f.Usage, width)
	})
	sayLines(a, "", codeLines(width))
	a.Say("")
	sayLines(a, "", reflow(transitions, width))
}

// sayLines prints lines, each behind before.
func sayLines(a *app.App, before string, lines []string) {
	for _, l := range lines {
		a.Say("%s%s", before, l)
	}
}

// codeLines are the exit codes in two columns, or in one where they are too wide.
func codeLines(width int) (lines []string) {
	lines = strings.Split(strings.TrimRight(exitCodes, "\n"), "\n")
	if !slices.ContainsFunc(lines, func(l string) bool { return len(l) > width }) {
		return lines
	}
	var second []string
	for i, l := range lines {
		if len(l) > secondCode {
			lines[i], second = strings.TrimRight(l[:secondCode], " "), append(second, l[secondCode:])
		}
	}
	return append(lines, second...)
}

// secondCode is where the second column of the exit codes begins.
const secondCode = 29

// helpColumns is how wide help is: as the terminal, as $COLUMNS says without one, else helpWidth.
func helpColumns(a *app.App) int {
	n, err := strconv.Atoi(a.Env("COLUMNS"))
	if err != nil || n < narrowest {
		n = helpWidth
	}
	return cmp.Or(app.Width(a.Out), n)
}

// narrowest is the least number of columns that COLUMNS is believed.
const narrowest = 40

// unlisted are the visible commands that no group has.
func unlisted(root *cobra.Command) (names []string) {
	for _, c := range root.Commands() {
		has := func(g helpGroup) bool { return slices.Contains(g.first, c.Name()) || slices.Contains(g.more, c.Name()) }
		if !c.Hidden && !slices.ContainsFunc(helpGroups, has) {
			names = append(names, c.Name())
		}
	}
	return names
}

func sayGroup(a *app.App, root *cobra.Command, title string, names []string, width int) {
	a.Say("\n%s", app.Bold(title))
	for _, n := range names {
		cmd, _, err := root.Find([]string{n})
		if err != nil || cmd == root || cmd.Hidden {
			continue
		}
		sayRow(a, n, cmd.Short, width)
	}
}

// nameColumn is the width of the names in the help.
const nameColumn = 12

func sayRow(a *app.App, name, text string, width int) {
	lines := []string{text}
	if left := width - nameColumn - 4; width > 0 && left > 20 {
		lines = wrap(text, left)
	}
	if len(name) > nameColumn {
		a.Say("  %s", name)
		name = ""
	}
	for i, l := range lines {
		head := ""
		if i == 0 {
			head = name
		}
		a.Say("  %s  %s", fmt.Sprintf("%-*s", nameColumn, head), l)
	}
}

// unknownCommand refuses words behind a command that has subcommands and takes no words, with near
// names.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return &operator.Error{Kind: operator.Usage, Op: cmd.CommandPath(), Msg: fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath()),
		Near: team.Near(args[0], names), Advice: cmd.CommandPath() + " --help"}
}

// flagError adds near names to the error of an unknown flag.
func flagError(cmd *cobra.Command, err error) error {
	e := &operator.Error{Kind: operator.Usage, Op: cmd.CommandPath(), Err: err, Advice: cmd.CommandPath() + " --help"}
	if strings.Contains(cmd.Use, " -- COMMAND") {
		e.Advice = "usage: " + cmd.UseLine()
	}
	word, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return e
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	e.Near = team.Near("--"+word, names)
	for _, meant := range otherWords[word] {
		switch {
		case !strings.HasPrefix(meant, "--"):
			if strings.Contains(cmd.Use, meant) {
				e.Advice = meant + " is an argument: " + cmd.UseLine()
			}
		case slices.Contains(names, meant):
			e.Near = []string{meant}
		}
	}
	return e
}

// otherWords are the words of flags of other programs, and what they are called here: a flag, or the argument as the use
// line has it.
var otherWords = map[string][]string{
	"dry-run": {"--plan"}, "expires": {"--until"}, "ttl": {"--until"}, "mode": {"--permission-mode"}, "scope": {"--for"}, "description": {"--instructions"},
	"prompt": {"--instructions"}, "plan": {"--require-plan"}, "member": {"NAME"}, "name": {"NAME"}, "agent": {"NAME"}, "of": {"NAME"}, "group": {"GROUP"},
}
