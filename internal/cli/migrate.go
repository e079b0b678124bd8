package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/teams"
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
		return l, &operator.Error{Kind: operator.Usage, Op: op, Err: err}
	}
	return l, nil
}

func teamMigrateCmd(a *App) *cobra.Command {
	var layout string
	var dry bool
	cmd := &cobra.Command{
		Use:   "migrate TEAM [--layout array|jsonl]",
		Short: "Bring a team's files to the newest version, or its mailboxes to another layout",
		Long: `Bring a team's files to the newest version of their format, step by step: each step
is numbered, changes what it finds to change, and writes its version into the
registry. --dry-run says what the steps would do.

With --layout, move a team's mailboxes between a JSON array (inboxes/NAME.json) and
lines (mailbox/NAME.jsonl), while its members go on. Messages of a member in both are
put together.

If either is interrupted, the same command finishes it; nothing is lost.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			if layout != "" && dry {
				return &operator.Error{Kind: operator.Usage, Op: "team migrate", Msg: "--dry-run is for the versions; it does not go with --layout"}
			}
			op, name, err := a.teamArg(args)
			if err != nil {
				return err
			}
			if layout == "" {
				m, err := teams.Of(op).MigrateSchema(cmd.Context(), name, dry)
				if err != nil {
					return err
				}
				return a.sayMigratedSchema(m)
			}
			to, err := parseLayout("team migrate", layout)
			if err != nil {
				return err
			}
			m, err := teams.Of(op).Migrate(cmd.Context(), name, to)
			if err != nil {
				return err
			}
			return a.sayMigrated(m)
		},
	}
	layoutFlag(cmd, &layout, "", "the layout to move the mailboxes to")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "change nothing, say what would be")
	return cmd
}

func (a *App) sayMigrated(m *teams.Migrated) error {
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
}

func (a *App) sayMigratedSchema(m *teams.MigratedSchema) error {
	if a.flags.json {
		return a.document(m)
	}
	for _, s := range m.Steps {
		a.say("%d  %s  %s", s.Number, s.Version, s.What)
		for _, c := range s.Changes {
			a.say("     %s", operator.Visible(c))
		}
	}
	switch {
	case len(m.Steps) == 0:
		a.say("team %s has version %s already", bold(m.Team), m.To)
	case m.DryRun:
		a.talk("nothing was changed: without --dry-run team %s would have version %s", m.Team, m.To)
	default:
		a.say("team %s has version %s", bold(m.Team), m.To)
	}
	return nil
}
