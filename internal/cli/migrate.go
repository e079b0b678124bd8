package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"waggle/mailbox"
	"waggle/operator"
)

// layoutFlag is --layout of create and migrate.
func layoutFlag(cmd *cobra.Command, value *string, preset, usage string) {
	cmd.Flags().StringVar(value, "layout", preset, usage+": array (what Claude Code reads) or jsonl")
	_ = cmd.RegisterFlagCompletionFunc("layout", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{mailbox.Array.String(), mailbox.JSONL.String()}, cobra.ShellCompDirectiveNoFileComp
	})
}

func parseLayout(op, s string) (mailbox.Layout, error) {
	l, err := mailbox.ParseLayout(s)
	if err != nil {
		return l, &operator.Error{Code: operator.CodeUsage, Op: op, Err: err}
	}
	return l, nil
}

func teamMigrateCmd(a *App) *cobra.Command {
	var layout string
	cmd := &cobra.Command{
		Use:   "migrate TEAM --layout array|jsonl",
		Short: "Move a team's mailboxes to another layout",
		Long: `Move a team's mailboxes between a JSON array (inboxes/NAME.json) and lines
(mailbox/NAME.jsonl), while its members go on. Messages of a member in both are put
together. If it is interrupted, the same command finishes it; nothing is lost.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := parseLayout("team migrate", layout)
			if err != nil {
				return err
			}
			op, name, err := a.teamArg(args)
			if err != nil {
				return err
			}
			m, err := op.Migrate(cmd.Context(), name, to)
			if err != nil {
				return err
			}
			for _, n := range m.Notes {
				a.talk("%s %s", yellow("note:"), operator.Visible(n))
			}
			switch {
			case a.flags.json:
				return a.document(m)
			case m.Changed:
				a.say("the mailboxes of %s are in the layout %s: %s", bold(m.Team), m.Layout, strings.Join(m.Members, ", "))
			default:
				a.say("the mailboxes of %s are in the layout %s already", bold(m.Team), m.Layout)
			}
			return nil
		},
	}
	layoutFlag(cmd, &layout, "", "the layout to move to")
	_ = cmd.MarkFlagRequired("layout")
	return cmd
}
