package mail

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle"
	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/operator"
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
func (d Delivery) Over() bool {
	switch d {
	case Queued, Written, Held:
		return false
	}
	return true
}

// MessageState is one state that a message has reached.
type MessageState struct {
	State    Delivery
	At       time.Time // zero when no record has it
	Claimed  string    // of a message without a record: the time that the message claims
	Evidence string    // which record of which journal, or what the mailbox shows
	Detail   string
}

// trail is the course of one message as the journals have it.
type trail struct {
	to       waggle.MemberName
	id       string // of its mailbox entry
	mail     *record.Mail
	env      waggle.Envelope // of mail
	words    *record.Words
	instance record.Instance // the recipient, where that is on record
	from     string          // the owner of the journal that has it
	seq      journal.Seq
	states   []MessageState
	file     int64  // time of the mailbox's file when it was put there, Unix nanoseconds; 0: not known
	again    string // why it was put there a second time
}

func (t *trail) reached(ds ...Delivery) bool {
	return slices.ContainsFunc(t.states, func(s MessageState) bool { return slices.Contains(ds, s.State) })
}

// taken reports whether the recipient has taken the message, whatever came later.
func (t *trail) taken() bool { return t.reached(Delivered, Acknowledged) }

type place struct {
	to waggle.MemberName
	id string
}

type recordOf struct {
	journal string
	seq     journal.Seq
}

// tracer follows every message of a team through its journals. It continues where it stopped.
type tracer struct {
	s       *operator.State
	files   []*followed
	byPlace map[place]*trail
	byRef   map[recordOf]*trail
	asked   map[record.Key]*trail
	order   []*trail // those that their senders recorded, in the order of the journals
}

// followed is one journal as the tracer reads it.
type followed struct {
	name string // leader, or the member's name
	id   journal.Name
	j    journal.Journal
	turn []*trail // the messages that the running turn got
	err  error    // why it cannot be read further
}

func newTracer(s *operator.State) *tracer {
	return &tracer{s: s, byPlace: map[place]*trail{}, byRef: map[recordOf]*trail{}, asked: map[record.Key]*trail{}}
}

// refresh reads new records. The order of the journals does not matter: states are sorted by their
// times. The error is that of the leader's journal, or of ctx; a member's that cannot be read is left as far as
// it was read (broken).
func (t *tracer) refresh(ctx context.Context) error {
	if err := t.s.Journal.Refresh(ctx); err != nil {
		return err
	}
	if len(t.files) == 0 {
		t.follow(t.s.JournalName, string(journal.Leader))
	}
	for _, m := range t.s.Lead.Members[len(t.files)-1:] {
		t.follow(journal.Name(m.Instance), string(m.Name))
	}
	for _, f := range t.files {
		if f.j == nil {
			continue
		}
		err := f.j.Refresh(ctx)
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		f.err = err
	}
	return t.files[0].err
}

func (t *tracer) follow(j journal.Name, name string) {
	f := &followed{name: name, id: j}
	if f.j, f.err = t.s.Dir.OpenJournal(j, traced{t, f}, t.s.JournalOptions); f.err != nil {
		f.j = nil // its fold has what can be read
	}
	t.files = append(t.files, f)
}

// broken returns the errors of the members' journals (operator.JournalErrors), without those that the operator has
// acknowledged.
func (t *tracer) broken() error {
	var errs []error
	for _, f := range t.files {
		errs = append(errs, t.s.Unread(f.id, f.err))
	}
	return errors.Join(errs...)
}

// unread reports that a member's journal cannot be read to its end.
func (t *tracer) unread(i record.Instance) bool {
	return i != "" && slices.ContainsFunc(t.files, func(f *followed) bool { return f.id == journal.Name(i) && f.err != nil })
}

// traced is the fold of one journal.
type traced struct {
	t *tracer
	f *followed
}

