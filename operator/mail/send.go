package mail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"waggle/control"
	"waggle/internal/cut"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
	"waggle/transport"
)

// Message is plain text to send.
type Message struct {
	To      protocol.Address
	Text    string
	Summary string // "": the first line
	Color   string
	As      string // sender's name; "": the operator's, see signer
	// Priority says when a busy session gets it; "" is normal. Only the lead's own messages to
	// members that waggle runs may have another one.
	Priority record.Priority
	// Supersedes is the msg_id, or its beginning, of a message to the same recipient that this one
	// replaces; it fails when that one was taken.
	Supersedes string
	// Expires is how long it may wait for its recipient; 0: without limit.
	Expires time.Duration

	// ID is the msg_id; "": a new one. A message of the same id, sender and text that is recorded
	// for a member is not sent again, so that a caller may repeat a call. In a message to everyone
	// each copy has an id that follows from this one and the recipient.
	ID string

	// Metadata is for readers of the entry: a JSON object, or nil.
	Metadata json.RawMessage
	// Want is Acknowledged when only members that can acknowledge may get it: those that waggle
	// runs.
	Want Delivery

	inside *control.Member // the member inside whose process the call is made
	api    bool            // the team has the form of seed 002
	first  bool            // the instructions of a member, the first entry of its mailbox
}

// Sent is the result of a message to one recipient (commands §4).
type Sent struct {
	To     string        `json:"to"`
	MsgID  string        `json:"msg_id"`
	State  Delivery      `json:"state"` // written, queued, refused, failed; after Await the state that it reached
	Ahead  int           `json:"ahead"` // unread messages before this one
	Detail string        `json:"detail"`
	Error  string        `json:"error"`
	Next   operator.Next `json:"-"` // what has to be done before the recipient reads it; zero: nothing
	err    error
	team   protocol.TeamName // of a member; "": it went to another address
}

// Err returns the cause behind Error.
func (s Sent) Err() error { return s.err }

// maxSummary is where real clients cut a summary (protocol §1.18).
const maxSummary = 200

// refusal has the command that really does what a control message in a text claims to do.
var refusal = map[protocol.Kind]operator.Step{
	protocol.KindPermissionResponse:        operator.NextAnswerRequest,
	protocol.KindPlanApprovalResponse:      operator.NextAnswerPlan,
	protocol.KindSandboxPermissionResponse: operator.NextAnswerHost,
	protocol.KindShutdownRequest:           operator.NextEndTeam,
	protocol.KindTaskAssignment:            operator.NextGiveTask,
}

// Send sends plain text to an address. A message to a member is recorded before it is sent (Words of package
// control), and waggle msg show follows it. An unknown recipient is an error and makes no file. Text that decodes
// to a known kind is refused: it would look like control and have no authority. A message to everyone is one
// tracked message for each member but the sender. The team may be "" for an address that is not a member's.
func (o Operator) Send(ctx context.Context, name protocol.TeamName, m Message) ([]Sent, error) {
	if err := sendable(m.Text); err != nil {
		return nil, err
	}
	var cfg *team.Config
	if name != "" {
		var err error
		if cfg, err = o.Registry(ctx, name); err != nil {
			return nil, err
		}
		m.api = cfg.SeedForm()
	}
	s, from, color, err := o.sender(ctx, cfg, &m)
	if err != nil {
		return nil, err
	}
	to, err := recipients(s, cfg, operator.LeadOf(s, m.To), from)
	if err != nil {
		return nil, err
	}
	way := o.router(cfg)
	letters := make([]*letter, len(to))
	for i, r := range to {
		letters[i] = o.letter(s, r, from, color, m)
		o.throughSession(s, cfg, letters[i], m)
	}
	if s != nil {
		o.sendMembers(ctx, s, way, letters, m)
	}
	results := make([]Sent, len(to))
	for i, l := range letters {
		if l.to.Scheme != protocol.SchemeMember && l.res.err == nil {
			o.sendOut(ctx, way, l)
		}
		results[i] = l.res
	}
	return results, nil
}

