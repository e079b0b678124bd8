package control_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"waggle/control"
	"waggle/journal"
	"waggle/record"
	"waggle/spawn"
)

// TestBorrow: one process has a conversation at a time, only the operator's record gives it, and what ends one
// borrowing does not end a later one. It is a walk over all that can happen to a member's conversation.
func TestBorrow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, ann := withAnn(t)
		m, _ := w.l.ByInstance(ann.instance)
		var holder int          // pid of the one that has it, 0: nobody
		var gone bool           // it has ended
		var seqs []journal.Seq  // of all borrowings
		var yielded journal.Seq // the newest that the member let its conversation go for
		var forged int
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0: // somebody takes it
				want := record.Borrowed{By: spawn.Identity{PID: 10 + len(seqs), Start: "1"}}
				ds, err := w.l.Borrow(m, want, gone)
				var other *control.BorrowedError
				if free := holder == 0 || gone; free != (err == nil) || !free && (!errors.As(err, &other) || other.By.PID != holder) {
					rt.Fatalf("taken by %d, gone %v: %v", holder, gone, err)
				}
				if err == nil {
					w.do(operator, func() ([]journal.Draft, error) { return ds, nil })
					seqs, holder, gone = append(seqs, m.Borrowed.Seq), want.By.PID, false
				}
			case 1: // its process ends
				gone = holder != 0
			case 2: // a return of some borrowing is recorded
				if len(seqs) == 0 {
					continue
				}
				seq := rapid.SampledFrom(seqs).Draw(rt, "returned")
				of := m.Borrowed
				w.do(w.lead(), func() ([]journal.Draft, error) { return w.l.Return(m, seq, "over"), nil })
				if of != nil && of.Seq == seq {
					holder, gone = 0, false
				}
			case 3: // by another than the operator
				w.append(w.lead(), record.KindBorrowed, record.Borrowed{Instance: m.Instance, By: spawn.Identity{PID: 1}})
				forged++
			case 4: // the member lets it go
				if m.Borrowed == nil {
					continue
				}
				seq := m.Borrowed.Seq
				ann.do(func() ([]journal.Draft, error) { return ann.w.Yield(seq), nil })
				yielded = seq
			case 5: // its process starts anew
				ann.boot()
			}
			if has := m.Borrowed != nil; has != (holder != 0) || has && m.Borrowed.By.PID != holder {
				rt.Fatalf("borrowed %+v, want process %d", m.Borrowed, holder)
			}
			if ann.w.Yielded != uint64(yielded) || len(w.l.Ignored) != forged {
				rt.Fatalf("yielded %d, want %d; ignored %+v", ann.w.Yielded, yielded, w.l.Ignored)
			}
			w.restart()
			m, _ = w.l.ByInstance(ann.instance)
			ann.open()
		}
	})
}
