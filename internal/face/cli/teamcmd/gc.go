package teamcmd

import (
	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/protocol"
)

func Gc(a *app.App) *cobra.Command {
	var yes, dry bool
	cmd := &cobra.Command{
		Use:   "gc [TEAM]",
		Short: "List what teams have left behind; end and remove it with --yes",
		Long: `List what teams have left behind: processes of members that have left or whose team has
ended, commands whose worker is dead, terminals and panes of processes that are gone,
hand-overs that no process takes, dead sockets, clean worktrees, and mail that was written
to a team after its end, which is archived; without a team also the journals of sessions
that ended over 30 days ago. Without --yes the command changes nothing. With it, it ends
or removes the listed items, each after another check, and the items that only those
needed. Exit 1 when an item could not be ended, and when processes run for a team whose
journal cannot be read; those are kept and listed.

The command touches only what waggle has started and recorded, identified by pid and start
time, never by name. It keeps an interrupted team, which waggle resume can continue, and
lists it with the reason; also a process that has a member's mark in its environment and
runs below one without. When a member's process has died, a child of its commands that
both cleared its environment and left its process group cannot be found any more: the
last line names such members.

--json: {"found":[{"kind","team","member","pid","start","argv","path","why","done",
"error"}],"kept":[{"kind","team","member","path","why"}],"unseen":[{"team","member"}],
"living"}. kind is process, command, holder, pane, record, hand-over, socket, worktree,
mail or session, and team for a team that is kept.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if yes && dry {
				return &operator.Error{Kind: operator.Usage, Op: "gc", Msg: "--yes and --plan are opposites"}
			}
			op, err := a.Op()
			if err != nil {
				return err
			}
			var name protocol.TeamName
			if of := a.Flags.Team; of != "" || len(args) > 0 {
				if len(args) > 0 {
					of = args[0]
				}
				if name, err = protocol.ParseTeam(of); err != nil {
					return &operator.Error{Kind: operator.Usage, Op: "gc", Err: err}
				}
			}
			c, err := process.Of(op).GC(cmd.Context(), name, yes)
			if err != nil {
				return err
			}
			return sayCollected(a, c, yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "end and remove the listed items")
	app.PlanFlag(cmd, &dry, "list it and change nothing, as without flags")
	return cmd
}

func sayCollected(a *app.App, c *process.Collected, acted bool) error {
	var failed error
	if n := c.Undone(); acted && n > 0 {
		failed = app.ExitError(app.ExitFailed)
		a.Talk("%d could not be ended or removed", n)
	}
	if c.Living > 0 {
		failed = app.ExitError(app.ExitFailed)
		a.Talk("%d processes run for a team whose journal cannot be read", c.Living)
	}
	if err := a.Give(c, view.CollectedPage(c, acted, app.StepText)); err != nil {
		return err
	}
	if a.Flags.JSON {
		return failed
	}
	switch {
	case len(c.Found) == 0 && c.Living > 0:
	case len(c.Found)+len(c.Kept) == 0:
		a.Talk("nothing is left behind")
	case len(c.Found) == 0:
		a.Talk("nothing to remove, %d kept with what is in them", len(c.Kept))
	case !acted:
		a.Talk("nothing was changed; waggle gc --yes ends and removes these")
	}
	a.Tell(view.UnseenPage(c.Unseen), "")
	return failed
}