// sendable refuses a text that is no message or that decodes as control.
func sendable(text string) error {
	if len(text) > protocol.MaxText || !utf8.ValidString(text) { // before anything reads it
		return &operator.Error{Kind: operator.Usage, Op: "send", Msg: fmt.Sprintf("the text must be UTF-8 of at most %d bytes", protocol.MaxText)}
	}
	if d := protocol.DecodeText(text); d.Kind != protocol.KindText && d.Kind != protocol.KindUnknown {
		next, advice := refusal[d.Kind], ""
		if next == "" {
			advice = "only a member's own machine sends it"
		}
		kind := string(d.Kind)
		if d.Kind == protocol.KindInvalid {
			kind = d.Type
		}
		return &operator.Error{Kind: operator.Refused, Op: "send", Msg: fmt.Sprintf("the text is a %s message, and send sends plain text only", kind), Next: next.With(), Advice: advice}
	}
	if strings.TrimSpace(text) == "" {
		return &operator.Error{Kind: operator.Usage, Op: "send", Msg: "there is nothing to send"}
	}
	return nil
}

// router returns a sender for every scheme that this operator reaches. Without cfg it reaches no
// members.
func (o Operator) router(cfg *team.Config) transport.Router {
	r := transport.Router{protocol.SchemeUDS: sockets{o, transport.Sockets{Keys: o.Home.SocketKeys()}}, protocol.SchemeHTTP: transport.Web{Token: o.webToken}}
	if cfg != nil {
		r[protocol.SchemeMember] = transport.Mailboxes{Open: func(_ context.Context, to protocol.Address) (mailbox.Store, error) {
			return o.Box(cfg, to.Member, nil)
		}}
		r[protocol.SchemeBridge] = transport.Mailboxes{Open: func(ctx context.Context, to protocol.Address) (mailbox.Store, error) {
			return o.bridge(ctx, cfg.Name, to)
		}}
	}
	return r
}

// sender returns whose message this is, and the journal that records it; nil for a message to no
// team. The name carries no authority. A message from inside a member's process is that member's,
// whatever name it gives.
func (o Operator) sender(ctx context.Context, cfg *team.Config, m *Message) (s *operator.State, from, color string, err error) {
	if m.Priority, err = record.ParsePriority(string(m.Priority)); err != nil {
		return nil, "", "", &operator.Error{Kind: operator.Usage, Op: "send", Err: err}
	}
	name := protocol.MemberName("operator")
	if m.As != "" {
		if name, err = protocol.ParseMember(m.As); err != nil {
			return nil, "", "", &operator.Error{Kind: operator.Usage, Op: "send", Err: err, Next: operator.NextAs.With()}
		}
	}
	switch toOne := m.To.Scheme == protocol.SchemeMember; {
	case m.ID != "" && !msgID(m.ID):
		return nil, "", "", &operator.Error{Kind: operator.Usage, Op: "send", Msg: fmt.Sprintf("--id %.64q is no message id", m.ID), Advice: "a UUID, for instance from uuidgen"}
	case m.ID != "" && !toOne && m.To.Scheme != protocol.SchemeBroadcast:
		return nil, "", "", &operator.Error{Kind: operator.Usage, Op: "send", Msg: "--id is for members: nothing else remembers what was sent", Advice: "send to a member's name"}
	case m.Supersedes != "" && !toOne:
		return nil, "", "", &operator.Error{Kind: operator.Usage, Op: "send", Msg: "a message to one member supersedes another to the same"}
	case (m.Priority != record.PriorityNormal || m.Expires != 0) && !toOne && m.To.Scheme != protocol.SchemeBroadcast:
		return nil, "", "", &operator.Error{Kind: operator.Usage, Op: "send", Msg: "a priority and an expiry are for members", Advice: "send to a member's name"}
	}
	if cfg == nil {
		return nil, string(name), m.Color, nil
	}
	s, led, err := o.JournalOf(ctx, cfg)
	if err != nil {
		return nil, "", "", err
	}
	if err := o.steeringGuard(ctx, s, led, *m); err != nil {
		return nil, "", "", err
	}
	callers, err := o.Callers(s)
	if err == nil && len(callers) == 0 {
		err = o.GuardMembers(ctx, s, "send") // a member speaks in its own team
	}
	switch {
	case err != nil:
		return nil, "", "", err
	case len(callers) > 1:
		return nil, "", "", &operator.Error{Kind: operator.Refused, Op: "send", Msg: "it was called from inside " + operator.Names(callers) + ": nobody can tell which",
			Advice: "members that send by themselves need backend: process"}
	case len(callers) == 1:
		m.inside = callers[0]
	}
	switch {
	case m.inside != nil && m.As != "" && !protocol.SameName(name, m.inside.Name):
		return nil, "", "", &operator.Error{Kind: operator.Refused, Op: "send", Msg: fmt.Sprintf("member %s cannot send as %s", m.inside.Name, name)}
	case m.inside != nil:
		name = m.inside.Name
	case led && m.As == "":
		return s, string(protocol.Lead), m.Color, nil // the operator speaks as the lead of a team that waggle leads
	}
	if m.inside == nil {
		if name, err = o.Signer(ctx, s, cfg, led, m.As); err != nil {
			return nil, "", "", err
		}
	}
	if err := o.begin(ctx, s); err != nil {
		return nil, "", "", err
	}
	color = m.Color
	if mem, ok := cfg.Member(name); ok && color == "" {
		color = mem.Color
	}
	return s, string(name), color, nil
}

