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

// Messages of a member with trust: file are judged on the channel "file" (trust §1): any process
// that can write the lead's mailbox could have written them. So they open requests, which a person
// answers, and change what is shown of that member; they have no other effect.

// contested is why a request is denied for which there are two inputs.
const contested = "contested: two different inputs came under this id, and nobody can tell which is meant"

// SeeFile judges a control entry of the lead's mailbox that claims to come from a
// member with trust: file. mint.Now is when it was found: the time that the entry itself
// names is its writer's to choose. A request without an id that can be read gets no answer, since nothing
// would pair it: its sender is told so in words, once for the entry.
func (l *Leader) SeeFile(in message.Incoming, mint record.Mint) ([]journal.Draft, error) {
	if l.Owns(in.Entry) || !in.IsControl() {
		return nil, nil
	}
	d, said := in.Decoded, in.Said()
	m := l.current[protocol.MemberName(in.Envelope.From)]
	switch {
	case said == nil:
		return l.unreadByFile(in, m, mint)
	case d.FromMismatch:
		return in.Deny("the payload names another sender than the envelope"), nil
	case m == nil || m.Trust != record.FileTrust:
		return in.Deny("no member of that name speaks by file"), nil
	}
	if ok, why := policy.MaySendFile(said.Kind(), policy.RoleWorker, policy.RoleLeader); !ok {
		return in.Deny(why), nil
	}
	s := record.Seen{Entry: in.Entry, Instance: m.Instance, Kind: said.Kind(), Channel: policy.ChannelFile, Spelling: spelling(d, m.Spelling)}
	s.ID, _ = protocol.RequestIDOf(said)
	if record.IsRequest(s.Kind) {
		return l.askedByFile(in, m, s, mint)
	}
	switch p := said.(type) {
	case protocol.ShutdownApproved, protocol.ShutdownRejected:
		if m.Shutdown == nil || m.Shutdown.Commanded.ID != s.ID {
			return in.Deny("it answers no open request to shut down"), nil
		}
		if r, ok := p.(protocol.ShutdownRejected); ok {
			s.Note = message.Clip(r.Reason)
		}
	case protocol.TaskCompleted:
		s.Task = message.Clip(p.TaskID)
		if p.Result != nil {
			s.Note = message.Clip(p.Result.Summary)
		}
	case protocol.TaskProgress:
		s.ID, s.Task, s.Note = protocol.RequestID(message.Clip(p.RequestID)), message.Clip(p.RequestID), message.Clip(p.Progress.Message)
	case protocol.IdleNotification:
		s.Task, s.Failed, s.Note = message.Clip(p.CompletedTaskID), p.IdleReason == "failed", message.Clip(p.Result)
		if s.Failed && p.FailureReason != "" {
			s.Note = message.Clip(p.FailureReason)
		}
	}
	return []journal.Draft{{Kind: record.KindSeen, Must: true, Body: s}}, nil
}

// maxTold is how many requests of one membership are explained in words: a program that answers words with another such
// request would go on for ever.
const maxTold = 16

// unreadByFile puts an entry on record that cannot be read. A member that asked something is told so.
func (l *Leader) unreadByFile(in message.Incoming, m *Member, mint record.Mint) ([]journal.Draft, error) {
	why := message.Fault(in.Decoded.Warnings)
	ds := in.Deny("cannot be read: " + why)
	if in.Decoded.FromMismatch || m == nil || m.Trust != record.FileTrust || !record.IsRequest(protocol.Kind(in.Decoded.Type)) {
		return ds, nil
	}
	return l.tells(m, ds, why, mint)
}

// tells adds to the audit record of a request that its member, who waits for an answer that cannot come, is told so in words.
func (l *Leader) tells(m *Member, ds []journal.Draft, why string, mint record.Mint) ([]journal.Draft, error) {
	told := 0
	for _, o := range l.sends {
		if o.Instance == m.Instance && o.Words != nil && o.Words.By == policy.RoleSystem {
			told++
		}
	}
	if m.Left != nil || told >= maxTold {
		return ds, nil
	}
	audit := ds[0].Body.(record.Unverified)
	mail, err := record.ComposeText(protocol.Lead, "", m.Name, message.Unanswerable(audit.Kind, why), "a request that cannot be answered", mint)
	if err != nil {
		return nil, err
	}
	audit.Told = true
	ds[0].Body = audit
	return append(ds, journal.Draft{Kind: record.KindSaid, Must: true, Body: record.Words{Instance: m.Instance, By: policy.RoleSystem, Mail: mail}}), nil
}

