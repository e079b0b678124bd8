package worker

import (
	"context"
	"slices"
	"time"

	"waggle/control"
	"waggle/mailbox"
	"waggle/protocol"
)

// unheard is a message that is in the lead's mailbox and not yet in the lead's journal. A program
// that writes without the lock may remove it before the lead has read it, and only its sender can
// notice.
type unheard struct {
	seq  uint64
	kind protocol.Kind
	env  protocol.Envelope
	id   string
	look time.Time     // time of the next check
	wait time.Duration // time between the checks after that
}

// lastWait is the longest time between two checks.
const lastWait = time.Minute

// keepEye remembers a message to the lead, so that resend checks it. The caller holds sending.
func (w *Worker) keepEye(s control.Sending, env protocol.Envelope) {
	if s.Mail.To != protocol.Lead || w.p.LeadPrunes {
		return
	}
	wait := 3 * w.p.Overdue
	w.unheard = append(w.unheard, unheard{uint64(s.Seq), s.Mail.Kind, env, mailbox.ID{Hash: mailbox.HashOf(env), Occurrence: 1}.String(),
		w.p.Minter.Now().Add(wait), wait})
}

// resend sends messages again that have disappeared from the lead's mailbox and that the lead has
// not read, and logs it.
func (w *Worker) resend(ctx context.Context) {
	w.sending.Lock()
	defer w.sending.Unlock()
	w.forget()
	now := w.p.Minter.Now()
	var due []protocol.Envelope
	for _, u := range w.unheard {
		if !now.Before(u.look) {
			due = append(due, u.env)
		}
	}
	if len(due) == 0 {
		return
	}
	gone, err := mailbox.Missing(ctx, w.p.LeadBox, due...)
	if err == nil && len(gone) > 0 {
		// The lead may have read it, and its mailbox been cleared, since this pass
		// looked at its journal.
		w.mu.Lock()
		err = w.p.Leader.Refresh(ctx)
		w.mu.Unlock()
		w.forget()
	}
	for i := range w.unheard {
		u := &w.unheard[i]
		if err != nil || now.Before(u.look) {
			continue
		}
		if slices.ContainsFunc(gone, u.env.Equal) {
			if err = mailbox.AppendOnce(ctx, w.p.LeadBox, u.env); err != nil {
				continue
			}
			w.p.Log.Warn("a message to the lead was taken out of its mailbox before the lead had read it, by a program that writes without the lock: sent again",
				"kind", u.kind, "seq", u.seq)
			u.wait = min(2*u.wait, lastWait)
		}
		u.look = now.Add(u.wait)
	}
	w.trouble.Note("resend", err, "cannot check whether the lead's mailbox still has the sent messages, will retry")
}

// forget drops the messages that the lead has read. The caller holds sending.
func (w *Worker) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unheard = slices.DeleteFunc(w.unheard, func(u unheard) bool { return w.p.Lead.Owns(u.id) })
}