// recipients resolves an address: a member's name, everyone's into each member's; any other address
// stays as it is. With a state a member that has left is one still: why it gets nothing is told (receives).
func recipients(s *operator.State, cfg *team.Config, a protocol.Address, from string) ([]protocol.Address, error) {
	if a.Scheme != protocol.SchemeBroadcast && a.Scheme != protocol.SchemeMember {
		return []protocol.Address{a}, nil
	}
	if cfg == nil {
		return nil, &operator.Error{Kind: operator.Usage, Op: "send", Msg: fmt.Sprintf("%s is in a team, and none is named", a), Next: operator.NextNameTeam.With()}
	}
	if a.Scheme == protocol.SchemeBroadcast {
		var to []protocol.Address
		for _, m := range cfg.Members {
			if !m.Gone() && !protocol.SameName(m.Name, protocol.MemberName(from)) {
				to = append(to, protocol.Address{Scheme: protocol.SchemeMember, Member: m.Name})
			}
		}
		if len(to) == 0 {
			return nil, &operator.Error{Kind: operator.NotFound, Op: "send", Msg: "the team has no other member"}
		}
		return to, nil
	}
	if a.Team != "" && a.Team != cfg.Name {
		return nil, &operator.Error{Kind: operator.Usage, Op: "send", Msg: fmt.Sprintf("%s is in team %s, and this is %s", a.Member, a.Team, cfg.Name), Next: operator.Next{Step: operator.NextOtherTeam, Team: a.Team}}
	}
	m, ok := cfg.Member(a.Member)
	if !ok || m.Gone() {
		if left, ok := operator.Departed(s, string(a.Member)); ok {
			return []protocol.Address{{Scheme: protocol.SchemeMember, Member: left.Name}}, nil
		}
		return nil, &team.NotFoundError{What: "member", Name: string(a.Member), Near: cfg.Near(string(a.Member))}
	}
	return []protocol.Address{{Scheme: protocol.SchemeMember, Member: m.Name}}, nil
}

// letter is a message to one recipient while it is being sent.
type letter struct {
	to  protocol.Address
	env protocol.Envelope
	ord *control.Order // its record
	res Sent
}

func (l *letter) fail(state Delivery, err error) {
	l.res.State, l.res.Error, l.res.err = state, err.Error(), err
}

func (o Operator) letter(s *operator.State, to protocol.Address, from, color string, m Message) *letter {
	l := &letter{to: to, res: Sent{To: to.String(), State: Failed}}
	mint, err := o.Minter.Mint()
	if err != nil {
		l.fail(Failed, err)
		return l
	}
	l.env = protocol.Envelope{From: from, Text: m.Text, Summary: m.Summary, Timestamp: protocol.FormatTime(mint.Now), Color: color,
		MsgV: 1, MsgID: mint.MsgID, Type: "message"}
	switch {
	case m.ID != "" && m.To.Scheme == protocol.SchemeBroadcast: // each message needs its own id
		l.env.MsgID = uuid.NewSHA1(uuid.MustParse(m.ID), []byte(to.Member)).String()
	case m.ID != "":
		l.env.MsgID = m.ID
	}
	if m.first {
		l.env.Type, l.env.Summary = string(protocol.KindSystemInit), firstSummary
	}
	if l.env.Summary == "" {
		l.env.Summary, _, _ = strings.Cut(strings.TrimSpace(m.Text), "\n")
	}
	l.env.Summary = cut.Runes(l.env.Summary, maxSummary)
	if l.env, err = Extras(s, l.env, m); err != nil {
		l.fail(Failed, err)
		return l
	}
	if to.Scheme == protocol.SchemeMember {
		l.res.MsgID, l.res.team = l.env.MsgID, s.Team
	}
	return l
}

