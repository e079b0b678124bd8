package control

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"waggle/journal"
	"waggle/machine"
	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// See judges a control entry of the lead's mailbox. peer is the journal of the member that the
// entry names as its sender, nil when there is none. A seen record owns an entry that is in that
// journal; another entry, and a copy of a seen one, gets one audit record and has no effect. An
// entry that is owned already, or has only words, yields no draft.
//
// A request that is asked again opens no second one: its answer, if there is one, is sent again
// (L5).
func (l *Leader) See(in message.Incoming, peer *Worker) []journal.Draft {
	if l.Owns(in.Entry) || !in.IsControl() {
		return nil
	}
	d := in.Decoded
	switch {
	case d.Kind == protocol.KindInvalid:
		return in.Deny("cannot be read: " + message.Fault(d.Warnings))
	case d.FromMismatch:
		return in.Deny("the payload names another sender than the envelope")
	}
	m := l.sender(in, peer)
	if m == nil {
		return in.Deny("no member of that name has a journal here")
	}
	if ok, why := policy.MaySend(d.Kind, policy.RoleWorker, policy.RoleLeader, policy.ChannelJournal); !ok {
		return in.Deny(why)
	}
	id := in.ID()
	records := peer.Vouches(d.Kind, id, in.SHA256())
	if len(records) == 0 {
		return in.Deny("the sender's journal does not have it")
	}
	s := record.Seen{Entry: in.Entry, Instance: m.Instance, Kind: d.Kind, ID: id, Ref: uint64(records[0].Seq), Hops: record.Hops(in.Envelope)}
	if call := records[0].Call; call != nil {
		return l.question(in, m, peer, call, s)
	}
	for _, v := range records {
		if ref := uint64(v.Seq); !l.heard[peerSeq{m.Instance, ref}] {
			s.Ref, s.Task, s.Assignment, s.Failed, s.Checked, s.Note = ref, v.Said.Task, v.Said.Assignment, v.Said.Failed, v.Said.Checked, v.Said.Note
			return []journal.Draft{{Kind: record.KindSeen, Must: true, Body: s}}
		}
	}
	return in.Deny("a copy of a message that was seen before")
}

// sender is the member that an entry is from: the one with its name, or the one that had that name
// before, whose last words may be read after the next one has joined. nil: its journal is not peer.
func (l *Leader) sender(in message.Incoming, peer *Worker) *Member {
	if peer == nil {
		return nil
	}
	m := l.byInst[peer.Instance]
	if m == nil || m.Name != protocol.MemberName(in.Envelope.From) || m != l.current[m.Name] && m.Left == nil {
		return nil
	}
	return m
}

// Before is the member that had a name before the one that has it now.
func (l *Leader) Before(name protocol.MemberName) (*Member, bool) {
	for _, m := range slices.Backward(l.Members) {
		if m.Name == name && m != l.current[name] {
			return m, true
		}
	}
	return nil, false
}

// Sent reports whether this journal holds an entry.
func (w *Worker) Sent(in message.Incoming) bool {
	return len(w.Vouches(in.Decoded.Kind, in.ID(), in.SHA256())) > 0
}

// question is the part of See for requests. The request of a member that has ended is recorded and
// closed (L8).
func (l *Leader) question(in message.Incoming, m *Member, peer *Worker, call *Call, s record.Seen) []journal.Draft {
	if why := l.contests(call); why != "" {
		return in.Deny(why)
	}
	ds := l.opening(m, call, s)
	if l.byKey[call.Key] != nil {
		return ds
	}
	return append(ds, l.withdrawn(peer)...)
}

// contests returns why a request in a member's journal is not the one that it names, "" when it is.
func (l *Leader) contests(call *Call) string {
	if record.DigestOf(l.UID, call.Key, call.Ask) != call.Digest {
		return "the request's digest is not that of what it asks"
	}
	if known := l.byKey[call.Key]; known != nil && known.Digest != call.Digest {
		return "another request already owns this id"
	}
	return ""
}

