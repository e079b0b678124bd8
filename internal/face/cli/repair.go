package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/repair"
	"waggle/operator/supervise"
	"waggle/protocol"
)

func repairCmd(a *app.App) *cobra.Command {
	var seq uint64
	cmd := &cobra.Command{
		Use:   "repair [TEAM|NAME]",
		Short: "Show what is damaged in a team's journals, and let the team continue",
		Long: `A journal is broken when a byte was changed or a line is missing. Journals disagree when
a member has applied an answer or an order that the leader's journal does not have. Until
you acknowledge the damage, or restore the file, the team decides nothing. Without --seq
this command shows the damage and exits 3; --seq N acknowledges it.

A broken journal of the leader: the command ends every process of the team, keeps the
journal unchanged in another file, and begins a new one with the records before the
break. Members become new instances without grants or orders, no rule allows anything
until you set the policy again (waggle policy), open requests are closed, and tasks are
released and not assigned again. waggle resume starts the members.

A broken journal of member NAME: the member is ended and started as a new
instance; its journal is kept. Its tasks are released.

Journals that disagree: decisions are possible again; the journals' records stay.

An unfinished last line, which a killed process or a full disk leaves, needs no repair:
the next writer cuts it off.

--json: {"team","journal","member","file","line","seq","why","readable_records",
"lost_records","lost_bytes","lost_sha256","kept","members","dropped","acknowledged"}; of
journals that disagree {"team","seq","member","leader_seq","why","acknowledged"}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, member, err := damaged(a, args)
			if err != nil {
				return err
			}
			var d *repair.Damage
			if seq == 0 {
				d, err = repair.Of(op).Look(cmd.Context(), name, member)
			} else {
				d, err = repair.Of(op).Repair(cmd.Context(), name, member, seq, supervise.LeadOptions{Note: a.SayNote})
			}
			if d == nil {
				return err
			}
			if werr := showDamage(a, name, d); werr != nil || err != nil {
				return cmp.Or(werr, err)
			}
			return sayRepaired(a, name, d)
		},
	}
	cmd.Flags().Uint64Var(&seq, "seq", 0, "seq of the damage that you acknowledge")
	return cmd
}

// damaged reads an argument that names a team, or else a member of the team that --team, the directory or the only team
// says. A team that is damaged cannot tell whether it has the member.
func damaged(a *app.App, args []string) (op operator.Operator, team protocol.TeamName, member string, err error) {
	op, team, member, noTeam, err := a.TeamOr(args)
	if a.Flags.Team == "" && operator.KindOf(err) == operator.NotFound {
		err = noTeam
	}
	return op, team, member, err
}

func showDamage(a *app.App, team protocol.TeamName, d *repair.Damage) error {
	switch {
	case d.Broken != nil:
		return a.Give(d.Broken, view.BrokenPage(d.Broken))
	case a.Flags.JSON:
		return a.Document(d.Divergence)
	}
	a.ShowPage(view.DivergencePage(d.Divergence), team, nil)
	return nil
}

// sayRepaired says what is next, and exits with ExitQuestion while nothing is acknowledged.
func sayRepaired(a *app.App, team protocol.TeamName, d *repair.Damage) error {
	next := app.Faint("next:")
	switch b := d.Broken; {
	case b == nil && d.Divergence.Lifted:
		a.Talk("acknowledged: deciding goes on")
	case b == nil:
		a.Talk("%s waggle audit verify, then waggle repair %s --seq %d", next, team, d.Divergence.Seq)
	case b.Acknowledged && b.Member == "":
		a.Talk("acknowledged: %s waggle resume %s starts the members, waggle policy list --team %s says what is allowed now", next, team, team)
	case b.Acknowledged:
		a.Talk("acknowledged: %s is started anew; %s waggle task list --team %s shows what was given back", b.Member, next, team)
	case b.Readable == 0 && b.Member == "":
		a.Talk("%s put the file back, or waggle down --force %s: there is no record to go on from", next, team)
	case b.Member == "":
		a.Talk("%s put the file back, or waggle repair %s --seq %d goes on without these lines", next, team, b.Seq)
	default:
		a.Talk("%s put the file back, or waggle repair %s --team %s --seq %d goes on without these lines", next, b.Member, team, b.Seq)
	}
	if d.Acknowledged() {
		return nil
	}
	return app.ExitError(app.ExitQuestion)
}