// spelling is the dialect that the sender of a message speaks, as a record has it: "" for the wire's.
func spelling(d protocol.Decoded, before protocol.Dialect) protocol.Dialect {
	if s := d.Speaks(before); s != protocol.DialectWire {
		return s
	}
	return ""
}

// askedByFile opens a question. Under an id that has another input already neither can be allowed: the first is denied
// if it is open, and else the member is told in words.
func (l *Leader) askedByFile(in message.Incoming, m *Member, s record.Seen, mint record.Mint) ([]journal.Draft, error) {
	ask, why := message.AskOf(in.Said(), m.Cwd)
	if why != "" {
		return in.Deny(why), nil
	}
	if in.Decoded.Refused != nil {
		ask = message.Unreadable(in.Decoded.Refused, message.Fault(in.Decoded.Warnings))
	}
	k := record.Key{Instance: m.Instance, Kind: s.Kind, ID: s.ID}
	s.Digest = record.DigestOf(l.UID, k, ask)
	known := l.byKey[k]
	switch {
	case known != nil && known.Digest != s.Digest:
		return l.contest(in, m, known, mint)
	case known == nil:
		s.Ask = &ask
		s.Expires = l.deadline(mint.Now)
	}
	ds := []journal.Draft{{Kind: record.KindSeen, Must: true, Body: s}}
	if known == nil && m.State() == machine.Terminated {
		ds = append(ds, closing(k, "abandoned: its member has ended"))
	}
	return ds, nil
}

// contest drafts that another input came under the id of a known request.
func (l *Leader) contest(in message.Incoming, m *Member, known *Request, mint record.Mint) ([]journal.Draft, error) {
	ds := in.Deny(contested)
	if known.State != machine.RequestPending {
		return l.tells(m, ds, fmt.Sprintf("another request has had its id %.60q", known.ID), mint)
	}
	out, err := l.Decide(Answer{Key: known.Key, Digest: known.Digest, By: policy.RoleSystem, Channel: policy.ChannelJournal, Via: ViaUnaskable, Reason: contested},
		journal.Writer{}, mint)
	if err != nil {
		return nil, err
	}
	if !out.Changed { // nothing is decided in this team now
		return append(ds, closing(known.Key, contested)), nil
	}
	return append(ds, out.Drafts...), nil
}

// saidByFile is the part of a seen record for what is no request: it moves what is
// shown of the member.
func (l *Leader) saidByFile(m *Member, r journal.Record, b record.Seen) error {
	from := m.State()
	switch b.Kind {
	case protocol.KindIdleNotification:
		m.LastIdle, m.base = &b, machine.Idle
		return l.did(m, from, machine.EvIdle, r, "")
	case protocol.KindTaskCompleted:
		if m.Claimed == nil {
			m.Claimed = map[string]*record.Seen{}
		}
		m.Claimed[b.Task] = &b
	case protocol.KindShutdownApproved:
		if m.asked(b) && m.AgreedAt.IsZero() {
			m.AgreedAt = r.Time
		}
	case protocol.KindShutdownRejected:
		if m.asked(b) && m.AgreedAt.IsZero() {
			l.close(m.Shutdown)
			m.Shutdown, m.Rejected = nil, refusal(&b)
			return l.did(m, from, machine.EvShutdownNo, r, string(b.ID))
		}
	}
	return nil
}

// refusal is the reason of a rejected shutdown, which not every spelling has (protocol §1.11).
func refusal(b *record.Seen) string { return cmp.Or(b.Note, "it gave no reason") }

// Refuses reports a member that waggle does not run and that said no to its last request to end. It is
// asked once, and no signal follows: it stays until somebody asks it again.
func (m *Member) Refuses() bool {
	return m.Trust == record.FileTrust && m.Left == nil && m.Shutdown == nil && m.Rejected != ""
}

