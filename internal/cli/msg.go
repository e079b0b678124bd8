package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/operator/mail"
)

func msgCmd(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "msg", Short: "Messages that were sent, and what became of them", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(msgShowCmd(a), msgListCmd(a), msgWithdrawCmd(a))
	return cmd
}

const states = `
queued        on record with its sender, not in the mailbox yet
written       in the recipient's mailbox
held          there, and the recipient cannot take it now
delivered     the recipient's session was given it
acknowledged  it had its effect: that turn has ended, the order was obeyed, the
              question was answered
refused       the recipient's journal says that it has no effect
expired       nobody took or answered it in time
withdrawn     its sender took it back
superseded    a newer one took its place
dead-letter   nobody will take it: its recipient has ended, or it was erased
erased        another program took it out of the mailbox before its reader had it
failed        it could not be put into the mailbox`

func msgShowCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a message whole, with its delivery states",
		Long: `Show a message whole, by its msg_id, or by the beginning of one or of its id, with its
delivery states: each with its time, and the record or the mailbox that shows it. A
message that another program erased is shown from the journal. The record of a message
to a session, which is in no team, has the state and a hash of the text.
` + states,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.TeamPast()
			var msgs []mail.StoredMessage
			if err == nil {
				msgs, err = mail.Of(op).Message(cmd.Context(), name, args[0])
			}
			if err != nil {
				said, serr := mail.Of(op).Said(args[0])
				if len(said) == 0 {
					return errors.Join(err, serr)
				}
				return a.Give(view.Said(said), view.SaidPage(said))
			}
			var p view.Page
			for _, m := range msgs {
				p = append(p, view.MessagePage(m)...)
			}
			return a.Give(view.Messages(msgs), p)
		},
	}
}

func msgListCmd(a *app.App) *cobra.Command {
	var all bool
	var state string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the messages that were sent, with their states",
		Long: `List the messages that their senders recorded, oldest first, with the state of each.
--all adds the control messages.
` + states,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return msgList(cmd.Context(), a, all, mail.Delivery(state))
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "control messages too")
	cmd.Flags().StringVar(&state, "state", "", "only messages in this state")
	return cmd
}

func msgList(ctx context.Context, a *app.App, all bool, state mail.Delivery) error {
	op, name, err := a.TeamPast()
	if err != nil {
		return err
	}
	found, err := mail.Of(op).Messages(ctx, name, all)
	if err != nil {
		return err
	}
	msgs := slices.DeleteFunc(found, func(m mail.StoredMessage) bool { return state != "" && m.State != state })
	if len(msgs) == 0 && !a.Flags.JSON {
		a.Talk("no such messages in team %s", name)
		return nil
	}
	return a.Give(view.Messages(msgs), view.MessagesPage(msgs))
}

func msgWithdrawCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "withdraw ID",
		Short: "Withdraw a message that was not taken yet",
		Long: `Withdraw a message, by the msg_id that send printed or its beginning. A message that the
member has taken already is an error (6); else the member never takes it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			r, err := mail.Of(op).Withdraw(cmd.Context(), name, args[0])
			if err != nil {
				return err
			}
			return saySent(a, []mail.Sent{r})
		},
	}
}
