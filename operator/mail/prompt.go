package mail

import (
	"context"
	"strings"

	"waggle/mailbox"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
)

// Attach formats the unread entries of an inbox as one message for an agent (protocol §6.3), and
// removes all others from the inbox: MarkRead then marks exactly those. It leaves out the entries
// that the machine of a member of waggle takes by itself. The text is empty when nothing is unread.
func (o Operator) Attach(ctx context.Context, in *Inbox) (string, error) {
	machine, err := o.hasMachine(ctx, in)
	if err != nil {
		return "", err
	}
	var kept []InboxEntry
	var unread []mailbox.Entry
	doubted := map[mailbox.ID]bool{}
	for _, e := range in.Entries {
		if e.Entry.Err != nil || e.Read || machine && Controls(e) {
			continue
		}
		kept, unread = append(kept, e), append(unread, e.Entry)
		for _, w := range e.Warnings {
			doubted[e.Entry.ID] = doubted[e.Entry.ID] || strings.HasPrefix(w, unverifiedWarning)
		}
	}
	in.Entries = kept
	return mailbox.PromptOf(unread, func(e mailbox.Entry) bool { return doubted[e.ID] }).Text, nil
}

// hasMachine reports whether a program of waggle takes the control messages of this mailbox.
func (o Operator) hasMachine(ctx context.Context, in *Inbox) (bool, error) {
	s, err := o.Open(ctx, protocol.TeamName(in.Team), operator.Act)
	if operator.Unled(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if in.Member == string(protocol.Lead) {
		return true, nil
	}
	m, ok := s.Lead.Member(protocol.MemberName(in.Member))
	return ok && m.Left == nil && m.Trust != record.FileTrust, nil
}
