package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waggle/operator"
	"waggle/operator/mail"
)

func msgCmd(a *App) *cobra.Command {
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

func msgShowCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a message whole, and what became of it",
		Long: `Show a message whole, by its msg_id, or by the beginning of one or of its id, and
what became of it: each state with its time, and the record or the mailbox that shows
it. A message that another program erased is shown from the record. Of words to a
session, which is in no team, the record has the state and a hash of the text.
` + states,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.teamPast()
			var msgs []mail.StoredMessage
			if err == nil {
				msgs, err = mail.Of(op).Message(cmd.Context(), name, args[0])
			}
			if err != nil {
				said, serr := mail.Of(op).Said(args[0])
				if len(said) == 0 {
					return errors.Join(err, serr)
				}
				return a.saySaid(said)
			}
			if a.flags.json {
				return a.document(map[string]any{"messages": msgs})
			}
			for _, m := range msgs {
				a.sayMessage(m)
			}
			return nil
		},
	}
}

// saySaid shows what became of words to sessions.
func (a *App) saySaid(said []mail.SaidMessage) error {
	if a.flags.json {
		return a.document(map[string]any{"messages": []mail.StoredMessage{}, "said": said})
	}
	for _, s := range said {
		a.say("%s to session %s (%s)", bold(s.MsgID), s.Session, operator.Visible(s.Socket))
		a.say("  from %s, %d bytes, sha256 %s", operator.Visible(s.From), s.Bytes, s.SHA256)
		a.say("  %s  %s  %s", faint(s.At), green(string(s.State)), operator.Visible(s.Detail))
	}
	return nil
}

func msgListCmd(a *App) *cobra.Command {
	var all bool
	var state string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the words that were sent, with their states",
		Long: `List the words that are on record with their senders, oldest first, with the state
of each. --all adds the control messages.
` + states,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.msgList(cmd.Context(), all, mail.Delivery(state))
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "control messages too")
	cmd.Flags().StringVar(&state, "state", "", "only messages in this state")
	return cmd
}

func (a *App) msgList(ctx context.Context, all bool, state mail.Delivery) error {
	op, name, err := a.teamPast()
	if err != nil {
		return err
	}
	found, err := mail.Of(op).Messages(ctx, name, all)
	if err != nil {
		return err
	}
	msgs, rows := []mail.StoredMessage{}, [][]string{}
	for _, m := range found {
		if state != "" && m.State != state {
			continue
		}
		msgs = append(msgs, m)
		waits := ""
		if m.Ahead > 0 {
			waits = strconv.Itoa(m.Ahead) + " ahead"
		}
		what := m.Entry.Summary
		if what == "" {
			what = m.Entry.Kind
		}
		rows = append(rows, []string{m.MsgID, m.From, m.To, string(m.State), m.Since, waits, what})
	}
	if a.flags.json {
		return a.document(map[string]any{"messages": msgs})
	}
	if len(rows) == 0 {
		a.talk("no such messages in team %s", name)
		return nil
	}
	a.table([]string{"ID", "FROM", "TO", "STATE", "SINCE", "", "SUMMARY"}, rows)
	return nil
}

func msgWithdrawCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "withdraw ID",
		Short: "Take back words that nobody has taken",
		Long: `Take back words, by the msg_id that send printed or its beginning. Once the member
has taken them it is too late, which is said (exit 6); else it never will.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.team()
			if err != nil {
				return err
			}
			r, err := mail.Of(op).Withdraw(cmd.Context(), name, args[0])
			if err != nil {
				return err
			}
			return a.saySent([]mail.Sent{r})
		},
	}
}

func (a *App) sayMessage(m mail.StoredMessage) {
	head := string(m.State)
	if m.Priority != "normal" {
		head += ", " + m.Priority
	}
	if m.Ahead > 0 {
		head += ", " + strconv.Itoa(m.Ahead) + " unread ahead of it"
	}
	a.say("%s %s  %s  %s", bold("to"), m.To, green(head), faint(m.Entry.ID))
	a.sayEntry(m.Entry)
	for _, s := range m.States {
		at := s.At
		if at == "" {
			at = strings.Repeat(" ", len("2006-01-02T15:04:05.000Z"))
		}
		detail := ""
		if s.Detail != "" {
			detail = operator.Visible(s.Detail) + "  "
		}
		a.say("  %s  %-12s  %s%s", faint(operator.Visible(at)), s.State, detail, faint(operator.Visible(s.Evidence)))
	}
	a.say("  %s %s", faint("raw"), operator.VisibleLines(strings.TrimSpace(string(m.Raw))))
}
