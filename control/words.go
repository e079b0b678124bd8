package control

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/journal"
	"waggle/machine"
	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Say drafts the record of words. m is the recipient's membership, nil for the lead and for a
// member that waggle does not run. The words that they replace are closed in the same append.
// Refusals: *RefusedError.
func (l *Leader) Say(m *Member, to protocol.MemberName, env protocol.Envelope, w record.Words) ([]journal.Draft, error) {
	mail, err := mailOf(to, env)
	if err != nil {
		return nil, err
	}
	w.Mail = mail
	switch {
	case m != nil && m.State() == machine.Terminated:
		return nil, &RefusedError{Why: fmt.Sprintf("%s has ended and is given nothing any more", m.Name)}
	case interrupts(w.Priority) && (m == nil || env.From != string(protocol.Lead)):
		return nil, &RefusedError{Why: fmt.Sprintf("only the lead's own words, to a member that waggle runs, go by %s", w.Priority)}
	}
	if m != nil {
		w.Instance = m.Instance
	}
	ds := []journal.Draft{{Kind: record.KindSaid, Must: true, Body: w}}
	if w.Supersedes == 0 {
		return ds, nil
	}
	old := l.orders[journal.Seq(w.Supersedes)]
	if old == nil || old.Words == nil {
		return nil, &RefusedError{Why: "there are no such words to replace"}
	}
	more, err := l.Unsay(old, record.Superseded+" by "+env.MsgID)
	return append(ds, more...), err
}

// Unsay withdraws words: a worker that has not taken them never will. Words that are closed are
// refused with a *RefusedError that names how they were closed.
func (l *Leader) Unsay(o *Order, evidence string) ([]journal.Draft, error) {
	if o.Closed {
		return nil, &RefusedError{Why: "too late: the words are " + cmp.Or(o.End, "their recipient has ended")}
	}
	return []journal.Draft{{Kind: record.KindClosed, Must: true, Body: record.Closed{Ref: uint64(o.Seq), Evidence: evidence}}}, nil
}

// Lapse drafts the expiry of words that were not delivered in time.
func (l *Leader) Lapse(now time.Time) []journal.Draft {
	var ds []journal.Draft
	for _, o := range l.open {
		if o.lapsed(now) {
			ds = append(ds, journal.Draft{Kind: record.KindClosed, Must: true, Body: record.Closed{Ref: uint64(o.Seq), Evidence: record.Expired}})
		}
	}
	return ds
}

// Wakes reports whether a message of a mailbox is a reason to begin a turn. One that comes after too many turns in which
// agents only answered each other is not: it stays for the next turn. What a person said always is.
func (l *Leader) Wakes(entry string, env protocol.Envelope) bool {
	return l.Spoken(entry) != nil || record.Hops(env) < record.MaxHops
}

// lapsed reports words whose time is over.
func (o *Order) lapsed(now time.Time) bool {
	return o.Words != nil && o.Words.Expires != nil && !now.Before(*o.Words.Expires)
}

// interrupts reports a priority that reaches into a turn.
func interrupts(p record.Priority) bool {
	return p == record.PriorityNextTool || p == record.PriorityInterrupt
}

// Spoken finds the words of a mailbox entry with this identity; nil: the journal has none.
func (l *Leader) Spoken(entry string) *Order {
	hash, _, _ := strings.Cut(entry, "#")
	return l.words[hash]
}

// OrderAt finds the order or the words of the record with this seq.
func (l *Leader) OrderAt(seq journal.Seq) *Order { return l.orders[seq] }

// Unsaid returns why an entry is not to be delivered: its words were withdrawn, superseded or have
// expired. "": it may be delivered.
func (l *Leader) Unsaid(entry string, now time.Time) string {
	o := l.Spoken(entry)
	switch {
	case o == nil:
		return ""
	case o.unsaid():
		return o.End
	case o.lapsed(now):
		return record.Expired
	}
	return ""
}

// unsaid reports words that were closed before they were delivered.
func (o *Order) unsaid() bool { return o.Closed && o.End != "" && o.End != record.KindTaken }

// mailOf is record.ComposeText for an existing envelope of words.
func mailOf(to protocol.MemberName, env protocol.Envelope) (*record.Mail, error) {
	if (message.Incoming{Envelope: env, Decoded: protocol.Decode(env)}).IsControl() {
		return nil, &RefusedError{Why: "words that look like a control message are not sent"}
	}
	raw, err := env.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("words to %s: %w", to, err)
	}
	return &record.Mail{To: to, Kind: protocol.KindText, SHA256: record.HashText(env.Text), Envelope: raw}, nil
}