// byFile reports a request whose asker uses files.
func (l *Leader) byFile(req *Request) bool {
	m := l.byInst[req.Instance]
	return m != nil && m.Trust == record.FileTrust
}

// judgeFile judges a request that came by file: a person answers it, unless a rule denies it, or a
// rule for this member allows it. Rules that allow a call to the whole team do not apply, because
// any process could have written the file.
func (l *Leader) judgeFile(r *Request, now time.Time) policy.Verdict {
	p := l.Policy
	own := p.Own(r.Instance, now)
	p.Policy.Allow = nil
	p.Rules = slices.DeleteFunc(slices.Clone(p.Rules), func(s record.Scoped) bool { return !s.Deny && s.Instance != r.Instance })
	p.Hosts = slices.DeleteFunc(slices.Clone(p.Hosts), func(g record.HostGrant) bool { return !g.Deny && g.Instance != r.Instance })
	v := p.Judge(r.Instance, policy.ModeDefault, r.Kind, r.Ask, now)
	if v.Decision == policy.Allow && !slices.ContainsFunc(own, func(name string) bool { return strings.HasPrefix(v.Rule, name) }) {
		return policy.Verdict{Decision: policy.Ask, Rule: v.Rule, Why: "It came by file."}
	}
	return v
}

// mayDecideFile is mayDecide for a request that came by file.
func (l *Leader) mayDecideFile(req *Request, by policy.Role, allow bool) (ok bool, why string) {
	switch {
	case by == policy.RoleRules && req.Gate() == policy.GatePlan:
		return false, "rules say nothing of plans; the operator decides"
	case by == policy.RoleRules && allow && !l.Policy.HasOwn(req.Instance):
		return false, "it came by file: a person decides it, or a rule that was made for this member"
	case by == policy.RoleRules:
		return true, ""
	}
	return policy.MayDecide(req.Gate(), l.deciderOf(req), by, allow)
}

// Finish drafts that the operator has set a task done, unless it is done by the member's own word.
func (l *Leader) Finish(task string) []journal.Draft {
	o := l.tasks[task]
	if o == nil {
		return nil
	}
	m := l.byInst[o.Instance]
	if m.Left != nil || m.Done[task] != nil {
		return nil
	}
	return []journal.Draft{{Kind: record.KindDone, Body: record.Done{Ref: uint64(o.Seq), Task: task}}}
}

func (l *Leader) doneRec(r journal.Record, b record.Done) error {
	o := l.tasks[b.Task]
	if o == nil || uint64(o.Seq) != b.Ref {
		return l.ignore(r, "that task has another order now")
	}
	l.byInst[o.Instance].Done[b.Task] = &record.Seen{Instance: o.Instance, Kind: protocol.KindTaskCompleted, Task: b.Task, Assignment: b.Ref}
	return nil
}

// AlarmEntry names an entry of a member's mailbox in the leader's journal: the member's name and
// then the entry's identity. Entries of the lead's own mailbox have no name before them.
func AlarmEntry(name protocol.MemberName, entry string) string { return string(name) + " " + entry }

// Alarm judges an entry of the mailbox of a member that obeys files (trust: file): the member may
// do what the entry says, and this journal cannot prevent it. An entry in the lead's name that
// carries authority and that this journal does not have is an alarm: one audit record, which names
// the mailbox (trust §1). Any other entry, and one that was recorded before, yields no draft.
func (l *Leader) Alarm(name protocol.MemberName, in message.Incoming) []journal.Draft {
	in.Box, in.Entry = name, AlarmEntry(name, in.Entry)
	if l.Owns(in.Entry) || !in.IsControl() || !protocol.SameName(protocol.MemberName(in.Envelope.From), protocol.Lead) {
		return nil
	}
	kind := in.Decoded.Kind
	if kind != protocol.KindInvalid {
		if ok, _ := policy.MaySend(kind, policy.RoleLeader, policy.RoleWorker, policy.ChannelJournal); !ok {
			return nil
		}
	}
	if m := l.current[name]; m != nil && len(l.Vouches(m.Instance, kind, in.SHA256())) > 0 {
		return nil
	}
	return in.Deny("in the lead's name, and its journal does not have it; " + string(name) + " may obey it all the same")
}
