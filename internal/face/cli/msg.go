package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
)

func msgCmd(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "msg", Short: "The messages that were sent, and their delivery states"}
	cmd.AddCommand(msgShowCmd(a), msgListCmd(a), msgWithdrawCmd(a))
	return cmd
}

const states = `
  queued        in its sender's journal, not in the mailbox yet
  written       in the recipient's mailbox
  held          in the mailbox, and the recipient cannot take it now
  delivered     in the recipient's session
  acknowledged  it had its effect: that turn has ended, the order was applied, the
                request was answered
  refused       the recipient's journal says that it has no effect
  expired       it was not taken or answered in time
  withdrawn     its sender withdrew it
  superseded    a newer message replaced it
  dead-letter   it will not be taken: its recipient has ended, or it was erased
  erased        another program removed it from the mailbox before its reader had it
  failed        it could not be written to the mailbox`

func msgShowCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a message whole, with its delivery states",
		Long: `Show a message whole, by its msg_id or its id, which may be shortened, with its delivery
states: each with its time, and the record or the mailbox that shows it. A message that
another program erased is shown from the journal. The record of a message to a session,
which is in no team, has the state and a hash of the text.

--json: {"messages":[{"to","from","msg_id","state","since","ahead","priority","entry",
"raw","states":[{"state","at","evidence","detail"}]}]}; of a message to a session "said".
A journal that is broken is named in "problems", as by audit verify, and is exit 1.
` + states,
		RunE: func(cmd *cobra.Command, args []string) error {
			missing := a.EachTeam(cmd.Context(), a.TeamPast, func(op operator.Operator, name protocol.TeamName) (app.Output, error) {
				msgs, broken := mail.Of(op).Message(cmd.Context(), name, args[0])
				if msgs == nil {
					return app.Output{}, broken
				}
				var p page.Page
				for _, m := range msgs {
					p = append(p, view.MessagePage(m, a.Clock())...)
				}
				return app.Output{Doc: view.Messages(msgs, broken), Page: p}, broken
			})
			if missing == nil {
				return nil
			}
			op, err := a.Op()
			if err != nil {
				return errors.Join(missing, err)
			}
			said, err := mail.Of(op).Said(args[0])
			if len(said) == 0 {
				return errors.Join(missing, err)
			}
			return a.Give(view.SaidDocument{Said: said}, view.SaidPage(said, a.Clock()))
		},
	}
}

func msgListCmd(a *app.App) *cobra.Command {
	var all bool
	var delivery string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the messages that were sent, with their states",
		Long: `List the messages that their senders recorded, oldest first, with the state of each.
--all adds the control messages. --json is as for msg show.
` + states,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if old := mail.Delivery(a.Flags.State); delivery == "" && slices.Contains(mail.Deliveries(), old) {
				delivery, a.Flags.State = string(old), "" // the flag's older spelling
			}
			return msgList(cmd.Context(), a, all, mail.Delivery(delivery))
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also control messages")
	cmd.Flags().StringVar(&delivery, "delivery", "", "only messages in this state, such as held or dead-letter")
	return cmd
}

func msgList(ctx context.Context, a *app.App, all bool, state mail.Delivery) error {
	if all := mail.Deliveries(); state != "" && !slices.Contains(all, state) {
		return &operator.Error{Kind: operator.Usage, Op: "msg list", Msg: fmt.Sprintf("no message is ever %q", state), Near: protocol.Strings(all)}
	}
	return a.EachTeam(ctx, a.TeamPast, func(op operator.Operator, name protocol.TeamName) (app.Output, error) {
		found, broken := mail.Of(op).Messages(ctx, name, all)
		if found == nil {
			return app.Output{}, broken
		}
		msgs := slices.DeleteFunc(found, func(m mail.StoredMessage) bool { return state != "" && m.State != state })
		return app.Output{Doc: view.Messages(msgs, broken), Page: view.MessagesPage(msgs, a.Clock()), None: "no such messages"}, broken
	})
}

func msgWithdrawCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "withdraw ID",
		Aliases: []string{"rm"},
		Short:   "Withdraw a message that was not taken yet",
		Long: `Withdraw a message, by the msg_id that send printed, which may be shortened. The member
never takes it then. Exit 6 when the member has taken the message already.`,
		RunE: app.InTeam(a.Team, func(ctx context.Context, op operator.Operator, name protocol.TeamName, args []string) error {
			r, err := mail.Of(op).Withdraw(ctx, name, args[0])
			if err != nil {
				return err
			}
			return saySent(a, []mail.Sent{r})
		}),
	}
}
