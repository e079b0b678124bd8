package control

import (
	"fmt"

	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/record"
)

// takenBackText is why a member closes a request whose answer was taken back.
const takenBackText = "its answer was taken back, and it is asked again"

// TakeBack drafts that the operator takes the answer to a request back. peer is its member's journal. An answer that
// is not the operator's, that has started something, or that waggle cannot call back, is refused with a
// *RefusedError. What its member starts in the meantime counts: SpentBy says it afterwards.
func (l *Leader) TakeBack(r *Request, peer *Worker) ([]journal.Draft, error) {
	m := l.byInst[r.Instance]
	switch why := SpentBy(r, peer); {
	case r.Decided == nil || r.Decided.By != policy.RoleOperator:
		return nil, &RefusedError{Why: fmt.Sprintf("%s has no answer of yours", r.Handle)}
	case r.Order.TakenBack:
		return nil, &RefusedError{Why: fmt.Sprintf("the answer to %s was taken back before", r.Handle)}
	case m.Trust == record.FileTrust:
		return nil, &RefusedError{Why: fmt.Sprintf("too late: %s has the answer to %s, and another program runs it", m.Name, r.Handle)}
	case l.asksBudget(r):
		return nil, &RefusedError{Why: fmt.Sprintf("too late: %s has raised a budget, which is set anew instead", r.Handle)}
	case m.Left != nil:
		return nil, &RefusedError{Why: fmt.Sprintf("%s has ended: nothing waits for the answer to %s", m.Name, r.Handle)}
	case why != "":
		return nil, &RefusedError{Why: fmt.Sprintf("too late: %s", why)}
	}
	return []journal.Draft{{Kind: record.KindTakenBack, Must: true, Body: record.TakenBack{Key: r.Key, Decided: uint64(r.Order.Seq)}}}, nil
}

// SpentBy says what the answer to a request has started at its member, "" for nothing.
func SpentBy(r *Request, peer *Worker) string {
	c, ok := peer.Call(r.Key)
	switch {
	case !ok || c.Open() || r.Order == nil || c.Answer == nil || c.Answer.Leader != uint64(r.Order.Seq):
		return ""
	case c.Started:
		return fmt.Sprintf("%s has started what %s allowed", peer.Name, r.Handle)
	case c.Answer.Decision == record.DecisionDeny:
		return fmt.Sprintf("%s was told that %s is denied", peer.Name, r.Handle)
	case c.Kind == record.KindQuestion:
		return fmt.Sprintf("%s has the answer to %s", peer.Name, r.Handle)
	case c.used:
		return fmt.Sprintf("%s has what %s allowed", peer.Name, r.Handle)
	}
	return ""
}

// TakenBack reports whether the operator has taken the answer to a request back.
func (l *Leader) TakenBack(k record.Key) bool {
	r := l.byKey[k]
	return r != nil && r.Order != nil && r.Order.TakenBack
}

// takenBackRec: an answer that is not in the mailbox is not sent any more; one that is there closes the request when
// its member reads it.
func (l *Leader) takenBackRec(r journal.Record, b record.TakenBack) error {
	req := l.byKey[b.Key]
	switch {
	case req == nil || req.Order == nil || uint64(req.Order.Seq) != b.Decided || req.Decided.By != policy.RoleOperator:
		return l.ignore(r, "there is no such answer of the operator")
	case req.Order.TakenBack:
		return l.ignore(r, "it was taken back before")
	}
	o := req.Order
	o.TakenBack = true
	if o.Closed || o.Sent {
		return nil
	}
	l.close(o)
	o.End, o.Ended, req.Closed = record.Withdrawn, markOf(r), record.Withdrawn
	return l.advance(req, machine.EvEffect, machine.RequestClosed, r)
}

// Reask closes the requests whose answers the operator has taken back and that have started nothing: a session that
// waits asks again. One whose answer is in the mailbox is closed when that is read.
func (w *Worker) Reask(l *Leader) []journal.Draft {
	if w.gone {
		return nil
	}
	return w.closes(takenBackText, func(c *Call) bool {
		return c.AskedSeq != 0 && l.TakenBack(c.Key) && (c.revocable() || c.Open() && !l.byKey[c.Key].Order.Sent)
	})
}
