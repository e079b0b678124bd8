package mail

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/claude/session"
	"waggle/message"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/transport"
)

// SendSession sends a message to a running session that waggle does not run, by its name, pid or
// session id. It goes to the session's messaging socket and has no authority there.
func (o Operator) SendSession(ctx context.Context, what string, m Message) ([]Sent, error) {
	if err := sendable(m.Text); err != nil {
		return nil, err
	}
	if err := wordsOnly(m); err != nil {
		return nil, err
	}
	row, err := o.sessionCalled("send", what)
	if err != nil {
		return nil, err
	}
	from := "operator"
	if m.As != "" {
		name, err := protocol.ParseMember(m.As)
		if err != nil {
			return nil, &operator.Error{Kind: operator.Usage, Op: "send", Err: err, Next: operator.NextAs.With()}
		}
		from = string(name)
	}
	mint, err := o.Minter.Mint()
	if err != nil {
		return nil, err
	}
	res := Sent{To: "@" + what, State: Failed}
	r, err := o.say(ctx, row, protocol.Envelope{From: from, Text: m.Text, MsgID: mint.MsgID})
	if err != nil {
		res.err = hinted(err)
		res.Error = res.err.Error()
		return []Sent{res}, nil
	}
	res.MsgID, res.State, res.Detail = r.MsgID, Delivery(r.State), r.Detail
	return []Sent{res}, nil
}

// wordsOnly refuses what a message to a session cannot have.
func wordsOnly(m Message) error {
	if m.ID != "" || m.Supersedes != "" || m.Expires != 0 || m.Want != "" || m.Priority != "" && m.Priority != record.PriorityNormal {
		return &operator.Error{Kind: operator.Usage, Op: "send", Msg: "a session's socket takes words and no more: no --id, --priority, --supersedes, --expires or --wait"}
	}
	return nil
}

// sessionRows are the sessions that run.
func (o Operator) sessionRows() session.View {
	return session.At(o.Home.Path, o.Minter.Now).List(o.ClaudeDir, session.Looking(o.Ancestors))
}

// SessionID finds the one running session of a name, pid or session id, for an operation op.
func (o Operator) SessionID(op, what string) (string, error) {
	r, err := o.sessionCalled(op, what)
	return string(r.ID), err
}

// sessionCalled is SessionID with all that is known of the session.
func (o Operator) sessionCalled(op, what string) (session.Row, error) {
	v := o.sessionRows()
	rows := v.Called(what)
	switch {
	case len(rows) == 1:
		return rows[0], nil
	case len(rows) == 0:
		e := &operator.Error{Kind: operator.NotFound, Op: op, Msg: fmt.Sprintf("no session %s runs", what), Next: operator.NextSessions.With()}
		for _, r := range v.Rows {
			if r.Under == "" && (strings.Contains(strings.ToLower(r.Name), strings.ToLower(what)) || strings.HasPrefix(string(r.ID), what)) {
				e.Near = append(e.Near, "@"+r.Name)
			}
		}
		return session.Row{}, errors.Join(append([]error{e}, v.Problems...)...)
	}
	e := &operator.Error{Kind: operator.Usage, Op: op, Msg: fmt.Sprintf("%d sessions are called %s", len(rows), what), Next: operator.NextSendPID.With()}
	for _, r := range rows {
		by := string(r.ID)
		if r.PID != 0 {
			by = strconv.Itoa(r.PID)
		}
		e.Near = append(e.Near, fmt.Sprintf("@%s in %s", by, r.Cwd))
	}
	return session.Row{}, e
}

// SessionsOf names the peer of a socket by the session that its process belongs to, among those
// that a client has registered below its config directory.
func SessionsOf(configDir string) func(transport.Peer) string {
	return func(p transport.Peer) string { return session.Looking(nil).NameOf(configDir, p.PID) }
}

// HasSession reports whether a running session has this name, pid or id.
func (o Operator) HasSession(what string) bool {
	return len(o.sessionRows().Called(what)) > 0
}

// sockets sends to uds addresses: to sockets of waggle in waggle's frames, to sessions of another client and to
// every other program that listens in that client's.
type sockets struct {
	o    Operator
	ours transport.Sockets
}

// Send implements transport.Sender.
func (s sockets) Send(ctx context.Context, to protocol.Address, env protocol.Envelope) (transport.Receipt, error) {
	path, err := filepath.Abs(to.Target)
	if err != nil {
		return transport.Receipt{}, err
	}
	for _, r := range s.o.sessionRows().Rows {
		if r.Socket != "" && r.Under == "" && r.Socket == path {
			return s.o.say(ctx, r, env)
		}
	}
	if _, ours := transport.Token(s.ours.Keys, path); !ours {
		return s.o.tellListener(ctx, path, env)
	}
	return s.ours.Send(ctx, to, env)
}