func (l *Leader) saidRec(r journal.Record, b record.Words) error {
	if b.Mail == nil || b.Mail.Kind != protocol.KindText {
		return fmt.Errorf("said without words")
	}
	env, err := b.Mail.Open()
	if err != nil {
		return fmt.Errorf("said: %w", err)
	}
	m, o := l.byInst[b.Instance], &Order{Mark: markOf(r), Instance: b.Instance, Mail: b.Mail, Words: &b, Hash: env.Hash(), MsgID: env.MsgID}
	_, err = record.ParsePriority(string(b.Priority))
	switch {
	case err != nil:
		return &journal.FutureError{What: err.Error()}
	case l.words[o.Hash] != nil:
		return l.ignore(r, "the same words are on record already")
	case b.Instance != "" && (m == nil || m.Left != nil || m.Name != b.Mail.To):
		return l.ignore(r, "nobody is there to be told")
	case interrupts(b.Priority) && (m == nil || env.From != string(protocol.Lead)):
		return l.ignore(r, "only the lead's own words steer a member")
	}
	l.orders[o.Seq], l.words[o.Hash] = o, o
	l.open, l.sends = append(l.open, o), append(l.sends, o)
	if m != nil && env.From == string(protocol.Lead) && b.By != policy.RoleSystem {
		l.given(m)
	}
	return nil
}

// passed removes words that are in their mailbox from the open orders, when no record of their
// delivery can follow.
func (l *Leader) passed(o *Order) {
	if o.Words == nil || o.Instance != "" {
		return
	}
	if m := l.current[o.Mail.To]; m == nil || m.Left != nil || m.Trust != record.FileTrust {
		l.open = slices.DeleteFunc(l.open, func(x *Order) bool { return x == o })
	}
}

// Underway lists the orders and words in the mailbox of a member that uses files, as far as the
// journal knows. Only the mailbox shows what happens to them.
func (l *Leader) Underway(m *Member) []*Order {
	return those(l.open, func(o *Order) bool {
		return o.Sent && (o.Instance == m.Instance || o.Words != nil && o.Instance == "" && o.Mail.To == m.Name)
	})
}

// takenRec: the operator has read these entries of the lead's mailbox.
func (l *Leader) takenRec(r journal.Record, b record.Taken) error {
	for _, e := range b.Entries {
		own(l.entries, r, e)
	}
	return nil
}

// Hear drafts that the session is given words in the middle of its turn. Words that were withdrawn
// meanwhile are an ErrUnsaid.
func (w *Worker) Hear(entries []string, l *Leader) ([]journal.Draft, error) {
	if w.turn == nil {
		return nil, fmt.Errorf("hear outside a turn")
	}
	if err := l.standing(entries); err != nil {
		return nil, err
	}
	return []journal.Draft{{Kind: record.KindHeard, Must: true, Body: record.Heard{Entries: entries}}}, nil
}

// standing returns ErrUnsaid when one of the entries was taken back.
func (l *Leader) standing(entries []string) error {
	for _, e := range entries {
		if o := l.Spoken(e); o != nil && o.unsaid() {
			return fmt.Errorf("%w: %s", ErrUnsaid, o.End)
		}
	}
	return nil
}

func (w *Worker) heardRec(r journal.Record, b record.Heard) error {
	if w.turn == nil {
		return fmt.Errorf("heard outside a turn")
	}
	for _, e := range b.Entries {
		own(w.entries, r, e)
		w.heard = append(w.heard, e)
	}
	return nil
}

// Heard lists what the session was given in the middle of the current turn.
func (w *Worker) Heard() []string { return slices.Clone(w.heard) }

// HasTaken reports whether the words of an order were given to this worker's session, in whatever
// copy.
func (w *Worker) HasTaken(o *Order) bool { return w.Owns(o.Hash + "#1") }

// Copy reports an entry that is another copy of words that were taken: the record has them once.
func (w *Worker) Copy(entry string, l *Leader) bool {
	o := l.Spoken(entry)
	return o != nil && entry != o.Hash+"#1" && w.HasTaken(o)
}

// SpokenAs finds words by their msg_id, or by its beginning, in the order of the journal.
func (l *Leader) SpokenAs(id string) []*Order {
	return those(l.sends, func(o *Order) bool { return id != "" && strings.HasPrefix(o.MsgID, id) })
}
