package control

import (
	"fmt"
	"slices"
	"time"

	"waggle/journal"
	"waggle/record"
)

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
