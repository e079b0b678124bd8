package mail

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"waggle/mailbox"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// StoredMessage is a message, the mailbox that holds it, and its delivery state.
type StoredMessage struct {
	To       string          `json:"to"`
	From     string          `json:"from"`
	MsgID    string          `json:"msg_id"`
	State    Delivery        `json:"state"` // the last of States
	Since    string          `json:"since"` // of the newest state whose time is known
	Ahead    int             `json:"ahead"` // unread before it, while it waits
	Priority record.Priority `json:"priority"`
	Entry    InboxEntry      `json:"entry"` // index -1: it is in no mailbox
	Raw      json.RawMessage `json:"raw"`
	States   []MessageState  `json:"states"`
}

// Message finds messages by msg_id, by its beginning, or by their id, in every mailbox of a team
// and in its journals, and returns the delivery state of each. It also finds a recorded message
// whose entry another program has erased. The messages are returned also with an error, which is about the journals
// that cannot be read (operator.JournalErrors).
func (o Operator) Message(ctx context.Context, name protocol.TeamName, id string) ([]StoredMessage, error) {
	v, err := o.survey(ctx, name)
	if err != nil {
		return nil, err
	}
	v.keep(ctx, o)
	named := func(msgID, entry string) bool {
		return msgID == id || len(id) >= shortID && (strings.HasPrefix(msgID, id) || strings.HasPrefix(entry, id))
	}
	var msgs []StoredMessage
	for _, b := range v.boxes {
		for i, e := range b.entries {
			if named(e.Envelope.MsgID, e.ID.String()) {
				msgs = append(msgs, v.message(v.t.at(b.name, e.ID.String()), b, i))
			}
		}
	}
	for _, tr := range v.t.order {
		if b, i := v.find(tr); i < 0 && named(tr.env.MsgID, tr.id) {
			msgs = append(msgs, v.message(tr, b, i))
		}
	}
	if len(msgs) == 0 {
		return nil, errors.Join(&team.NotFoundError{What: "message", Name: id}, v.t.broken())
	}
	return msgs, v.t.broken()
}

// Messages lists the messages that their senders recorded, oldest first, with the state of each.
// all adds the control messages. The messages are returned also with an error, as by Message.
func (o Operator) Messages(ctx context.Context, name protocol.TeamName, all bool) ([]StoredMessage, error) {
	v, err := o.survey(ctx, name)
	if err != nil {
		return nil, err
	}
	v.keep(ctx, o)
	msgs := []StoredMessage{}
	for _, tr := range v.t.order {
		if b, i := v.find(tr); all || tr.mail.Kind == protocol.KindText {
			msgs = append(msgs, v.message(tr, b, i))
		}
	}
	return msgs, v.t.broken()
}

// survey is the present state of a team's journals and mailboxes.
type survey struct {
	s     *operator.State
	cfg   *team.Config
	led   bool
	past  bool // the team and its mailboxes are gone
	t     *tracer
	boxes []*openBox
	now   time.Time
	there map[*trail]bool // written to their mailbox according to records from before the mailboxes were read
}

type openBox struct {
	name    protocol.MemberName
	entries []mailbox.Entry
	file    int64 // modification time of its file, Unix nanoseconds
	pruned  bool  // readers remove the entries that they have read
	broken  bool  // it could not be read whole: another program writes it in place, or has damaged it
}

func (o Operator) survey(ctx context.Context, name protocol.TeamName) (*survey, error) {
	v := &survey{}
	o.Folds = &operator.WorkerFolds{}
	var err error
	if v.cfg, err = o.Registry(ctx, name); err != nil {
		return o.surveyPast(ctx, name, err)
	}
	if v.s, v.led, err = o.JournalOf(ctx, v.cfg); err != nil {
		return nil, err
	}
	v.t = newTracer(v.s)
	return v, v.look(ctx, o)
}

