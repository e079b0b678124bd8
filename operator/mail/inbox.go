package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/boxes"
	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// InboxEntry is one message as `inbox` shows it (commands §4).
type InboxEntry struct {
	Index     int      `json:"index"`
	From      string   `json:"from"`
	Timestamp string   `json:"timestamp"` // as the message says
	Read      bool     `json:"read"`
	Kind      string   `json:"kind"`
	Text      string   `json:"text"`
	Payload   any      `json:"payload"`
	Summary   string   `json:"summary"`
	Color     string   `json:"color"`
	MsgID     string   `json:"msg_id"`
	Warnings  []string `json:"warnings"`
	ID        string   `json:"id"`      // identity: hash and occurrence
	Archive   string   `json:"archive"` // the file in the archive it is in; "" for one in the mailbox
	// Request is the request that it asks or answers; nil: none that is known.
	Request *EntryRequest `json:"request,omitempty"`
	// Reply is what the member said to a shutdown request; "": nothing yet.
	Reply string        `json:"reply,omitempty"`
	Entry mailbox.Entry `json:"-"`
}

// EntryRequest is the request that a message asks or answers, as the leader's journal has it.
type EntryRequest struct {
	Handle   string         `json:"handle"`
	Status   string         `json:"status"`
	Decision string         `json:"decision,omitempty"`
	By       string         `json:"by,omitempty"`
	Via      string         `json:"via,omitempty"`
	At       time.Time      `json:"at,omitzero"`
	Of       decide.Request `json:"-"` // the request itself
}

// NewEntryRequest is the request of a message.
func NewEntryRequest(q decide.Request) *EntryRequest {
	e := &EntryRequest{Handle: q.Handle, Status: q.Status, Of: q}
	if a := q.Answer; a != nil {
		e.Decision, e.By, e.Via, e.At = a.Decision, a.By, a.Via, a.At
	}
	return e
}

// Inbox is one member's messages.
type Inbox struct {
	Team    string
	Member  string
	Entries []InboxEntry
	News    []control.News // filled in by the caller
	Reports []string       // problems found in the file
	Path    string         // the mailbox file
	Gone    bool           // the team's directory is gone: Entries come from the archive
	box     *mailbox.Located
}

// Inbox reads a member's mailbox and marks nothing. The mailbox of a departed member can be read
// too.
func (o Operator) Inbox(ctx context.Context, name protocol.TeamName, member protocol.MemberName, unread bool) (*Inbox, error) {
	if o.Homeless(name) {
		return o.afterwards(ctx, name, member, &team.NotFoundError{What: "team", Name: string(name)})
	}
	in, entries, err := o.entries(ctx, name, member)
	if err != nil {
		return nil, err
	}
	t, err := o.traces(ctx, name)
	if err != nil { // messages can be read when a journal cannot
		in.Reports = append(in.Reports, err.Error())
	}
	for _, e := range entries {
		if unread && e.Err == nil && e.Envelope.Read {
			continue
		}
		in.Entries = append(in.Entries, EntryOf(e))
	}
	o.relate(t, in)
	return in, nil
}

// UnreadChat counts the unread entries of a mailbox that are for its reader, not for waggle. It reads no journal.
func (o Operator) UnreadChat(ctx context.Context, name protocol.TeamName, member protocol.MemberName) (n int, err error) {
	_, entries, err := o.entries(ctx, name, member)
	for _, e := range entries {
		if (e.Err != nil || !e.Envelope.Read) && !Controls(EntryOf(e)) {
			n++
		}
	}
	return n, err
}

