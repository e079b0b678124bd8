package app

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/protocol"
)

// memberWord finds the argument of a usage line that is a member.
var memberWord = regexp.MustCompile(`\b(NAME|MEMBER)\b`)

// idWord finds an argument that is the id of a request or a task, which can have an @ in it.
var idWord = regexp.MustCompile(`\bID\b`)

// MemberAt makes a command take NAME@TEAM where a member is an argument, --as or --for: TEAM is the
// team of the command, as by --team. Two that differ are wrong usage (commands §2). What may be an id or a command, too, is
// a member only where the team has it.
func MemberAt(a *App, cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			args = slices.Clone(args)
			var words []*string
			for i := range memberArguments(cmd, args) {
				words = append(words, &args[i])
			}
			words = append(words, &a.Flags.As)
			member := ""
			f := cmd.Flags().Lookup("for")
			if f != nil {
				member = f.Value.String()
				words = append(words, &member)
			}
			if err := a.takeTeam(cmd, words); err != nil {
				return err
			}
			if f != nil && member != f.Value.String() {
				Must(f.Value.Set(member))
			}
			return run(cmd, args)
		}
	}
}

// memberArguments are the arguments that can be a member, by the usage line; none behind "--".
func memberArguments(cmd *cobra.Command, args []string) []string {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		args = args[:at]
	}
	switch {
	case !memberWord.MatchString(cmd.Use):
		return nil
	case strings.Contains(cmd.Use, "[PROMPT]"):
		return args[:min(1, len(args))]
	}
	return args
}

// takeTeam makes the team of words NAME@TEAM that of the command, and leaves NAME of each. Other words stay as they are.
func (a *App) takeTeam(cmd *cobra.Command, words []*string) error {
	named := cmd.Flags().Changed("team")
	for _, word := range words {
		to, err := protocol.ParseAddress(*word)
		switch {
		case err != nil || to.Scheme != protocol.SchemeMember || to.Team == "":
			continue
		case idWord.MatchString(cmd.Use) && !a.has(cmd.Context(), to):
			continue
		case named && a.Flags.Team != string(to.Team):
			return &operator.Error{Kind: operator.Usage, Op: cmd.CommandPath(), Msg: fmt.Sprintf("%s is not of team %s: a command is about one team", *word, a.Flags.Team)}
		}
		a.Flags.Team, named = string(to.Team), true
		*word = string(to.Member)
	}
	return nil
}

// has reports that a team has a member.
func (a *App) has(ctx context.Context, to protocol.Address) bool {
	op, err := a.Op()
	return err == nil && slices.Contains(inspect.Of(op).PresentIn(ctx, string(to.Member)), string(to.Team))
}