// surveyPast is a survey of another program's team that is gone.
func (o Operator) surveyPast(ctx context.Context, name protocol.TeamName, why error) (*survey, error) {
	var missing *team.NotFoundError
	if !errors.As(why, &missing) {
		return nil, why
	}
	s, err := o.Open(ctx, name, operator.Read)
	switch {
	case operator.KindOf(err) == operator.NotFound, err == nil && !s.Foreign:
		return nil, why
	case err != nil:
		return nil, errors.Join(why, err)
	case s.Damaged != nil:
		return nil, s.Damaged
	}
	v := &survey{s: s, cfg: &team.Config{Name: s.Team}, past: true}
	v.t = newTracer(v.s)
	v.now, v.there = o.Minter.Now(), map[*trail]bool{}
	return v, v.t.refresh(ctx)
}

// look reads the journals, the mailboxes, and the journals again. A message that was recorded as
// written before, is in no mailbox, and is not recorded as taken after, was removed by another
// program. A look that fails keeps the result of the one before: with half of the mailboxes read,
// mail in the other half would seem to be erased.
func (v *survey) look(ctx context.Context, o Operator) error {
	if err := v.t.refresh(ctx); err != nil {
		return err
	}
	there := map[*trail]bool{}
	for _, tr := range v.t.order {
		there[tr] = tr.order().Written.Seq > 0
	}
	boxes, err := v.openBoxes(ctx, o)
	if err != nil {
		return err
	}
	if v.led {
		editors, err := v.openBridges(ctx)
		if err != nil {
			return err
		}
		boxes = append(boxes, editors...)
	}
	if err := v.t.refresh(ctx); err != nil {
		return err
	}
	v.there, v.boxes, v.now = there, boxes, o.Minter.Now()
	return nil
}

// openBoxes reads the team's mailboxes.
func (v *survey) openBoxes(ctx context.Context, o Operator) ([]*openBox, error) {
	names, err := o.Boxes(v.cfg.Name).Names()
	if err != nil {
		return nil, err
	}
	var boxes []*openBox
	for _, n := range names {
		b := &openBox{name: n}
		box, err := o.ReadBox(v.cfg, n, func(mailbox.Report) { b.broken = true })
		if err != nil {
			return nil, err
		}
		b.file = mailbox.FileTime(box)
		if b.entries, err = box.Entries(ctx); err != nil {
			return nil, err
		}
		l, err := box.Layout()
		if err != nil {
			return nil, err
		}
		b.pruned = l == mailbox.JSONL || v.cfg.Dialect() == team.DialectSession
		boxes = append(boxes, b)
	}
	return boxes, nil
}

// openBridges reads the messages that wait for editors, under the addresses that they are sent to.
func (v *survey) openBridges(ctx context.Context) ([]*openBox, error) {
	ids, err := bridges(v.s).Names()
	if err != nil {
		return nil, err
	}
	var boxes []*openBox
	for _, id := range ids {
		box, err := bridges(v.s).Open(id, mailbox.Options{})
		if err != nil {
			return nil, err
		}
		b := &openBox{name: protocol.MemberName(string(protocol.SchemeBridge) + ":" + string(id))}
		if b.entries, err = box.Entries(ctx); err != nil {
			return nil, err
		}
		boxes = append(boxes, b)
	}
	return boxes, nil
}

// find returns the mailbox of a message and its index; -1 when it is in no mailbox.
func (v *survey) find(tr *trail) (*openBox, int) {
	for _, b := range v.boxes {
		if !protocol.SameName(b.name, tr.to) {
			continue
		}
		for i, e := range b.entries {
			if e.ID.String() == tr.id {
				return b, i
			}
		}
		return b, -1
	}
	return &openBox{name: tr.to}, -1
}

