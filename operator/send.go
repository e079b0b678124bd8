package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"waggle"
	"waggle/internal/atomicfile"
	"waggle/mailbox"
	"waggle/team"
	"waggle/transport"
)

// Message is plain text to send.
type Message struct {
	To      waggle.Address
	Text    string
	Summary string // "": the first line
	Color   string
	As      string // sender's name; "": the operator
}

// Sent is what became of a message to one recipient (DESIGN, `send`).
type Sent struct {
	To    string `json:"to"`
	MsgID string `json:"msg_id"`
	State string `json:"state"` // written, failed
	Ahead int    `json:"ahead"` // unread messages before this one
	Error string `json:"error"`
	err   error
}

// Err is the cause behind Error.
func (s Sent) Err() error { return s.err }

// maxSummary is where real clients cut a summary (WIRE §1.18).
const maxSummary = 200

// refusal says which command does what a text pretends to be.
var refusal = map[waggle.Kind]string{
	waggle.KindPermissionResponse:        "waggle approve or waggle deny answers a request",
	waggle.KindPlanApprovalResponse:      "waggle approve or waggle deny answers a plan",
	waggle.KindSandboxPermissionResponse: "waggle approve or waggle deny answers a network request",
	waggle.KindShutdownRequest:           "waggle down ends a team",
	waggle.KindTaskAssignment:            "waggle task assign gives a task to a member",
}

// Send sends plain text to an address. An unknown recipient is an error and makes
// no file; text that decodes to a known kind is refused: it would look like
// control and have no authority. A message to everyone is one tracked send each,
// never to the sender. The team may be "" for an address that is not a member's.
func (o Operator) Send(ctx context.Context, name waggle.TeamName, m Message) ([]Sent, error) {
	if err := sendable(m.Text); err != nil {
		return nil, err
	}
	var cfg *team.Config
	if name != "" {
		reg, err := team.Open(o.Root, name, atomicfile.Options{})
		if err != nil {
			return nil, err
		}
		if cfg, err = reg.Load(ctx); err != nil {
			return nil, err
		}
	}
	from, color, err := o.sender(ctx, cfg, m)
	if err != nil {
		return nil, err
	}
	to, err := recipients(cfg, m.To, from)
	if err != nil {
		return nil, err
	}
	way := o.router(cfg)
	results := make([]Sent, len(to))
	for i, r := range to {
		results[i] = o.sendOne(ctx, way, r, from, color, m)
	}
	return results, nil
}

// sendable refuses what is no message or pretends to be control.
func sendable(text string) error {
	if d := waggle.DecodeText(text); d.Kind != waggle.KindText && d.Kind != waggle.KindUnknown {
		hint := refusal[d.Kind]
		if hint == "" {
			hint = "only a member's own machine sends it"
		}
		kind := string(d.Kind)
		if d.Kind == waggle.KindInvalid {
			kind = d.Type
		}
		return &Error{Code: CodeRefused, Op: "send", Msg: fmt.Sprintf("the text is a %s message, and send carries words only", kind), Hint: hint}
	}
	if strings.TrimSpace(text) == "" {
		return &Error{Code: CodeUsage, Op: "send", Msg: "there is nothing to send"}
	}
	if len(text) > waggle.MaxText || !utf8.ValidString(text) {
		return &Error{Code: CodeUsage, Op: "send", Msg: fmt.Sprintf("the text must be UTF-8 of at most %d bytes", waggle.MaxText)}
	}
	return nil
}

// router holds a sender for every scheme that this operator reaches. cfg may be
// nil: then it reaches no members.
func (o Operator) router(cfg *team.Config) transport.Router {
	r := transport.Router{waggle.SchemeUDS: transport.Sockets{Keys: o.Home.SocketKeys()}, waggle.SchemeHTTP: transport.Web{Token: o.webToken}}
	if cfg != nil {
		r[waggle.SchemeMember] = transport.Mailboxes{Open: func(_ context.Context, to waggle.Address) (mailbox.Store, error) {
			return o.box(cfg, to.Member, nil)
		}}
		r[waggle.SchemeBridge] = transport.Mailboxes{Open: func(ctx context.Context, to waggle.Address) (mailbox.Store, error) {
			return o.bridge(ctx, cfg.Name, to)
		}}
	}
	return r
}