// opening drafts the seen record of a request, and closes it when nobody waits for its answer.
func (l *Leader) opening(m *Member, call *Call, s record.Seen) []journal.Draft {
	known := l.byKey[call.Key]
	s.Digest, s.Task = call.Digest, call.Task
	if known == nil {
		s.Ask = &call.Ask
		s.Expires = l.deadline(call.Asked)
	}
	ds := []journal.Draft{{Kind: record.KindSeen, Must: true, Body: s}}
	switch {
	case known != nil:
	case m.State() == machine.Terminated:
		ds = append(ds, closing(call.Key, "abandoned: its member has ended"))
	case call.Answer != nil && call.Answer.Leader == 0 && !call.Open():
		ds = append(ds, closing(call.Key, call.given()))
	}
	return ds
}

func closing(k record.Key, evidence string) journal.Draft {
	return journal.Draft{Kind: record.KindClosed, Must: true, Body: record.Closed{Key: &k, Evidence: evidence}}
}

// withdrawn closes the open questions that their asker has taken back.
func (l *Leader) withdrawn(peer *Worker) []journal.Draft {
	var ds []journal.Draft
	for _, r := range l.pending {
		if c := peer.byKey[r.Key]; c != nil && !c.Open() && c.Answer.Leader == 0 {
			ds = append(ds, closing(r.Key, c.given()))
		}
	}
	return ds
}

// Assign orders a member to do a task, in the name of the lead or the operator, whom assignedBy names: the envelope is
// the lead's in both cases. A task that was assigned before is assigned anew.
func (l *Leader) Assign(m *Member, t record.Task, by policy.Role, mint record.Mint) ([]journal.Draft, error) {
	if m.State() == machine.Terminated {
		return nil, &RefusedError{Why: fmt.Sprintf("%s has ended and takes no work", m.Name)}
	}
	t.SHA256 = record.HashText(t.Instructions)
	from := string(protocol.Lead)
	if by == policy.RoleOperator {
		from = string(policy.RoleOperator)
	}
	return l.command(m, record.Commanded{What: record.CommandAssigned, Task: &t, By: by},
		protocol.TaskAssignment{TaskID: t.ID, Subject: t.Subject, Description: t.Instructions,
			AssignedBy: from, Timestamp: protocol.FormatTime(mint.Now), PlanModeRequired: t.PlanRequired}, mint)
}

func (l *Leader) command(m *Member, c record.Commanded, p protocol.Payload, mint record.Mint) ([]journal.Draft, error) {
	mail, err := orderFor(m, p, mint)
	if err != nil {
		return nil, err
	}
	c.Instance, c.Mail = m.Instance, mail
	return []journal.Draft{{Kind: record.KindCommanded, Must: true, Body: c}}, nil
}

// orderFor composes an order in the dialect that the member has spoken last, and where that cannot
// say it, in the wire's.
func orderFor(m *Member, p protocol.Payload, mint record.Mint) (*record.Mail, error) {
	said, dialect := message.In(m.Spelling, p, "", mint.Now)
	mail, err := record.ComposeIn(dialect, protocol.Lead, "", m.Name, said, mint)
	if err != nil && dialect != protocol.DialectWire {
		return record.ComposeIn(protocol.DialectWire, protocol.Lead, "", m.Name, p, mint)
	}
	return mail, err
}

// AskShutdown orders a member to end. A second call while one is outstanding reuses it (L9) and
// drafts nothing.
func (l *Leader) AskShutdown(m *Member, reason string, by policy.Role, mint record.Mint) ([]journal.Draft, error) {
	if m.Shutdown != nil || m.State() == machine.Terminated {
		return nil, nil
	}
	id := protocol.RequestID("shutdown-" + strconv.FormatInt(mint.Now.UnixMilli(), 10) + "@" + string(m.Name))
	return l.command(m, record.Commanded{What: record.CommandShutdown, ID: id, By: by},
		protocol.ShutdownRequest{RequestID: string(id), From: string(protocol.Lead), Reason: reason, Timestamp: protocol.FormatTime(mint.Now)}, mint)
}

// Let drafts that a member has left, and closes its open requests (L8). The detail of one that has died before is how it
// died: that no process was left to end says nothing.
func (l *Leader) Let(m *Member, how, detail string) []journal.Draft {
	if m.Left != nil {
		return nil
	}
	if how == record.LeftDied && m.Died != nil {
		detail = cmp.Or(m.Died.Detail, detail)
	}
	var ds []journal.Draft
	for _, r := range l.pending {
		if r.Instance == m.Instance {
			ds = append(ds, closing(r.Key, "abandoned: "+how))
		}
	}
	return append(ds, journal.Draft{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: m.Instance, How: how, Detail: detail}})
}

