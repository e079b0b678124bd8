package decidecmd

import (
	"strconv"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/operator/supervise"
)

func auditAcknowledgeCmd(a *app.App) *cobra.Command {
	var seq uint64
	var member string
	cmd := &cobra.Command{
		Use:   "acknowledge [NAME] --seq N",
		Short: "Acknowledge a broken journal, or journals that disagree, so that the team continues",
		Long: `A journal is broken when a byte was changed or a line is missing. Journals disagree when
a member has applied an answer or an order that the leader's journal does not have. Until
you acknowledge the problem, or restore the file, the team decides nothing. Without --seq
this command shows the problem and exits 3; --seq N acknowledges it.

A broken journal of the leader: the command ends every process of the team, keeps the
journal unchanged in another file, and begins a new one with the records before the
break. Members become new instances without grants or orders, no rule allows anything
until you set the policy again (waggle policy), open requests are closed, and tasks are
released and not assigned again. waggle resume starts the members.

A broken journal of member NAME: the member is ended and started as a new
instance; its journal is kept. Its tasks are released.

Journals that disagree: decisions are possible again; the journals' records stay.

--json: {"team","journal","member","file","line","seq","why","readable_records",
"lost_records","lost_bytes","lost_sha256","kept","members","dropped","acknowledged"}; of
journals that disagree {"team","seq","member","leader_seq","why","acknowledged"}.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				member = args[0]
			}
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			b, err := process.Of(op).Break(cmd.Context(), name, member)
			if err != nil {
				return err
			}
			if b != nil {
				return acknowledgeBreak(a, cmd, op, name, b, member, seq)
			}
			if member != "" {
				return &operator.Error{Kind: operator.NotFound, Op: "acknowledge", Msg: "the journal of " + member + " is whole, or no present member has that name: there is nothing to acknowledge"}
			}
			var d *decide.Divergence
			if seq == 0 {
				d, err = decide.Of(op).Divergence(cmd.Context(), name)
			} else {
				d, err = decide.Of(op).Acknowledge(cmd.Context(), name, seq)
			}
			if err != nil {
				return err
			}
			if d == nil {
				return &operator.Error{Kind: operator.NotFound, Op: "acknowledge", Msg: "the journals are whole and agree: there is nothing to acknowledge"}
			}
			if a.Flags.JSON {
				if err := a.Document(d); err != nil {
					return err
				}
			} else {
				a.ShowPage(view.DivergencePage(d), name, nil)
			}
			if d.Lifted {
				a.Talk("acknowledged: deciding goes on")
				return nil
			}
			a.Talk("%s waggle audit verify, then waggle audit acknowledge --seq %s", app.Faint("next:"), strconv.FormatUint(d.Seq, 10))
			return app.ExitError(app.ExitQuestion)
		},
	}
	cmd.Flags().Uint64Var(&seq, "seq", 0, "seq of the break or of the divergence that you acknowledge")
	return cmd
}

// acknowledgeBreak shows a broken journal, and lets the team or the member continue when seq names
// the break.
func acknowledgeBreak(a *app.App, cmd *cobra.Command, op operator.Operator, name waggle.TeamName, b *process.Broken, member string, seq uint64) (err error) {
	switch {
	case seq == 0:
	case b.Member == "":
		b, err = supervise.Of(op).AcknowledgeBreak(cmd.Context(), name, seq, a.SayNote)
	case member == "":
		return &operator.Error{Kind: operator.Usage, Op: "acknowledge", Msg: "the broken journal is that of " + b.Member,
			Advice: "waggle audit acknowledge --team " + string(name) + " " + b.Member + " --seq " + strconv.FormatUint(b.Seq, 10)}
	default:
		b, err = supervise.Of(op).AcknowledgeMember(cmd.Context(), name, member, seq, supervise.LeadOptions{Note: a.SayNote})
	}
	if b == nil {
		return err
	}
	if werr := a.Give(b, view.BrokenPage(b)); werr != nil {
		return werr
	}
	switch {
	case err != nil:
		return err
	case b.Acknowledged && b.Member == "":
		a.Talk("acknowledged: %s waggle resume %s starts the members, waggle policy list --team %s says what is allowed now", app.Faint("next:"), name, name)
	case b.Acknowledged:
		a.Talk("acknowledged: %s is started anew; %s waggle task list --team %s shows what was given back", b.Member, app.Faint("next:"), name)
	case b.Readable == 0 && b.Member == "":
		a.Talk("%s put the file back, or waggle down --force %s: there is no record to go on from", app.Faint("next:"), name)
		return app.ExitError(app.ExitQuestion)
	default:
		of := ""
		if b.Member != "" {
			of = " " + b.Member
		}
		a.Talk("%s put the file back, or waggle audit acknowledge --team %s%s --seq %d goes on without these lines", app.Faint("next:"), name, of, b.Seq)
		return app.ExitError(app.ExitQuestion)
	}
	return nil
}
