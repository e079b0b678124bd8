package control

import (
	"slices"
	"time"

	"waggle/journal"
	"waggle/protocol"
)

// What a fold keeps of the course of a message: the records that tell how far it has come. Package operator/mail joins
// what the leader's fold has with what the members' have.

// Mark names a record.
type Mark struct {
	Seq  journal.Seq
	At   time.Time
	Kind string
}

func markOf(r journal.Record) Mark { return Mark{r.Seq, r.Time, r.Kind} }

// Intake is the record by which the reader of a mailbox took a message, or refused it.
type Intake struct {
	Mark
	Of  protocol.Kind // of the message, where the lead has seen it
	Why string        // it was refused
	End *Vouched      // the notice that ended the turn that was given it; nil: no turn was, or it has not ended
}

// Intake finds what the lead's side took of an entry of the lead's mailbox; nil: nothing.
func (l *Leader) Intake(entry string) *Intake { return l.entries[entry] }

// Intake finds what this member took of an entry of its mailbox; nil: nothing.
func (w *Worker) Intake(entry string) *Intake { return w.entries[entry] }

// Obeyed finds how this member took a decision or a command, in whatever copy; nil: it did not.
func (w *Worker) Obeyed(o *Order) *Intake {
	if o.Decided == nil {
		return w.commands[uint64(o.Seq)]
	}
	if c := w.byKey[o.Decided.Key]; c != nil && c.Answer != nil && c.Answer.Leader == uint64(o.Seq) {
		return c.took
	}
	return nil
}

// Orders lists the decisions, commands and words, in the order of the journal.
func (l *Leader) Orders() []*Order { return slices.Clone(l.sends) }

// own records that a journal owns an entry; the first record of it stays. "": the record is of no entry.
func own(entries map[string]*Intake, r journal.Record, entry string) *Intake {
	in := &Intake{Mark: markOf(r)}
	if entry != "" && entries[entry] == nil {
		entries[entry] = in
	}
	return in
}

// gave records that the turn which was given these entries has ended.
func (w *Worker) gave(end *Vouched) {
	for _, e := range slices.Concat(w.turn.Entries, w.heard) {
		if in := w.entries[e]; in != nil && in.End == nil {
			in.End = end
		}
	}
}