// tellListener writes a message to the socket of a program that is neither waggle's nor a session.
func (o Operator) tellListener(ctx context.Context, path string, env protocol.Envelope) (transport.Receipt, error) {
	by, err := o.speaker(ctx, env.From)
	if err != nil {
		return transport.Receipt{}, err
	}
	answer, heard, err := transport.Listener(path).Say(ctx, by, env.MsgID, env.Text)
	if err != nil {
		return transport.Receipt{}, err
	}
	detail := "the program that listens there has not answered; that it read the message is not confirmed"
	switch {
	case answer != "":
		detail = "the program that listens there answered " + strconv.Quote(message.Clip(answer))
	case heard:
		detail = "the program that listens there ended the connection without an answer; that anybody is shown it is not confirmed"
	}
	return transport.Receipt{MsgID: env.MsgID, State: transport.Written, Detail: detail}, nil
}

// say writes a message to a session's socket. It is recorded before and after.
func (o Operator) say(ctx context.Context, row session.Row, env protocol.Envelope) (transport.Receipt, error) {
	to := protocol.Address{Scheme: protocol.SchemeUDS, Target: row.Socket}
	if row.Socket == "" {
		why := "its client has no socket (Claude Code has one since 2.1.224)"
		if row.Client != session.Claude {
			why = "its client, " + string(row.Client) + ", has no socket for them"
		}
		return transport.Receipt{}, &operator.Error{Kind: operator.Refused, Op: "send", Msg: fmt.Sprintf("session %s takes no messages: %s", row.Name, why), Advice: "type it into its own terminal"}
	}
	token, err := row.Token()
	if err != nil {
		return transport.Receipt{}, &transport.RefusedError{To: to, Why: err.Error()}
	}
	process, err := spawn.Identify(row.PID)
	if err != nil {
		return transport.Receipt{}, &transport.NotFoundError{To: to, Why: "the session is unreachable: " + err.Error()}
	}
	by, err := o.speaker(ctx, env.From)
	if err != nil {
		return transport.Receipt{}, err
	}
	said := session.Said{MsgID: env.MsgID, SHA256: record.HashText(env.Text), Bytes: len(env.Text), From: by.Name, Socket: row.Socket, State: string(Queued)}
	store, w := session.At(o.Home.Path, o.Minter.Now), o.Writer()
	if err := o.beginSaying(ctx, row, said); err != nil {
		return transport.Receipt{}, err
	}
	sock := transport.SessionSocket{Path: row.Socket, Token: token, Owns: func(pid int) (bool, error) { return o.belongs(pid, process) }}
	read, err := sock.Say(ctx, by, env.MsgID, env.Text)
	said.State, said.Detail = string(Written), "its client has read it; that anybody is shown it is not confirmed"
	switch {
	case err != nil:
		said.State, said.Detail = string(Failed), err.Error()
	case !read:
		said.Detail = "its client has not read it yet; delivery is not confirmed"
	}
	rerr := store.Say(context.WithoutCancel(ctx), w, row.ID, said)
	if err != nil {
		return transport.Receipt{}, errors.Join(err, rerr)
	}
	if rerr != nil {
		said.Detail += "; the record of that failed: " + rerr.Error()
	}
	return transport.Receipt{MsgID: env.MsgID, State: transport.Written, Detail: said.Detail}, nil
}

// sayPatience is how long a message waits for a session that accepts no more at once.
const sayPatience = 10 * time.Second