// sendOut sends a letter to an address that is not a member's.
func (o Operator) sendOut(ctx context.Context, way transport.Sender, l *letter) {
	receipt, err := way.Send(ctx, l.to, l.env)
	if err != nil {
		l.fail(Failed, hinted(err))
		return
	}
	l.res.MsgID, l.res.State, l.res.Ahead, l.res.Detail = receipt.MsgID, Delivery(receipt.State), receipt.Ahead, receipt.Detail
}

// Extras adds fields that only some readers know: metadata, and in teams that waggle leads or that have
// the form of seed 002 the id as that document names it.
func Extras(s *operator.State, env protocol.Envelope, m Message) (protocol.Envelope, error) {
	var err error
	if len(m.Metadata) > 0 {
		if env, err = env.With("metadata", m.Metadata); err != nil {
			return env, err
		}
	}
	if !m.api && (s == nil || s.JournalName != journal.Leader) {
		return env, nil
	}
	return env.WithMessageID()
}

// found is the next step when nothing answers at an address.
var found = map[transport.Missing]operator.Step{
	transport.MissingEndpoint: operator.NextServeIs,
	transport.MissingSession:  operator.NextSessions,
	transport.MissingEditor:   operator.NextBridgeEditor,
}

// hinted adds the next step to an error about an address that nothing answers at.
func hinted(err error) error {
	var missing *transport.NotFoundError
	var other *transport.NotSocketError
	switch {
	case errors.Is(err, transport.ErrPlain):
		return &operator.Error{Kind: operator.Usage, Op: "send", Err: err}
	case errors.As(err, &missing):
		return &operator.Error{Kind: operator.NotFound, Op: "send", Err: err, Advice: missing.Hint, Next: found[missing.Missing].With()}
	case errors.As(err, &other):
		return &operator.Error{Kind: operator.Usage, Op: "send", Err: err, Next: operator.NextSendMember.With()}
	}
	return err
}

// Signer returns the name in which the operator's messages and tasks go into a team: nobody can
// answer a name that is not in its registry. In a team that waggle leads it is as, any member's
// name, or the lead's. In another program's team it is a member that was registered here: as, the
// only one, or one that is registered now for this.
func (o Operator) Signer(ctx context.Context, s *operator.State, cfg *team.Config, led bool, as string) (protocol.MemberName, error) {
	if led {
		m, ok := cfg.Member(protocol.MemberName(as))
		if !ok || m.Gone() {
			return "", &operator.Error{Kind: operator.Refused, Op: "send", Msg: fmt.Sprintf("%s is not in the registry of team %s: no member could answer it", as, cfg.Name), Near: cfg.Near(as),
				Next: operator.Next{Step: operator.NextRegisterOrLead, Member: protocol.MemberName(as)}}
		}
		return m.Name, nil
	}
	ours := mineForeign(s, cfg)
	if as == "" && len(ours) == 0 {
		return o.operatorForeign(ctx, cfg)
	}
	if as == "" && len(ours) == 1 {
		return ours[0], nil
	}
	var near []string
	for _, name := range ours {
		if near = append(near, string(name)); protocol.SameName(name, protocol.MemberName(as)) {
			return name, nil
		}
	}
	if as == "" {
		return "", &operator.Error{Kind: operator.Usage, Op: "send", Msg: "several members of this team were registered here: " + strings.Join(near, ", "), Near: near, Next: operator.NextSpeakAs.With()}
	}
	return "", &operator.Error{Kind: operator.Refused, Op: "send", Msg: fmt.Sprintf("another program leads team %s, and %s was not registered here: its name is not ours to use", cfg.Name, as), Near: near,
		Next: operator.Next{Step: operator.NextRegister, Team: cfg.Name}}
}

// operatorForeign registers the member waggle in another program's team, so that members can answer
// it.
func (o Operator) operatorForeign(ctx context.Context, cfg *team.Config) (protocol.MemberName, error) {
	added, _, err := o.Register(ctx, cfg.Name, team.Member{Name: "waggle", AgentType: "general-purpose", JoinedAt: o.Minter.Now(), Subscriptions: []string{}}, true)
	if err != nil {
		return "", fmt.Errorf("register a name that can be answered in team %s: %w", cfg.Name, err)
	}
	return added.Name, nil
}
