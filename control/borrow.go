package control

import (
	"fmt"
	"slices"
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
	return w.closes(why, func(c *Call) bool {
		r, ok := l.Request(c.Key)
		return c.Open() && c != w.budget && (!ok || r.Decided == nil)
	})
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

// Halt says that the operator has stopped the team's work.
type Halt struct {
	record.Halted
	Seq journal.Seq
	At  time.Time
}

// Stand drafts that the team's work stops. It drafts nothing when it has stopped.
func (l *Leader) Stand(reason string) []journal.Draft {
	if l.Halt != nil {
		return nil
	}
	return []journal.Draft{{Kind: record.KindHalted, Must: true, Body: record.Halted{Reason: reason}}}
}

// GoOn drafts that a halted team goes on. It drafts nothing when it is not halted.
func (l *Leader) GoOn() []journal.Draft {
	if l.Halt == nil {
		return nil
	}
	return []journal.Draft{{Kind: record.KindResumed, Must: true, Body: record.Resumed{Halted: uint64(l.Halt.Seq)}}}
}

func (l *Leader) haltedRec(r journal.Record, b record.Halted) error {
	if l.Halt != nil {
		return l.ignore(r, "it is halted")
	}
	l.Halt = &Halt{b, r.Seq, r.Time}
	return nil
}

func (l *Leader) resumedRec(r journal.Record, b record.Resumed) error {
	if l.Halt == nil || uint64(l.Halt.Seq) != b.Halted {
		return l.ignore(r, "it is not halted by that record")
	}
	l.Halt = nil
	return nil
}

// Rest drafts that nothing of this worker runs for a halted record, which found these calls running. The same again
// drafts nothing.
func (w *Worker) Rest(to journal.Seq, ran []record.Key) []journal.Draft {
	if w.Rested == uint64(to) {
		return nil
	}
	b := record.Rests{Halted: uint64(to)}
	for _, k := range ran {
		if c := w.byKey[k]; c != nil && c.Started && (c.Unknown || c.Finished != nil && c.Finished.Failed && c.Finished.ExitCode == nil) {
			b.Cut = append(b.Cut, k)
		}
	}
	return []journal.Draft{{Kind: record.KindRests, Must: true, Body: b}}
}

func (w *Worker) restsRec(r journal.Record, b record.Rests) error {
	switch {
	case b.Halted <= w.Rested:
		return fmt.Errorf("it rests for record %d after %d", b.Halted, w.Rested)
	case len(w.Running()) > 0:
		return fmt.Errorf("it rests for record %d while a call runs", b.Halted)
	}
	w.Rested = b.Halted
	w.rests(r.Time)
	w.loseUnbegun()
	for _, c := range w.Calls {
		if w.turn != nil && c.turn == w.turn {
			c.past, c.redo = true, c.redo || slices.Contains(b.Cut, c.Key)
		}
	}
	return nil
}
