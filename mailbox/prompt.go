package mailbox

import (
	"context"

	"waggle/protocol"
)

// Prompt is unread mail as one message for an agent's session, with the ids of its entries: mark
// them once the session has taken the text. Text is "" when nothing is unread.
type Prompt struct {
	Text string
	IDs  []ID
}

// ReadPrompt formats the unread entries of a mailbox as Claude Code formats a teammate's mail
// (protocol §6.3): one block per entry, in file order. It marks nothing. Control messages appear as
// their JSON text; an entry that cannot be read is left out.
//
//	p, err := mailbox.ReadPrompt(ctx, box)
//	… give p.Text to the session …
//	err = box.MarkRead(ctx, p.IDs...)
func ReadPrompt(ctx context.Context, s Store) (Prompt, error) {
	unread, err := s.Unread(ctx)
	if err != nil {
		return Prompt{}, err
	}
	return PromptOf(unread, nil), nil
}

// PromptOf is ReadPrompt for entries that were read already. unverified, when it is not nil,
// reports entries in the lead's name without a matching journal record: the text marks them.
func PromptOf(entries []Entry, unverified func(Entry) bool) Prompt {
	var p Prompt
	var mails []protocol.Mail
	for _, e := range entries {
		if e.Err != nil || e.Envelope.Read {
			continue
		}
		p.IDs = append(p.IDs, e.ID)
		mails = append(mails, protocol.Mail{From: e.Envelope.From, Color: e.Envelope.Color, Summary: e.Envelope.Summary, Text: e.Envelope.Text,
			Unverified: unverified != nil && unverified(e)})
	}
	p.Text = protocol.TextForm(mails...)
	return p
}
