package worker

import (
	"context"
	"errors"
	"slices"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/message"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
)

// steered reports whether the waiting chat has words with which the lead stops the current turn.
// Only the leader's journal decides that, never the text of a file. The caller holds mu.
func (w *Worker) steered(chat []message.Incoming) bool {
	return slices.ContainsFunc(chat, func(in message.Incoming) bool { return w.priority(in.Entry) == record.PriorityInterrupt })
}

// priority is the priority that the leader's journal has for the words of an entry. The caller
// holds mu.
func (w *Worker) priority(entry string) record.Priority {
	if o := w.p.Lead.Spoken(entry); o != nil && o.Instance == w.p.Fold.Instance {
		return o.Words.Priority
	}
	return record.PriorityNormal
}

// hear gives the words that the lead sent by next-tool to an agent that implements agent.Listener.
// If that fails, the next call gives them, or the chat after the turn.
func (h host) hear(ctx context.Context) {
	l, ok := h.w.p.Agent.(agent.Listener)
	if !ok {
		return
	}
	err := h.listen(ctx, l)
	if errors.Is(err, control.ErrUnsaid) || errors.Is(err, errTurnOver) || ctx.Err() != nil {
		err = nil
	}
	h.w.trouble.Note("hear", err, "words for the next tool call could not be given")
}

func (h host) listen(ctx context.Context, l agent.Listener) error {
	w := h.w
	mails, ids, err := h.catch(ctx, false)
	if err != nil || len(mails) == 0 {
		return err
	}
	w.note(protocol.TextForm(mails...))
	return errors.Join(l.Hear(ctx, mails), w.p.Box.MarkRead(ctx, ids...))
}

// catch finds the words for the next tool call, or with chat all words but those that stop the turn,
// and records them as given. Concurrent calls of one turn catch one after another.
func (h host) catch(ctx context.Context, chat bool) (mails []protocol.Mail, ids []mailbox.ID, err error) {
	h.t.catching.Lock()
	defer h.t.catching.Unlock()
	w := h.w
	w.mu.Lock()
	err = w.p.Leader.Refresh(ctx)
	waiting := slices.ContainsFunc(w.p.Lead.Unclosed(w.p.Fold.Instance), func(o *control.Order) bool {
		return o.Words != nil && o.Words.Priority == record.PriorityNextTool && w.p.Fold.Wants(o)
	})
	w.mu.Unlock()
	if err != nil || !waiting && !chat {
		return nil, nil, err
	}
	entries, err := w.p.Box.Entries(ctx)
	if err != nil {
		return nil, nil, err
	}
	var fresh []string
	shown := map[string]bool{} // by hash: one message, with any number of copies
	for _, e := range entries {
		id := e.ID.String()
		if e.Err != nil || w.Standing(id) != poll.New || !h.given(e, chat) {
			continue
		}
		ids, fresh = append(ids, e.ID), append(fresh, id)
		if !shown[e.ID.Hash] {
			shown[e.ID.Hash] = true
			mails = append(mails, mailOf(e.Envelope))
		}
	}
	if len(fresh) == 0 {
		return nil, nil, nil
	}
	// Recorded words count as given: a failed append may have recorded them.
	err = h.reopen(ctx, func() ([]journal.Draft, error) {
		if w.p.Fold.Owns(fresh[0]) {
			return nil, nil
		}
		if err := w.p.Leader.Refresh(ctx); err != nil {
			return nil, err
		}
		return refuse(w.p.Fold.Hear(fresh, w.p.Lead))
	})
	return mails, ids, err
}

// heardBefore returns the messages that an earlier process gave its session in the resumed turn:
// the new session does not have them. They are in the leader's journal, whatever happened to the
// mailbox. The caller holds mu.
func (w *Worker) heardBefore() []protocol.Mail {
	var mails []protocol.Mail
	for _, id := range w.p.Fold.Heard() {
		o := w.p.Lead.Spoken(id)
		if o == nil || w.p.Fold.Copy(id, w.p.Lead) {
			continue
		}
		if env, err := o.Mail.Open(); err == nil {
			mails = append(mails, mailOf(env))
		}
	}
	return mails
}

// given reports words that may be given in the middle of a turn.
func (h host) given(e mailbox.Entry, chat bool) bool {
	id := e.ID.String()
	h.w.mu.Lock()
	p := h.w.priority(id)
	h.w.mu.Unlock()
	if !chat || p != record.PriorityNormal {
		return p == record.PriorityNextTool
	}
	return !message.Incoming{Entry: id, Box: h.w.p.Fold.Name, Envelope: e.Envelope, Decoded: protocol.Decode(e.Envelope)}.IsControl()
}