// beginSaying records a message as soon as the session would not drop it.
func (o Operator) beginSaying(ctx context.Context, row session.Row, said session.Said) error {
	for {
		err := session.At(o.Home.Path, o.Minter.Now).BeginSaying(ctx, o.Writer(), row, said)
		var busy *session.BusyError
		if !errors.As(err, &busy) {
			return err
		}
		if busy.Wait == 0 || busy.Wait > sayPatience {
			return &operator.Error{Kind: operator.Locked, Op: "send", Err: err, Advice: "put what remains into one message"}
		}
		t := time.NewTimer(busy.Wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}

// belongs reports whether a process is a session's own or one of its descendants.
func (o Operator) belongs(pid int, process spawn.Identity) (bool, error) {
	live := session.Looking(o.Ancestors)
	if pid == process.PID {
		return live.Check(process)
	}
	above, err := live.Ancestors(pid)
	return slices.ContainsFunc(above, func(a spawn.Identity) bool { return a.Is(process) }), err
}

// speaker returns the sender of a message to a session. A message from inside a session or a member
// is that one's, whatever name it gives.
func (o Operator) speaker(ctx context.Context, name string) (transport.Speaker, error) {
	by := transport.Speaker{Name: name}
	if o.Ancestors != nil {
		above, err := o.Ancestors(o.PID)
		if err != nil && len(above) == 0 {
			return by, err
		}
		store := session.At(o.Home.Path, o.Minter.Now)
		if r, in := store.Above(o.ClaudeDir, above, o.Called, session.Looking(o.Ancestors)); in {
			for _, row := range store.List(o.ClaudeDir, session.Looking(o.Ancestors)).Rows {
				if row.ID == r.Session && row.Under == "" {
					return transport.Speaker{Name: row.Name, Answers: row.Socket}, nil
				}
			}
			return transport.Speaker{Name: string(r.Session)}, nil
		}
	}
	teams, err := o.Root.Names()
	if err != nil {
		return by, nil // without a readable process tree there is no team that could answer
	}
	var served []string
	for _, t := range teams {
		s, err := o.Open(ctx, t, operator.Act)
		if err != nil {
			continue
		}
		inside, err := o.Callers(s)
		if err != nil {
			return by, err
		}
		if len(inside) > 0 {
			by.Name = operator.Names(inside) + "@" + string(t)
			if len(inside) == 1 {
				by.Answers = o.served(s, string(inside[0].Name))
			}
			return by, nil
		}
		if path := o.served(s, transport.OperatorSocket); path != "" {
			served = append(served, path)
		}
	}
	if len(served) == 1 {
		by.Answers = served[0]
	}
	return by, nil
}

// served returns the path of a socket of a team that a process listens at; "" when none does.
func (o Operator) served(s *operator.State, name string) string {
	at, err := o.Addresses(s)
	if err != nil {
		return "" // the message is sent without an address for answers
	}
	return strings.TrimPrefix(at[name], "uds:")
}

// Addresses returns the addresses at which a team takes messages now, by name.
func (o Operator) Addresses(s *operator.State) (map[string]string, error) {
	place := s.Dir.Sockets(o.RunPath())
	have, err := place.Served()
	if err != nil {
		return nil, err
	}
	dead, err := place.Dead()
	if err != nil {
		return nil, err
	}
	at := map[string]string{}
	for _, name := range have {
		if path := place.Path(name); !slices.Contains(dead, path) {
			at[name] = "uds:" + path
		}
	}
	return at, nil
}

// SocketAddress returns the address at which a member's process, or for the lead the operator,
// takes messages from other sessions: uds:PATH.
func (o Operator) SocketAddress(ctx context.Context, team protocol.TeamName, member protocol.MemberName) (string, error) {
	s, err := o.Open(ctx, team, operator.Act)
	if err != nil {
		return "", err
	}
	name, next := string(member), operator.NextWhoRuns
	if member == protocol.Lead {
		name, next = transport.OperatorSocket, operator.NextLead
	}
	at, err := o.Addresses(s)
	if err != nil {
		return "", err
	}
	if at[name] != "" {
		return at[name], nil
	}
	return "", &operator.Error{Kind: operator.NotFound, Op: "inbox", Msg: fmt.Sprintf("no process of team %s serves a socket for %s now", team, member), Next: next.With()}
}

// SaidMessage is the state of a message to a session.
type SaidMessage struct {
	MsgID   string    `json:"msg_id"`
	Session string    `json:"session"`
	From    string    `json:"from"`
	Socket  string    `json:"socket"`
	State   Delivery  `json:"state"` // queued, written, failed
	Detail  string    `json:"detail"`
	At      time.Time `json:"at"`
	SHA256  string    `json:"sha256"` // of the text, which is not kept
	Bytes   int       `json:"bytes"`
}

// Said finds messages to sessions by their msg_id or its beginning.
func (o Operator) Said(id string) ([]SaidMessage, error) {
	found, problems := session.At(o.Home.Path, o.Minter.Now).Said(func(s session.SaidAt) bool {
		return s.MsgID == id || len(id) >= shortID && strings.HasPrefix(s.MsgID, id)
	})
	out := []SaidMessage{}
	for _, s := range found {
		out = append(out, SaidMessage{MsgID: s.MsgID, Session: string(s.Session), From: s.From, Socket: s.Socket, State: Delivery(s.State), Detail: s.Detail,
			At: s.At, SHA256: s.SHA256, Bytes: s.Bytes})
	}
	if len(out) > 0 {
		return out, nil
	}
	return out, errors.Join(problems...)
}