// Asked opens the questions in a member's journal that are not here: no message brings them.
func (l *Leader) Asked(peer *Worker) []journal.Draft {
	m, ok := l.byInst[peer.Instance]
	if !ok || m.Left != nil {
		return nil
	}
	var ds []journal.Draft
	for _, c := range peer.Calls {
		if c.Kind != record.KindQuestion || c.AskedSeq == 0 || l.byKey[c.Key] != nil || l.Owns(askedEntry(c)) {
			continue
		}
		s := record.Seen{Entry: askedEntry(c), Instance: m.Instance, Kind: c.Kind, ID: c.ID, Ref: uint64(c.AskedSeq)}
		if l.contests(c) == "" {
			ds = append(ds, l.opening(m, c, s)...)
		}
	}
	return ds
}

// askedEntry stands for the entry of a mailbox in the seen record of a question.
func askedEntry(c *Call) string {
	return fmt.Sprintf("journal:%s#%d", c.Instance, c.AskedSeq)
}

// Settle compares a member's journal with what was ordered: questions that are not here are opened,
// effects that it shows close their order, a request that it took back is closed, what its agent
// has used is counted where there is a budget, and an answer or a command that it took and that is
// not here is a divergence.
func (l *Leader) Settle(peer *Worker) []journal.Draft {
	ds := l.Asked(peer)
	for _, o := range l.Unclosed(peer.Instance) {
		if why := effect(o, peer); why != "" {
			ds = append(ds, journal.Draft{Kind: record.KindClosed, Must: true, Body: record.Closed{Ref: uint64(o.Seq), Evidence: why}})
		}
	}
	ds = append(ds, l.withdrawn(peer)...)
	ds = append(ds, l.count(peer)...)
	if l.Divergence != nil {
		return ds
	}
	if seq, why := l.diverges(peer); why != "" {
		ds = append(ds, journal.Draft{Kind: record.KindDiverged, Must: true, Body: record.Diverged{Instance: peer.Instance, Leader: seq, Why: why}})
	}
	return ds
}

// effect is the evidence that an order has had its effect or never will, "" when
// there is none. A shutdown is closed by its answer.
func effect(o *Order, peer *Worker) string {
	switch {
	case o.Words != nil && !peer.HasTaken(o):
		return ""
	case o.Words != nil:
		return record.KindTaken
	case o.Decided != nil:
		c, ok := peer.Call(o.Decided.Key)
		switch {
		case !ok || c.Open():
			return ""
		case c.Answer.Leader == uint64(o.Seq):
			return record.KindAnswered
		case o.TakenBack:
			return record.Withdrawn
		}
		return c.given()
	case o.Commanded.What == record.CommandShutdown:
		return ""
	case peer.hasApplied(uint64(o.Seq)):
		return record.KindApplied
	case peer.outdated(o.Commanded):
		return record.Replaced
	}
	return ""
}

// diverges finds what a member took and this journal does not have, and that the
// operator has not looked at.
func (l *Leader) diverges(peer *Worker) (seq uint64, why string) {
	for _, c := range peer.Calls {
		if c.Answer == nil || c.Answer.Leader == 0 || l.excused[peerSeq{peer.Instance, c.Answer.Leader}] {
			continue
		}
		o := l.orders[journal.Seq(c.Answer.Leader)]
		if o == nil || o.Decided == nil || o.Decided.Key != c.Key || o.Decided.Decision != c.Answer.Decision ||
			o.Decided.UpdatedDigest != c.Answer.UpdatedDigest || !record.SameReplies(o.Decided.Answers, c.Answer.Answers) {
			return c.Answer.Leader, fmt.Sprintf("%s took an answer to %s from seq %d, which is not here", peer.Name, c.ID, c.Answer.Leader)
		}
	}
	for _, a := range peer.applied {
		if a.Channel == policy.ChannelFile || l.excused[peerSeq{peer.Instance, a.Ref}] { // a guest's lead has no journal
			continue
		}
		o := l.orders[journal.Seq(a.Ref)]
		if o == nil || o.Commanded == nil || o.Instance != peer.Instance || o.Commanded.What != a.What ||
			o.Commanded.ID != a.ID || o.Commanded.Version != a.Version {
			return a.Ref, fmt.Sprintf("%s took a command (%s) from seq %d, which is not here", peer.Name, a.What, a.Ref)
		}
	}
	return 0, ""
}
