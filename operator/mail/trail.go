package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
)

// Delivery is how far a message has come. Each state has its evidence; the present one is the last
// that was reached (docs/messages.md).
type Delivery string

// The delivery states.
const (
	Queued       Delivery = "queued"       // recorded by its sender, not in the mailbox yet
	Written      Delivery = "written"      // in the recipient's mailbox
	Held         Delivery = "held"         // in the mailbox, and the recipient cannot take it now
	Delivered    Delivery = "delivered"    // in the recipient's journal: the session got it
	Acknowledged Delivery = "acknowledged" // the turn that got it has ended, the order was obeyed, the question was answered
	Refused      Delivery = "refused"      // the recipient's journal says that it has no effect, or it was not sent at all
	Expired      Delivery = "expired"      // it was not taken in time, or its question was not answered in time
	Withdrawn    Delivery = "withdrawn"    // its sender took it back before it was taken
	Superseded   Delivery = "superseded"   // a newer message replaced it before it was taken
	DeadLetter   Delivery = "dead-letter"  // it cannot be taken any more: its recipient has ended, or another program erased it
	Erased       Delivery = "erased"       // another program removed it from the mailbox before its reader took it
	Failed       Delivery = "failed"       // it could not be put into the mailbox
)

// Deliveries lists the delivery states in the order of a message's way.
func Deliveries() []Delivery {
	return []Delivery{Queued, Written, Held, Delivered, Acknowledged, Refused, Expired, Withdrawn, Superseded, DeadLetter, Erased, Failed}
}

// Over reports a final state. Only an acknowledgement may follow a delivery.
func (d Delivery) Over() bool { return !slices.Contains([]Delivery{Queued, Written, Held}, d) }

// MessageState is one state that a message has reached.
type MessageState struct {
	State    Delivery `json:"state"`
	At       string   `json:"at"`       // as a record has it, or the message where none has that; "" when no record has it
	Evidence string   `json:"evidence"` // which record of which journal, or what the mailbox shows
	Detail   string   `json:"detail"`
}

// trail is one message: what its sender recorded, and what the journals have of its course.
type trail struct {
	t        *tracer
	to       protocol.MemberName
	id       string // of its mailbox entry
	mail     *record.Mail
	env      protocol.Envelope // of mail
	words    *record.Words
	instance record.Instance // the recipient, where that is on record
	from     record.Instance // the member whose journal has mail; "": the leader's has it
	sent     control.Mark    // of mail
	asks     record.Key      // the request of a member that it is
	states   []MessageState  // as found in look
	look     int
}

func (t *trail) reached(ds ...Delivery) bool {
	return slices.ContainsFunc(t.course(), func(s MessageState) bool { return slices.Contains(ds, s.State) })
}

// taken reports whether the recipient has taken the message, whatever came later.
func (t *trail) taken() bool { return t.reached(Delivered, Acknowledged) }

// order is what the leader's journal has of a message that it sends; of another one it is empty.
func (t *trail) order() *control.Order {
	if t.mail == nil || t.from != "" {
		return &control.Order{}
	}
	return cmp.Or(t.t.s.Lead.OrderAt(t.sent.Seq), &control.Order{})
}

type place struct {
	to protocol.MemberName
	id string
}

// tracer finds every message of a team in the folds of its journals. It continues where it stopped.
type tracer struct {
	s       *operator.State
	looks   int
	orders  int // so many of the leader's messages were found
	peers   []peer
	byPlace map[place]*trail
	order   []*trail // those that their senders recorded, in the order of the journals
}

// peer is a member whose journal the tracer reads.
type peer struct {
	name protocol.MemberName
	id   record.Instance
	fold *control.Worker // as far as its journal can be read
	said int             // so many of its messages were found
	err  error           // why it cannot be read further
}

func newTracer(s *operator.State) *tracer { return &tracer{s: s, byPlace: map[place]*trail{}} }