// entries reads a mailbox. The inbox has no entries yet.
func (o Operator) entries(ctx context.Context, name protocol.TeamName, member protocol.MemberName) (*Inbox, []mailbox.Entry, error) {
	cfg, err := o.Registry(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	in := &Inbox{Team: string(name), Member: string(member), Entries: []InboxEntry{}}
	if m, ok := cfg.Member(member); ok {
		in.Member = string(m.Name)
	} else if has, err := o.Boxes(name).Names(); err != nil || !slices.ContainsFunc(has, func(n protocol.MemberName) bool { return protocol.SameName(n, member) }) {
		return nil, nil, errors.Join(err, &team.NotFoundError{What: "member", Name: string(member), Near: cfg.Near(string(member))})
	}
	in.box, err = o.ReadBox(cfg, protocol.MemberName(in.Member), func(r mailbox.Report) {
		in.Reports = append(in.Reports, r.What)
	})
	if err != nil {
		return nil, nil, err
	}
	entries, err := in.box.Entries(ctx)
	if err != nil {
		return nil, nil, err
	}
	in.Path, err = in.box.Path()
	return in, entries, err
}

// unverifiedWarning begins the warning for an entry that no journal vouches for.
const unverifiedWarning = "unverified, without effect"

// traces reads the journals of a team: of a member whose journal is broken nothing is known, of the others it is. Nil: the
// leader's cannot be read, or waggle does not lead the team.
func (o Operator) traces(ctx context.Context, name protocol.TeamName) (*tracer, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if operator.Unled(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := newTracer(s)
	return t, cmp.Or(t.refresh(ctx), t.broken())
}

// EntryOf returns a mailbox's entry in the form of an inbox.
func EntryOf(e mailbox.Entry) InboxEntry {
	ie := InboxEntry{Index: e.Index, ID: e.ID.String(), Warnings: []string{}, Entry: e}
	if e.Err != nil {
		ie.Kind, ie.Text = string(protocol.KindInvalid), string(e.Raw)
		ie.Warnings = append(ie.Warnings, e.Err.Error())
		return ie
	}
	d := protocol.Decode(e.Envelope)
	env := e.Envelope
	ie.From, ie.Timestamp, ie.Read, ie.Text, ie.Summary, ie.Color, ie.MsgID = env.From, env.Timestamp, env.Read, env.Text, env.Summary, env.Color, env.MsgID
	ie.Kind, ie.Warnings = string(d.Kind), append(ie.Warnings, d.Warnings...)
	switch d.Kind {
	case protocol.KindText, protocol.KindInvalid, protocol.KindUnknown:
	default:
		ie.Payload = d.Payload
	}
	return ie
}

// MarkRead marks entries that Inbox returned. The lead's mailbox of a team that
// another program leads is never touched (trust §5).
func (o Operator) MarkRead(ctx context.Context, in *Inbox) error {
	name, err := protocol.ParseTeam(in.Team)
	if err != nil {
		return err
	}
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil && !operator.Unled(err) {
		return err
	}
	archive, err := o.marks(ctx, s, name, in)
	if err != nil {
		return err
	}
	if in.Member == string(protocol.Lead) && operator.AgentLeads(s) {
		return &operator.Error{Kind: operator.Refused, Op: "inbox", Msg: "the lead's mail is for its agent, which marks what it has taken",
			Next: operator.NextReadUnmarked.With()}
	}
	var ids []mailbox.ID
	var kept []mailbox.Entry
	for _, e := range in.Entries {
		if e.Entry.Err == nil && !e.Read && (s == nil || !Controls(e)) {
			ids, kept = append(ids, e.Entry.ID), append(kept, e.Entry)
		}
	}
	if len(ids) == 0 || in.box == nil {
		return nil
	}
	if s != nil && in.Member == string(protocol.Lead) {
		if err := o.read(ctx, s, ids); err != nil {
			return err
		}
	}
	if archive.Dir != "" { // entries that marking removes are archived
		if err := archive.Keep(kept...); err != nil {
			return err
		}
	}
	return in.box.MarkRead(ctx, ids...)
}

// read records that the operator has read messages to the lead, unless the caller is a member's
// process.
func (o Operator) read(ctx context.Context, s *operator.State, ids []mailbox.ID) error {
	if err := o.GuardMembers(ctx, s, "reading the lead's mailbox"); err != nil {
		return err
	}
	return o.Append(ctx, s, func() ([]journal.Draft, error) {
		var t record.Taken
		for _, id := range ids {
			if e := id.String(); !s.Lead.Owns(e) {
				t.Entries = append(t.Entries, e)
			}
		}
		if len(t.Entries) == 0 {
			return nil, nil
		}
		return []journal.Draft{{Kind: record.KindTaken, Must: true, Body: t}}, nil
	})
}

// News returns the news for the lead's session after a seq, and the seq of the newest: the member
// events that are worth a turn. One call is one turn; an empty result means that no turn is due. It
// takes a leader pass when no process leads: the seq of news is that of their record.
func (o Operator) News(ctx context.Context, name protocol.TeamName, after journal.Seq) ([]control.News, journal.Seq, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return nil, after, err
	}
	if _, err := o.Pass(ctx, s); err != nil {
		return nil, after, err
	}
	return s.Lead.NewsAfter(after), max(after, s.Lead.Head()), nil
}

// IsStatus reports a message that reaches the lead's session as news, if at all.
func IsStatus(e InboxEntry) bool {
	return slices.Contains([]protocol.Kind{protocol.KindIdleNotification, protocol.KindTaskProgress, protocol.KindTaskCompleted}, protocol.Kind(e.Kind))
}

// Controls reports whether an entry is a control message, which the member's machine marks itself.
func Controls(e InboxEntry) bool {
	k := protocol.Kind(e.Kind)
	return k != protocol.KindText && k != protocol.KindUnknown && k != protocol.KindSystemInit
}

// marks reports whether waggle may mark entries of a mailbox: the lead's of a team that waggle
// leads, and those of members that waggle runs or that were registered here. Other mailboxes are
// marked by their readers. archive gets a copy of entries that marking removes; zero: marking
// removes nothing.
func (o Operator) marks(ctx context.Context, s *operator.State, name protocol.TeamName, in *Inbox) (mailbox.Archive, error) {
	refuse := func(why string) (mailbox.Archive, error) {
		return mailbox.Archive{}, &operator.Error{Kind: operator.Refused, Op: "inbox", Msg: fmt.Sprintf("the mailbox of %s in team %s is not ours to mark: %s", in.Member, in.Team, why),
			Next: operator.NextReadUnmarked.With()}
	}
	if in.box == nil {
		return mailbox.Archive{}, nil
	}
	lead := protocol.SameName(protocol.MemberName(in.Member), protocol.Lead)
	if s == nil && lead {
		return refuse("another program leads it")
	}
	own := s
	if own == nil {
		cfg, err := o.Registry(ctx, name)
		if err != nil {
			return mailbox.Archive{}, err
		}
		if own, _, err = o.JournalOf(ctx, cfg); err != nil {
			return mailbox.Archive{}, err
		}
	}
	if m, ok := own.Lead.Member(protocol.MemberName(in.Member)); !lead && (!ok || m.Left != nil) {
		return refuse("whoever reads it was not registered here, and takes its mail itself")
	}
	layout, err := in.box.Layout()
	if err != nil {
		return mailbox.Archive{}, err
	}
	if layout != mailbox.JSONL && team.DialectOf(name) != team.DialectSession {
		return mailbox.Archive{}, nil
	}
	return mailbox.Archive{Dir: boxes.MailDir(own.Dir.Archive(), protocol.MemberName(in.Member))}, nil
}

// Attach formats the unread entries of an inbox as one message for an agent (protocol §6.3), and
// removes all others from the inbox: MarkRead then marks exactly those. It leaves out the entries
// that the machine of a member of waggle takes by itself. The text is empty when nothing is unread.
func (o Operator) Attach(ctx context.Context, in *Inbox) (string, error) {
	machine, err := o.hasMachine(ctx, in)
	if err != nil {
		return "", err
	}
	var kept []InboxEntry
	var unread []mailbox.Entry
	doubted := map[mailbox.ID]bool{}
	for _, e := range in.Entries {
		if e.Entry.Err != nil || e.Read || machine && Controls(e) {
			continue
		}
		kept, unread = append(kept, e), append(unread, e.Entry)
		for _, w := range e.Warnings {
			doubted[e.Entry.ID] = doubted[e.Entry.ID] || strings.HasPrefix(w, unverifiedWarning)
		}
	}
	in.Entries = kept
	return mailbox.PromptOf(unread, func(e mailbox.Entry) bool { return doubted[e.ID] }).Text, nil
}

// hasMachine reports whether a program of waggle takes the control messages of this mailbox.
func (o Operator) hasMachine(ctx context.Context, in *Inbox) (bool, error) {
	s, err := o.Open(ctx, protocol.TeamName(in.Team), operator.Act)
	if operator.Unled(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if in.Member == string(protocol.Lead) {
		return true, nil
	}
	m, ok := s.Lead.Member(protocol.MemberName(in.Member))
	return ok && m.Left == nil && m.Trust != record.FileTrust, nil
}

// relate finds what the journals have of each message: that its reader found it unverified, the request that it asks or
// answers, and what a member said to a shutdown request. A request is that of a message only by the entry that the leader's
// journal names for it: another message with the same id is not it. Without a tracer nothing is known.
func (o Operator) relate(t *tracer, in *Inbox) {
	if t == nil {
		return
	}
	lead, member := t.s.Lead, protocol.MemberName(in.Member)
	said := map[protocol.RequestID]string{}
	for _, ord := range lead.Orders() {
		if ord.Reply != nil && ord.Reply.Kind == protocol.KindShutdownRejected {
			said[ord.Reply.ID] = "refused" + operator.Suffix(ord.Reply.Note)
		} else if ord.Reply != nil {
			said[ord.Reply.ID] = "agreed to"
		}
	}
	for i := range in.Entries {
		e := &in.Entries[i]
		for _, state := range t.at(member, e.ID).course() {
			if state.State == Refused && e.Archive == "" { // in an archive an entry may have another's number
				e.Warnings = append(e.Warnings, unverifiedWarning+": "+state.Detail)
			}
		}
		p, ok := e.Payload.(protocol.Payload)
		if !ok {
			continue
		}
		id, _ := protocol.RequestIDOf(p)
		switch kind := p.Kind(); kind {
		case protocol.KindPermissionRequest, protocol.KindSandboxPermissionRequest, protocol.KindPlanApprovalRequest:
			seen := lead.Intake(e.ID)
			for _, r := range lead.Requests {
				if seen != nil && r.Seq == seen.Seq && protocol.SameName(member, protocol.Lead) {
					o.request(t.s, r, e)
				}
			}
		case protocol.KindPermissionResponse, protocol.KindSandboxPermissionResponse, protocol.KindPlanApprovalResponse:
			for _, r := range lead.RequestsByID(id) {
				if m, ok := lead.ByInstance(r.Instance); ok && protocol.SameName(m.Name, member) && answers[kind] == r.Kind {
					o.request(t.s, r, e)
				}
			}
		case protocol.KindShutdownRequest:
			e.Reply = said[id]
		}
	}
}

// answers are the kinds of requests that kinds of messages answer.
var answers = map[protocol.Kind]protocol.Kind{
	protocol.KindPermissionResponse:        protocol.KindPermissionRequest,
	protocol.KindSandboxPermissionResponse: protocol.KindSandboxPermissionRequest,
	protocol.KindPlanApprovalResponse:      protocol.KindPlanApprovalRequest,
}

func (o Operator) request(s *operator.State, r *control.Request, e *InboxEntry) {
	e.Request = NewEntryRequest(decide.Of(o.Operator).Request(s, r))
}
