package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"waggle/operator"
)

func auditAcknowledgeCmd(a *App) *cobra.Command {
	var seq uint64
	cmd := &cobra.Command{
		Use:   "acknowledge --seq N",
		Short: "Say that you have looked where the journals disagree, so that deciding goes on",
		Long: `When a member has taken an answer or an order that the leader's journal does not have,
nothing is decided any more until you have looked: a journal was changed or put back.
Without --seq this shows the divergence and exits 3; --seq N acknowledges that one. What
the journals hold stays as it is. --json: {"team","seq","member","leader_seq","why",
"acknowledged"}.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			op, name, err := a.team()
			if err != nil {
				return err
			}
			var d *operator.Divergence
			if seq == 0 {
				d, err = op.Divergence(cmd.Context(), name)
			} else {
				d, err = op.Acknowledge(cmd.Context(), name, seq)
			}
			if err != nil {
				return err
			}
			if d == nil {
				return &operator.Error{Code: operator.CodeNotFound, Op: "acknowledge", Msg: "the journals agree: there is nothing to acknowledge"}
			}
			if a.flags.json {
				if err := a.document(d); err != nil {
					return err
				}
			} else {
				a.say("seq %d: %s", d.Seq, operator.Visible(d.Why))
			}
			if d.Lifted {
				a.talk("acknowledged: deciding goes on")
				return nil
			}
			a.talk("%s waggle audit verify, then waggle audit acknowledge --seq %s", faint("next:"), strconv.FormatUint(d.Seq, 10))
			return exitError(operator.CodeQuestion)
		},
	}
	cmd.Flags().Uint64Var(&seq, "seq", 0, "of the divergence that you have looked at")
	return cmd
}
