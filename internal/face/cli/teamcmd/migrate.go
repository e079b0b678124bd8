package teamcmd

import (
	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/teams"
)

// layoutFlag adds --layout for create and migrate.
func layoutFlag(cmd *cobra.Command, value *string, preset, usage string) {
	cmd.Flags().StringVar(value, "layout", preset, usage+": array (what Claude Code reads) or jsonl")
	app.OneOf(cmd, "layout", mailbox.Array.String(), mailbox.JSONL.String())
}

func teamMigrateCmd(a *app.App) *cobra.Command {
	var layout string
	var dry bool
	cmd := &cobra.Command{
		Use:   "migrate TEAM [--layout array|jsonl]",
		Short: "Bring a team's files to the newest version, or its mailboxes to another layout",
		Long: `Bring a team's files to the newest version of their format, step by step. The steps have
numbers; each changes the files that need it, and writes its version into the registry.
--plan shows the steps and changes nothing.

With --layout, move a team's mailboxes between a JSON array (inboxes/NAME.json) and
lines (mailbox/NAME.jsonl). The team must be down: a team of which a process runs is
refused (exit 8), and none is started meanwhile. The command merges the mailboxes of
a member that has both.

If either is interrupted, the same command finishes it, a change of layout also the next
process that leads the team; nothing is lost.

--json with --layout: {"team","layout","changed","members","notes"}.`,
		RunE: a.TeamArg(func(cmd *cobra.Command, _ []string) error {
			if layout != "" && dry {
				return &operator.Error{Kind: operator.Usage, Op: "team migrate", Msg: "--plan is for the versions; it does not go with --layout"}
			}
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			if layout == "" {
				m, err := teams.Of(op).MigrateSchema(cmd.Context(), name, dry)
				if err != nil {
					return err
				}
				return a.Give(m, view.MigratedSchemaPage(m), func() {
					if m.DryRun && len(m.Steps) > 0 {
						a.Talk("nothing was changed: without --plan team %s would have version %s", m.Team, m.To)
					}
				})
			}
			to, err := mailbox.ParseLayout(layout)
			if err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "team migrate", Err: err}
			}
			m, err := teams.Of(op).Migrate(cmd.Context(), name, to)
			if err != nil {
				return err
			}
			a.Notes(m.Notes)
			return a.Give(m, view.MigratedPage(m))
		}),
	}
	layoutFlag(cmd, &layout, "", "the layout to move the mailboxes to")
	app.PlanFlag(cmd, &dry, "show the steps, and change nothing")
	return cmd
}