// sender is whose chat this is. It carries no authority.
func (o Operator) sender(ctx context.Context, cfg *team.Config, m Message) (from, color string, err error) {
	if m.As == "" && cfg == nil {
		return "operator", m.Color, nil
	}
	if m.As == "" {
		s, err := o.State(ctx, cfg.Name)
		if err != nil {
			return "", "", err
		}
		if s != nil {
			return string(waggle.Lead), m.Color, nil // the operator is the lead of a team that waggle leads
		}
		return "operator", m.Color, nil
	}
	name, err := waggle.ParseMember(m.As)
	if err != nil {
		return "", "", &Error{Code: CodeUsage, Op: "send", Err: err, Hint: "--as names whose chat this is"}
	}
	color = m.Color
	if cfg == nil {
		return string(name), color, nil
	}
	if mem, ok := cfg.Member(name); ok && color == "" {
		color = mem.Color
	}
	return string(name), color, nil
}

// recipients resolves an address: a member's in the roster, everyone's into each
// member's, any other is itself.
func recipients(cfg *team.Config, a waggle.Address, from string) ([]waggle.Address, error) {
	if a.Scheme != waggle.SchemeBroadcast && a.Scheme != waggle.SchemeMember {
		return []waggle.Address{a}, nil
	}
	if cfg == nil {
		return nil, &Error{Code: CodeUsage, Op: "send", Msg: fmt.Sprintf("%s is in a team, and none is named", a), Hint: "--team NAME"}
	}
	if a.Scheme == waggle.SchemeBroadcast {
		var to []waggle.Address
		for _, m := range cfg.Members {
			if !m.Gone() && !waggle.SameName(m.Name, waggle.MemberName(from)) {
				to = append(to, waggle.Address{Scheme: waggle.SchemeMember, Member: m.Name})
			}
		}
		if len(to) == 0 {
			return nil, &Error{Code: CodeNotFound, Op: "send", Msg: "the team has nobody else"}
		}
		return to, nil
	}
	if a.Team != "" && a.Team != cfg.Name {
		return nil, &Error{Code: CodeUsage, Op: "send", Msg: fmt.Sprintf("%s is in team %s, and this is %s", a.Member, a.Team, cfg.Name), Hint: "--team " + string(a.Team)}
	}
	m, ok := cfg.Member(a.Member)
	if !ok || m.Gone() {
		return nil, &team.NotFoundError{What: "member", Name: string(a.Member), Near: cfg.Near(string(a.Member))}
	}
	return []waggle.Address{{Scheme: waggle.SchemeMember, Member: m.Name}}, nil
}

func (o Operator) sendOne(ctx context.Context, way transport.Sender, to waggle.Address, from, color string, m Message) Sent {
	res := Sent{To: to.String(), State: "failed"}
	fail := func(err error) Sent {
		res.Error, res.err = err.Error(), err
		return res
	}
	mint, err := o.Minter.Mint()
	if err != nil {
		return fail(err)
	}
	env := waggle.Envelope{From: from, Text: m.Text, Summary: m.Summary, Timestamp: waggle.FormatTime(mint.Now), Color: color,
		MsgV: 1, MsgID: mint.MsgID, Type: "message"}
	if env.Summary == "" {
		env.Summary, _, _ = strings.Cut(strings.TrimSpace(m.Text), "\n")
	}
	env.Summary = cut(env.Summary, maxSummary)
	receipt, err := way.Send(ctx, to, env)
	if err != nil {
		return fail(hinted(err))
	}
	res.MsgID, res.State, res.Ahead = receipt.MsgID, string(receipt.State), receipt.Ahead
	return res
}

// hinted adds what to do about an address that leads nowhere.
func hinted(err error) error {
	var missing *transport.NotFoundError
	var other *transport.NotSocketError
	switch {
	case errors.Is(err, transport.ErrPlain):
		return &Error{Code: CodeUsage, Op: "send", Err: err}
	case errors.As(err, &missing):
		return &Error{Code: CodeNotFound, Op: "send", Err: err, Hint: missing.Hint}
	case errors.As(err, &other):
		return &Error{Code: CodeUsage, Op: "send", Err: err, Hint: "a mailbox file takes messages by its member's name: waggle send NAME TEXT"}
	}
	return err
}

// cut shortens s to n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