// traceBody has the fields of all records that concern a message.
type traceBody struct {
	Entry    string           `json:"entry"`
	Entries  []string         `json:"entries"`
	Box      string           `json:"box"`
	Why      string           `json:"why"`
	Kind     waggle.Kind      `json:"kind"`
	ID       waggle.RequestID `json:"id"`
	Instance record.Instance  `json:"instance"`
	Ref      uint64           `json:"ref"`
	Leader   uint64           `json:"leader_seq"`
	Evidence string           `json:"evidence"`
	Decision string           `json:"decision"`
	By       string           `json:"by"`
	Via      string           `json:"via"`
	How      string           `json:"how"`
	Failed   bool             `json:"failed"`
	Note     string           `json:"note"`
	Mail     *record.Mail     `json:"mail"`
	File     int64            `json:"file_ns"`
	Again    string           `json:"again"`
}

func (b traceBody) key() record.Key {
	return record.Key{Instance: b.Instance, Kind: b.Kind, ID: b.ID}
}

// traceKinds are the kinds of record that concern a message.
var traceKinds = []string{record.KindSaid, record.KindAsked, record.KindCommanded, record.KindDecided, record.KindSent, record.KindClosed,
	record.KindSeen, record.KindTaken, record.KindHeard, record.KindUnverified, record.KindLeft, record.KindApplied, record.KindAnswered}

// Apply implements journal.Fold.
func (x traced) Apply(r journal.Record) error {
	if !slices.Contains(traceKinds, r.Kind) {
		return nil
	}
	var b traceBody
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return err
	}
	if b.Mail != nil {
		if err := x.sends(r, b); err != nil {
			return err
		}
	}
	if x.f.name == string(journal.Leader) {
		x.leader(r, b)
	} else {
		x.worker(r, b)
	}
	return nil
}

// at finds or makes the trail of a mailbox entry.
func (t *tracer) at(to waggle.MemberName, id string) *trail {
	p := place{to, id}
	if t.byPlace[p] == nil {
		t.byPlace[p] = &trail{to: to, id: id}
	}
	return t.byPlace[p]
}

// sends begins the trail of a message that is recorded before it is sent.
func (x traced) sends(r journal.Record, b traceBody) error {
	env, err := b.Mail.Open()
	if err != nil {
		return err
	}
	tr := x.t.at(b.Mail.To, mailbox.ID{Hash: env.Hash(), Occurrence: 1}.String())
	if tr.mail != nil {
		return nil // a repetition of the same message
	}
	tr.mail, tr.env, tr.from, tr.seq = b.Mail, env, x.f.name, r.Seq
	tr.instance = b.Instance
	if r.Kind == record.KindSaid && x.f.name == string(journal.Leader) {
		tr.words = &record.Words{}
		if err := json.Unmarshal(r.Body, tr.words); err != nil {
			return err
		}
	} else if x.f.name != string(journal.Leader) {
		tr.instance = ""
		if m, ok := x.t.s.Lead.Member(b.Mail.To); ok {
			tr.instance = m.Instance
		}
	}
	if r.Kind == record.KindAsked {
		x.t.asked[b.key()] = tr
	}
	x.t.byRef[recordOf{x.f.name, r.Seq}] = tr
	x.t.order = append(x.t.order, tr)
	x.note(tr, r, Queued, "")
	return nil
}

func (x traced) note(tr *trail, r journal.Record, d Delivery, detail string) {
	evidence := fmt.Sprintf("journal %s, seq %d: %s", x.f.name, r.Seq, r.Kind)
	if x.f.name == string(journal.Leader) {
		evidence = fmt.Sprintf("journal %s, seq %d: %s", x.t.s.JournalName, r.Seq, r.Kind)
	}
	tr.states = append(tr.states, MessageState{State: d, At: r.Time, Evidence: evidence, Detail: detail})
}

