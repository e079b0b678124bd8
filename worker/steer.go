package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waggle"
	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/poll"
)

// steered reports whether chat that waits has words by which the lead stops the
// turn that runs. Only the leader's journal says so: a text in a file never does.
// The caller holds mu.
func (w *Worker) steered(chat []control.Incoming) bool {
	return slices.ContainsFunc(chat, func(in control.Incoming) bool { return w.priority(in.Entry) == control.PriorityInterrupt })
}

// priority is what the leader's journal says of the words of an entry. The caller
// holds mu.
func (w *Worker) priority(entry string) control.Priority {
	if o := w.p.Lead.Spoken(entry); o != nil && o.Instance == w.p.Fold.Instance {
		return o.Words.Priority
	}
	return control.PriorityNormal
}

// hear gives an agent that listens the words that the lead sent by next-tool. What
// cannot be given now is given with the next call, or as chat when the turn is over.
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
	mails, ids, err := h.catch(ctx)
	if err != nil || len(mails) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(w.p.Output, waggle.TextForm(mails...)); err != nil {
		w.p.Log.Warn("output.log", "err", err)
	}
	return errors.Join(l.Hear(ctx, mails), w.p.Box.MarkRead(ctx, ids...))
}

// catch finds what is to be heard and puts it on record. Calls of one turn that are
// asked at the same time catch one after another.
func (h host) catch(ctx context.Context) (mails []waggle.Mail, ids []mailbox.ID, err error) {
	h.t.catching.Lock()
	defer h.t.catching.Unlock()
	w := h.w
	w.mu.Lock()
	err = w.p.Leader.Refresh(ctx)
	waiting := slices.ContainsFunc(w.p.Lead.Unclosed(w.p.Fold.Instance), func(o *control.Order) bool {
		return o.Words != nil && o.Words.Priority == control.PriorityNextTool && w.p.Fold.Wants(o)
	})
	w.mu.Unlock()
	if err != nil || !waiting {
		return nil, nil, err
	}
	entries, err := w.p.Box.Entries(ctx)
	if err != nil {
		return nil, nil, err
	}
	var fresh []string
	shown := map[string]bool{} // by hash: said once, however many copies there are
	for _, e := range entries {
		id := e.ID.String()
		if e.Err != nil || w.Standing(id) != poll.New || !h.nextTool(id) {
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
	// What is on record is given: the try that failed may have left it there.
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

// heardBefore is what an earlier process gave its session in the turn that is taken
// up: the one that follows has not heard it. It is in the leader's journal,
// whatever became of the mailbox. The caller holds mu.
func (w *Worker) heardBefore() []waggle.Mail {
	var mails []waggle.Mail
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

func (h host) nextTool(entry string) bool {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	return h.w.priority(entry) == control.PriorityNextTool
}