func (v *survey) message(tr *trail, b *openBox, i int) StoredMessage {
	m := StoredMessage{To: string(tr.to), Priority: record.PriorityNormal}
	if tr.words != nil && tr.words.Priority != "" {
		m.Priority = tr.words.Priority
	}
	if i >= 0 {
		m.Entry, m.Raw = EntryOf(b.entries[i]), b.entries[i].Raw
	} else {
		m.Entry, m.Raw = EntryOf(mailbox.Entry{Index: -1, Envelope: tr.env}), tr.mail.Envelope
		m.Entry.ID = tr.id
	}
	for _, sent := range v.t.order {
		if i >= 0 && tr.mail == nil && sent.to == tr.to && sent.env.MsgID != "" && sent.env.MsgID == m.Entry.MsgID {
			m.Entry.Warnings = append(m.Entry.Warnings, "another program altered it: what was sent is on record")
		}
	}
	m.From, m.MsgID = m.Entry.From, m.Entry.MsgID
	m.States = v.states(tr, b, i)
	m.State = m.States[len(m.States)-1].State
	for _, s := range m.States {
		m.Since = cmp.Or(s.At, m.Since)
	}
	if !m.State.Over() && i >= 0 {
		for _, e := range b.entries[:i] {
			if e.Err == nil && !e.Envelope.Read {
				m.Ahead++
			}
		}
	}
	return m
}

// states returns the states of a message that the records have, then the one that the mailbox
// shows.
func (v *survey) states(tr *trail, b *openBox, i int) []MessageState {
	var lies []MessageState
	if i >= 0 && !tr.reached(Written, Delivered, Acknowledged, Refused) {
		lies = []MessageState{{State: Written, Evidence: "the mailbox"}}
		if tr.mail == nil { // no journal has it: use the time that the message claims
			lies[0].At = b.entries[i].Envelope.Timestamp
		}
	}
	states := tr.settled(lies...)
	add := func(d Delivery, evidence, detail string) {
		states = append(states, MessageState{State: d, Evidence: evidence, Detail: detail})
	}
	if len(states) > 0 && states[len(states)-1].State.Over() {
		return states
	}
	m, run := v.s.Lead.ByInstance(tr.instance)
	run = run && m.Left == nil && m.Trust != record.FileTrust
	switch {
	case len(states) > 0 && v.t.unread(tr.instance):
		states[len(states)-1].Detail = "the journal of " + string(tr.to) + " is broken: whether it was taken is not known"
	case tr.words != nil && tr.words.Expires != nil && !v.now.Before(*tr.words.Expires):
		add(Expired, "the clock", "nobody took it in time")
	case i >= 0 && !run && b.entries[i].Envelope.Read: // a member of waggle records it in its journal
		add(Delivered, "the mailbox", "it is marked read")
	case i >= 0 && run:
		p := record.PriorityNormal
		if tr.words != nil {
			p = tr.words.Priority
		}
		if why := busy(v.s, m, p); why != "" {
			add(Held, "journal of "+string(m.Name), why)
		}
	case i >= 0:
	case v.past && v.foreign(tr) && len(states) > 0 && !states[len(states)-1].State.Over():
		states[len(states)-1].Detail = "its mailbox is gone with its team: whether it was read is not known"
	case v.past:
	case b != nil && b.broken: // that it is not among the entries which can be read shows nothing
		add(Written, "the mailbox", "its mailbox is being written by another program, or is broken: what is in it is not known")
	case run && v.there[tr]:
		add(Queued, "the mailbox", "another program erased it; "+string(m.Name)+" takes it from the record")
	case tr.from != "" && tr.to == protocol.Lead && !v.led && v.now.Sub(tr.sent.At) > guestPuts:
		add(vanished(tr, b))
	case tr.from != "" && tr.to == protocol.Lead:
		// its sender sends it, and again when it is erased, until the lead has taken it
	case v.written(tr) && v.foreign(tr):
		add(vanished(tr, b))
	case v.written(tr) && b.pruned:
		add(Delivered, "the mailbox", "it is gone: who reads there removes what was read")
	case v.written(tr):
		add(DeadLetter, "the mailbox", "it is gone, unread: another program erased or altered it")
	}
	return states
}

// written reports a message that was in its mailbox: a record says so, or its sender has written a
// later one there.
func (v *survey) written(tr *trail) bool {
	if v.there[tr] {
		return true
	}
	for _, later := range v.t.order {
		if later.from != tr.from || later.to != tr.to || later.sent.Seq <= tr.sent.Seq {
			continue
		}
		if _, i := v.find(later); i >= 0 || later.taken() || later.reached(Refused) {
			return true
		}
	}
	return false
}

// guestPuts is longer than a guest needs to write its message into the lead's mailbox.
const guestPuts = 10 * time.Second