// leader reads a record of the leader's journal.
func (x traced) leader(r journal.Record, b traceBody) {
	lead := string(waggle.Lead)
	switch r.Kind {
	case record.KindSent:
		if tr := x.t.byRef[recordOf{x.f.name, journal.Seq(b.Ref)}]; tr != nil {
			x.note(tr, r, Written, "")
			if tr.file = b.File; b.Again != "" {
				tr.again = b.Again
			}
		}
	case record.KindSeen:
		tr := x.t.at(waggle.Lead, b.Entry)
		x.note(tr, r, Delivered, "the lead has taken it in")
		if b.Kind != waggle.KindPermissionRequest && b.Kind != waggle.KindSandboxPermissionRequest && b.Kind != waggle.KindPlanApprovalRequest {
			x.note(tr, r, Acknowledged, "it is on the lead's record")
		}
	case record.KindDecided:
		if tr := x.t.asked[b.key()]; tr != nil && b.Via == control.ViaExpiry {
			x.note(tr, r, Expired, "nobody answered before its deadline")
		} else if tr != nil {
			x.note(tr, r, Acknowledged, b.Decision+" by "+b.By)
		}
	case record.KindClosed:
		if tr := x.t.byRef[recordOf{x.f.name, journal.Seq(b.Ref)}]; tr != nil {
			x.closed(tr, r, b.Evidence)
		}
	case record.KindTaken:
		for _, e := range b.Entries {
			x.note(x.t.at(waggle.Lead, e), r, Delivered, "the operator has read it")
		}
	case record.KindUnverified:
		if b.Box == lead {
			x.note(x.t.at(waggle.Lead, b.Entry), r, Refused, b.Why)
		}
	case record.KindLeft:
		for _, tr := range x.t.order {
			if tr.instance == b.Instance && !tr.taken() {
				x.note(tr, r, DeadLetter, "its recipient has ended: "+b.How)
			}
		}
	}
}

// closed reads the end of a message of the lead.
func (x traced) closed(tr *trail, r journal.Record, evidence string) {
	why, detail, _ := strings.Cut(evidence, ": ")
	what, by, _ := strings.Cut(why, " by ")
	switch {
	case what == record.Withdrawn:
		x.note(tr, r, Withdrawn, "")
	case what == record.Superseded:
		x.note(tr, r, Superseded, "by "+by)
	case strings.HasPrefix(evidence, "replaced"):
		x.note(tr, r, Superseded, evidence)
	case what == record.Expired:
		x.note(tr, r, Expired, "nobody took it in time")
	case what == record.Failed:
		x.note(tr, r, Failed, detail)
	case evidence == record.ReaderMarked, evidence == record.ReaderTook:
		x.note(tr, r, Delivered, evidence)
	case evidence == record.ReaderNever:
		x.note(tr, r, Erased, evidence)
	}
}

// worker reads a record of a member's journal.
func (x traced) worker(r journal.Record, b traceBody) {
	me := waggle.MemberName(x.f.name)
	switch r.Kind {
	case record.KindTaken:
		x.f.turn = nil
		x.takes(r, b.Entries, "its session was given it")
	case record.KindHeard:
		x.takes(r, b.Entries, "its session was given it in the middle of a turn")
	case record.KindSaid:
		if b.Kind != waggle.KindIdleNotification {
			return
		}
		detail := "the turn that was given it has ended"
		if b.Failed {
			detail = "the turn that was given it has failed: " + b.Note
		}
		for _, tr := range x.f.turn {
			x.note(tr, r, Acknowledged, detail)
		}
		x.f.turn = nil
	case record.KindApplied, record.KindAnswered:
		tr := x.t.byRef[recordOf{string(journal.Leader), journal.Seq(b.Leader)}]
		if tr == nil && b.Entry != "" {
			tr = x.t.at(me, b.Entry)
		}
		if tr != nil {
			x.note(tr, r, Delivered, "")
			x.note(tr, r, Acknowledged, "it took effect")
		}
	case record.KindUnverified:
		x.note(x.t.at(me, b.Entry), r, Refused, b.Why)
	}
}

func (x traced) takes(r journal.Record, entries []string, detail string) {
	for _, e := range entries {
		tr := x.t.at(waggle.MemberName(x.f.name), e)
		x.f.turn = append(x.f.turn, tr)
		x.note(tr, r, Delivered, detail)
	}
}

// rank is the order of the states, which may differ from that of the records: a recipient may
// record a message before its sender records that it was written.
func (d Delivery) rank() int {
	return slices.Index([]Delivery{Queued, Failed, Written, Held, Expired, Withdrawn, Superseded, DeadLetter, Erased, Refused, Delivered, Acknowledged}, d)
}

// settled returns the states in order, each once, without an end that came after the recipient had
// taken the message.
func (t *trail) settled() []MessageState {
	states := slices.Clone(t.states)
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
