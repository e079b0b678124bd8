package control

import (
	"fmt"
	"slices"

	"waggle/journal"
	"waggle/machine"
	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Open drafts the record of this start of the instance. An epoch that is not
// newer than the journal's is refused with ErrSuperseded.
func (w *Worker) Open(o record.Opened) ([]journal.Draft, error) {
	if o.Epoch <= w.Epoch {
		return nil, ErrSuperseded
	}
	return []journal.Draft{{Kind: record.KindOpened, Must: true, Body: o}}, nil
}

// Receive judges a control entry of this worker's mailbox. Only an entry that the leader's journal
// has, for this instance and with this very text, has an effect; any other gets one audit record
// (trust §1). An entry that is owned already, or has only words, yields no draft.
func (w *Worker) Receive(in message.Incoming, l *Leader) []journal.Draft {
	if w.Owns(in.Entry) || !in.IsControl() {
		return nil
	}
	d := in.Decoded
	switch {
	case d.Kind == protocol.KindInvalid:
		return in.Deny("cannot be read: " + message.Fault(d.Warnings))
	case d.FromMismatch:
		return in.Deny("the payload names another sender than the envelope")
	case in.Envelope.From != string(protocol.Lead):
		return in.Deny("only the lead may send it")
	}
	if ok, why := policy.MaySend(d.Kind, policy.RoleLeader, policy.RoleWorker, policy.ChannelJournal); !ok {
		return in.Deny(why)
	}
	orders := l.Vouches(w.Instance, d.Kind, in.SHA256())
	if len(orders) == 0 {
		return in.Deny("the leader's journal does not have it")
	}
	for _, o := range orders {
		if w.Wants(o) {
			return w.obey(in, o)
		}
	}
	switch {
	case w.gone:
		return in.Deny("this member has ended")
	case orders[0].Decided != nil:
		return in.Deny("it answers nothing that is open")
	}
	return in.Deny("a copy of an order that was applied already, or was replaced by a newer one")
}

// obey drafts the record of an order that has not had its effect yet.
func (w *Worker) obey(in message.Incoming, o *Order) []journal.Draft {
	if b := o.Commanded; b != nil {
		return []journal.Draft{{Kind: record.KindApplied, Must: true, Body: record.Applied{What: b.What, Ref: uint64(o.Seq), Entry: in.Entry,
			ID: b.ID, Version: b.Version, Task: b.Task}}}
	}
	b := o.Decided
	c := w.byKey[b.Key]
	switch {
	case c.Digest != b.Digest:
		return in.Deny("it answers another request of that id")
	case o.TakenBack:
		return []journal.Draft{c.revokeBy(takenBackText, in.Entry)}
	}
	return []journal.Draft{o.taken(in.Entry)}
}

// taken drafts that a worker takes this answer, which an entry of its mailbox brought; "": none did.
func (o *Order) taken(entry string) journal.Draft {
	b := o.Decided
	return journal.Draft{Kind: record.KindAnswered, Must: true, Body: record.Answered{Key: b.Key, Digest: b.Digest, Decision: b.Decision,
		By: b.By, Rule: b.Rule, Reason: b.Reason, Policy: b.Policy, Leader: uint64(o.Seq), Answers: b.Answers,
		UpdatedInput: b.UpdatedInput, UpdatedDigest: b.UpdatedDigest, UseBy: b.UseBy, Entry: entry}}
}

// Take hands the next turn's work to the session: a task that was assigned and not taken yet, or
// chat. The turn begins with a plan when the task or the member requires one. Words that were
// withdrawn meanwhile are an ErrUnsaid, a budget that is used up an ErrPaused.
func (w *Worker) Take(t record.Taken, l *Leader) ([]journal.Draft, error) {
	if w.State() != machine.Idle || w.turn != nil {
		return nil, fmt.Errorf("take work while %s", w.State())
	}
	if err := l.standing(t.Entries); err != nil {
		return nil, err
	}
	if e := w.Over(l); e != nil && (t.Task != "" || len(t.Entries) > 0) { // a turn of the agent's own asks at the gate
		return nil, fmt.Errorf("%w: %s", ErrPaused, e)
	}
	if m, ok := l.ByInstance(w.Instance); ok && m.PlanRequired {
		t.Plan = true
	}
	if t.Task != "" {
		s := w.task(t.Task)
		if s == nil || s.Taken || s.Ended {
			return nil, fmt.Errorf("take task %s: it is not assigned", t.Task)
		}
		t.Plan = t.Plan || s.PlanRequired
	}
	return []journal.Draft{{Kind: record.KindTaken, Must: true, Body: t}}, nil
}

// Say records a status message to the lead: an idle notice, progress, a completed
// task. Everything else has a step of its own.
func (w *Worker) Say(p protocol.Payload, s record.Said, l *Leader, m record.Mint) ([]journal.Draft, error) {
	switch p.Kind() {
	case protocol.KindIdleNotification, protocol.KindTaskProgress, protocol.KindTaskCompleted:
		return w.sayIn(protocol.DialectWire, p, s, l, m)
	}
	return nil, fmt.Errorf("say %s: it is not a status", p.Kind())
}

// sayIn records a message to a lead that reads a dialect.
func (w *Worker) sayIn(d protocol.Dialect, p protocol.Payload, s record.Said, l *Leader, m record.Mint) ([]journal.Draft, error) {
	mail, err := w.spelled(record.ComposeIn(d.For(p.Kind()), w.Name, w.color(l), protocol.Lead, p, m))
	if err != nil {
		return nil, err
	}
	if s.Mail, err = mail.WithHops(w.hops()); err != nil {
		return nil, err
	}
	s.Kind = p.Kind()
	if t := w.turnTask; t != nil && t.ID == s.Task {
		s.Assignment = t.Ref
	}
	return []journal.Draft{{Kind: record.KindSaid, Must: true, Body: s}}, nil
}

// Tell records plain words to the lead or a peer. Words that would be parsed as control are
// refused, and so are words to a peer that has left: nobody reads its mailbox.
func (w *Worker) Tell(to protocol.MemberName, text, summary string, l *Leader, m record.Mint) ([]journal.Draft, error) {
	if peer, ok := l.Member(to); ok && peer.Left != nil && to != protocol.Lead {
		return nil, &RefusedError{Why: fmt.Sprintf("%s left the team at %s and reads nothing; the operator can bring it back", peer.Name, protocol.FormatTime(peer.LeftAt))}
	}
	mail, err := w.spelled(record.ComposeText(w.Name, w.color(l), to, text, summary, m))
	if err != nil {
		return nil, err
	}
	if mail, err = mail.WithHops(w.hops()); err != nil {
		return nil, err
	}
	return []journal.Draft{{Kind: record.KindSaid, Must: true, Body: record.Said{Kind: protocol.KindText, Mail: mail}}}, nil
}

// hops is what the messages of the running turn say of turns in which agents only answered each other. A turn with a
// task, one that was told more, and one that has made a call other than a look at the team's lists does more than that.
func (w *Worker) hops() int {
	if w.Guest || w.turn == nil || w.turn.Task != "" || len(w.heard) > 0 {
		return 0
	}
	for _, c := range slices.Backward(w.Calls) {
		if c.turn == w.turn && !policy.ReadsTeam(c.Ask.Tool) {
			return 0
		}
	}
	return w.turn.Hops
}

func (w *Worker) color(l *Leader) string {
	if m, ok := l.ByInstance(w.Instance); ok {
		return m.Color
	}
	return ""
}

// Shown is where a member's process is shown, as the registry spells it.
type Shown struct {
	Pane    string // of a multiplexer; "": none
	Backend string
}

// AnswerShutdown answers the shutdown that is being decided; a yes names where the
// process is shown. Nil when there is
// none: a duplicate never restarts or ends anything (W15).
func (w *Worker) AnswerShutdown(approve bool, reason string, at Shown, l *Leader, m record.Mint) ([]journal.Draft, error) {
	if !w.leaving || w.gone || w.Shutdown == nil {
		return nil, nil
	}
	id := w.Shutdown.ID
	var p protocol.Payload = protocol.ShutdownApproved{RequestID: string(id), From: string(w.Name), Timestamp: protocol.FormatTime(m.Now),
		PaneID: at.Pane, BackendType: at.Backend}
	if !approve {
		p = protocol.ShutdownRejected{RequestID: string(id), From: string(w.Name), Reason: reason, Timestamp: protocol.FormatTime(m.Now)}
	}
	return w.sayIn(w.Shutdown.Spelling, p, record.Said{ID: id, Note: reason}, l, m)
}