// refresh reads new records. The error is that of the leader's journal, or of ctx; a member's that cannot be read is left
// as far as it was read (broken).
func (t *tracer) refresh(ctx context.Context) error {
	t.looks++
	if err := t.s.Journal.Refresh(ctx); err != nil {
		return err
	}
	for orders := t.s.Lead.Orders(); t.orders < len(orders); t.orders++ {
		o := orders[t.orders]
		if err := t.sends(trail{mail: o.Mail, words: o.Words, instance: o.Instance, sent: o.Mark}); err != nil {
			return err
		}
	}
	for _, m := range t.s.Lead.Members[len(t.peers):] {
		t.peers = append(t.peers, peer{name: m.Name, id: m.Instance, fold: control.NewWorker(nil)})
	}
	for i := range t.peers {
		p := &t.peers[i]
		for p.fold, p.err = t.s.Worker(p.id); p.said < len(p.fold.Outbox); p.said++ {
			s := p.fold.Outbox[p.said]
			tr := trail{mail: s.Mail, from: p.id, sent: s.Mark}
			if m, ok := t.s.Lead.Member(s.Mail.To); ok {
				tr.instance = m.Instance
			}
			if s.Call != nil {
				tr.asks = s.Call.Key
			}
			if err := t.sends(tr); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// broken returns the errors of the members' journals (operator.JournalErrors), without those that the operator has
// acknowledged.
func (t *tracer) broken() error {
	var errs []error
	for _, p := range t.peers {
		errs = append(errs, t.s.Unread(journal.Name(p.id), p.err))
	}
	return errors.Join(errs...)
}

// unread reports that a member's journal cannot be read to its end.
func (t *tracer) unread(i record.Instance) bool {
	return slices.ContainsFunc(t.peers, func(p peer) bool { return p.id == i && p.err != nil })
}

// at finds or makes the trail of a mailbox entry.
func (t *tracer) at(to protocol.MemberName, id string) *trail {
	p := place{to, id}
	if t.byPlace[p] == nil {
		t.byPlace[p] = &trail{t: t, to: to, id: id}
	}
	return t.byPlace[p]
}

// sends begins the trail of a message that is recorded before it is sent. An answer to a question is no message.
func (t *tracer) sends(tr trail) error {
	if tr.mail == nil {
		return nil
	}
	var err error
	if tr.env, err = tr.mail.Open(); err != nil {
		return err
	}
	tr.t, tr.to, tr.id = t, tr.mail.To, mailbox.ID{Hash: tr.env.Hash(), Occurrence: 1}.String()
	at := t.at(tr.to, tr.id)
	if at.mail != nil {
		return nil // a repetition of the same message
	}
	*at = tr
	t.order = append(t.order, at)
	return nil
}

// course joins what the folds have of the message, in no order: its sender's, its recipient's and the leader's.
func (t *trail) course() []MessageState {
	if t.look == t.t.looks {
		return t.states
	}
	t.look, t.states = t.t.looks, nil
	lead, order := t.t.s.Lead, t.order()
	if t.mail != nil {
		t.note(Queued, t.from, t.sent, "")
		t.ordered(order)
		t.asked()
	}
	if t.to == protocol.Lead {
		t.took("", lead.Intake(t.id))
	}
	for _, p := range t.t.peers {
		if p.id == order.Instance {
			t.took(p.id, p.fold.Obeyed(order))
		}
		if p.name == t.to {
			t.took(p.id, p.fold.Intake(t.id))
		}
	}
	if m, ok := lead.ByInstance(t.instance); ok && m.Left != nil && (t.from == "" || t.to != protocol.Lead) {
		t.note(DeadLetter, "", control.Mark{Seq: m.LeftSeq, At: m.LeftAt, Kind: record.KindLeft}, "its recipient has ended: "+m.Left.How)
	}
	return t.states
}

// note adds a state that a record shows, of a member's journal or the leader's ("").
func (t *trail) note(d Delivery, of record.Instance, m control.Mark, detail string) {
	name := cmp.Or(journal.Name(of), t.t.s.JournalName)
	t.states = append(t.states, MessageState{State: d, At: protocol.FormatTime(m.At), Evidence: fmt.Sprintf("journal %s, seq %d: %s", t.t.s.Owner(name), m.Seq, m.Kind), Detail: detail})
}

// ordered notes what the leader's journal has of a message that it sends.
func (t *trail) ordered(o *control.Order) {
	if o.Written.Seq > 0 {
		t.note(Written, "", o.Written, "")
	}
	switch word, detail := (record.Closed{Evidence: o.End}).Reason(); word {
	case record.Withdrawn:
		t.note(Withdrawn, "", o.Ended, "")
	case record.Superseded:
		t.note(Superseded, "", o.Ended, "by "+detail)
	case record.Replaced:
		t.note(Superseded, "", o.Ended, word)
	case record.Expired:
		t.note(Expired, "", o.Ended, "nobody took it in time")
	case record.Failed:
		t.note(Failed, "", o.Ended, detail)
	case record.ReaderMarked, record.ReaderTook:
		t.note(Delivered, "", o.Ended, word)
	case record.ReaderNever:
		t.note(Erased, "", o.Ended, word)
	}
}

// asked notes how a member's request was decided.
func (t *trail) asked() {
	r, ok := t.t.s.Lead.Request(t.asks)
	if !ok || r.Decided == nil {
		return
	}
	d, detail := Acknowledged, r.Decided.Decision+" by "+string(r.Decided.By)
	if r.Decided.Via == control.ViaExpiry {
		d, detail = Expired, "nobody answered before its deadline"
	}
	t.note(d, "", r.Order.Mark, detail)
}

// took notes what the reader of a mailbox has recorded: a member, or the lead's side ("").
func (t *trail) took(by record.Instance, in *control.Intake) {
	if in == nil {
		return
	}
	switch in.Kind {
	case record.KindUnverified:
		t.note(Refused, by, in.Mark, in.Why)
	case record.KindSeen:
		t.note(Delivered, by, in.Mark, "the lead has taken it in")
		if !record.IsRequest(in.Of) {
			t.note(Acknowledged, by, in.Mark, "it is on the lead's record")
		}
	case record.KindTaken:
		detail := "its session was given it"
		if by == "" {
			detail = "the operator has read it"
		}
		t.note(Delivered, by, in.Mark, detail)
	case record.KindHeard:
		t.note(Delivered, by, in.Mark, "its session was given it in the middle of a turn")
	case record.KindApplied, record.KindAnswered:
		t.note(Delivered, by, in.Mark, "")
		t.note(Acknowledged, by, in.Mark, "it took effect")
	}
	if in.End == nil {
		return
	}
	detail := "the turn that was given it has ended"
	if in.End.Said.Failed {
		detail = "the turn that was given it has failed: " + in.End.Said.Note
	}
	t.note(Acknowledged, by, in.End.Mark, detail)
}

// rank is the order of the states, which may differ from that of the records: a recipient may
// record a message before its sender records that it was written.
func (d Delivery) rank() int {
	return slices.Index([]Delivery{Queued, Failed, Written, Held, Expired, Withdrawn, Superseded, DeadLetter, Erased, Refused, Delivered, Acknowledged}, d)
}

// settled returns the states in order, each once, with more that its mailbox shows, and without an end that came after the
// recipient had taken the message.
func (t *trail) settled(more ...MessageState) []MessageState {
	states := slices.Concat(t.course(), more)
	rank := func(s MessageState) int {
		if s.State == Expired && t.words == nil {
			return Acknowledged.rank() + 1 // a question that was taken and not answered
		}
		return s.State.rank()
	}
	slices.SortStableFunc(states, func(a, b MessageState) int { return cmp.Compare(rank(a), rank(b)) })
	late := []Delivery{Withdrawn, Superseded, DeadLetter, Erased, Failed}
	if t.words != nil {
		late = append(late, Expired)
	}
	var seen []Delivery
	return slices.DeleteFunc(states, func(s MessageState) bool {
		again := slices.Contains(seen, s.State)
		seen = append(seen, s.State)
		return again || t.taken() && slices.Contains(late, s.State)
	})
}
