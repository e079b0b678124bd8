package control

import (
	"fmt"
	"time"

	"waggle/journal"
	"waggle/record"
)

// Borrowing says who has a member's conversation, or waits for it, as long as its process runs.
type Borrowing struct {
	record.Borrowed
	Seq journal.Seq
	At  time.Time
}

// BorrowedError: another process has the conversation of a member.
type BorrowedError struct{ Borrowing }

func (e *BorrowedError) Error() string {
	return fmt.Sprintf("its session is taken by process %d since %s", e.By.PID, e.At.UTC().Format(time.RFC3339))
}

// Borrow drafts that a process wants the member's conversation. One has it at a time: the error is a
// *BorrowedError until that is returned, or its process has ended.
func (l *Leader) Borrow(m *Member, want record.Borrowed, ended bool) ([]journal.Draft, error) {
	switch {
	case m.Left != nil:
		return nil, fmt.Errorf("member %s has left", m.Name)
	case m.Borrowed != nil && !ended:
		return nil, &BorrowedError{*m.Borrowed}
	}
	want.Instance = m.Instance
	return []journal.Draft{{Kind: record.KindBorrowed, Must: true, Body: want}}, nil
}

// Return drafts that the member has its conversation back. It drafts nothing when it has it already.
func (l *Leader) Return(m *Member, seq journal.Seq, why string) []journal.Draft {
	if m.Left != nil || m.Borrowed == nil || m.Borrowed.Seq != seq {
		return nil
	}
	return []journal.Draft{{Kind: record.KindReturned, Must: true, Body: record.Returned{Instance: m.Instance, Borrowed: uint64(seq), Why: why}}}
}

func (l *Leader) borrowedRec(r journal.Record, b record.Borrowed) error {
	m := l.byInst[b.Instance]
	switch {
	case m == nil:
		return fmt.Errorf("unknown instance %q is borrowed from", b.Instance)
	case !r.Writer.Operator:
		return l.ignore(r, "only the operator takes a session")
	case m.Left != nil:
		return l.ignore(r, "it had left")
	}
	m.Borrowed = &Borrowing{b, r.Seq, r.Time}
	return nil
}

func (l *Leader) returnedRec(r journal.Record, b record.Returned) error {
	m := l.byInst[b.Instance]
	switch {
	case m == nil:
		return fmt.Errorf("unknown instance %q is returned to", b.Instance)
	case m.Borrowed == nil || uint64(m.Borrowed.Seq) != b.Borrowed:
		return l.ignore(r, "its session is back already")
	}
	m.Borrowed = nil
	return nil
}

// Part drafts what a turn leaves that is cut short: its open requests are closed with the reason, and
// decided by nobody. What the leader has decided already comes in as usual, and opens nothing (yielded).
func (w *Worker) Part(l *Leader, why string) []journal.Draft {
	var ds []journal.Draft
	for _, c := range w.Calls {
		if r, ok := l.Request(c.Key); c.Open() && c != w.budget && (!ok || r.Decided == nil) {
			ds = append(ds, c.revoke(why))
		}
	}
	return ds
}

// Lent reports that a person has had the conversation since the agent's own client was in it last.
func (w *Worker) Lent() bool { return w.lent }

// Yield drafts that nothing of this worker uses its conversation any more. The same again drafts
// nothing.
func (w *Worker) Yield(to journal.Seq) []journal.Draft {
	if w.Yielded == uint64(to) {
		return nil
	}
	return []journal.Draft{{Kind: record.KindYielded, Must: true, Body: record.Yielded{Borrowed: uint64(to)}}}
}

func (w *Worker) yieldedRec(r journal.Record, b record.Yielded) error {
	if b.Borrowed <= w.Yielded {
		return fmt.Errorf("its conversation goes to record %d after %d", b.Borrowed, w.Yielded)
	}
	if len(w.Running()) > 0 {
		return fmt.Errorf("its conversation goes to record %d while a call runs", b.Borrowed)
	}
	w.Yielded, w.lent = b.Borrowed, true
	w.rests(r.Time)
	w.loseUnbegun() // a person may do the same meanwhile
	return nil
}

// loseUnbegun has what was allowed and has not begun asked again.
func (w *Worker) loseUnbegun() {
	for _, c := range w.Calls {
		if c.AskedSeq != 0 && !c.Started && !c.used && c != w.budget {
			c.lost = true
		}
	}
}
