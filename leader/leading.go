package leader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waggle/agent"
	"waggle/internal/json/jsonobj"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/transport"
)

// Leading has the acts of the lead's agent that need more than the leader's journal. Each is done
// in the lead's name and with at most the lead's rights.
type Leading interface {
	// Spawn starts a member and returns its name and its first task.
	Spawn(ctx context.Context, m agent.NewMember) (name, task string, err error)
	// Assign gives a task of the board to a member.
	Assign(ctx context.Context, task, member string) error
	// Board lists the tasks.
	Board(ctx context.Context) ([]agent.BoardTask, error)
}

var _ transport.Callee = endpoint{}

// ownWorker reports the process of the worker that runs the lead's agent, by the record of its
// start. That worker calls for its agent's processes, which it knows by the spawn token.
func (l *Leader) ownWorker(p transport.Peer) bool {
	l.mu.Lock()
	m, ok := l.p.Fold.LeadAgent()
	ours := ok && m.Process != nil && !m.Process.ID.Inside && m.Process.ID.PID == p.PID
	l.mu.Unlock()
	return ours && m.Process.ID.Alive()
}

// leadCalls are the calls of the lead's agent (docs/design/sockets.md).
var leadCalls = map[string]func(*Leader, context.Context, *jsonobj.Object) (any, error){
	"requests": (*Leader).callRequests,
	"answer":   (*Leader).callAnswer,
	"stop":     (*Leader).callStop,
	"spawn":    (*Leader).callSpawn,
	"assign":   (*Leader).callAssign,
	"board":    (*Leader).callBoard,
}

// Call implements transport.Callee.
func (e endpoint) Call(ctx context.Context, _ transport.Peer, op string, body json.RawMessage) (any, error) {
	do := leadCalls[op]
	if do == nil {
		return nil, &transport.CallError{Code: transport.CodeInvalid, Why: fmt.Sprintf("the operation %q is not known", op)}
	}
	if len(body) == 0 {
		body = json.RawMessage("{}")
	}
	o, err := jsonobj.Parse(body)
	if err != nil {
		return nil, &transport.CallError{Code: transport.CodeInvalid, Why: "the body of a call is a JSON object"}
	}
	got, err := do(e.l, ctx, o)
	var coded *transport.CallError
	if err != nil && !errors.As(err, &coded) && ctx.Err() == nil {
		err = &transport.CallError{Code: transport.CodeRefused, Why: err.Error()}
	}
	return got, err
}

// read reads fields of a call's body by exact name.
func read(o *jsonobj.Object, fields map[string]any) error {
	for name, into := range fields {
		raw, ok := o.Get(name)
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return &transport.CallError{Code: transport.CodeInvalid, Why: name + ": " + err.Error()}
		}
	}
	return nil
}

// callRequests lists the open requests that decide gives to the lead.
func (l *Leader) callRequests(context.Context, *jsonobj.Object) (any, error) {
	out := struct {
		Requests []agent.Request `json:"requests"`
	}{[]agent.Request{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.p.Fold.PendingForLead() {
		q := l.questionOf(r)
		q.ID = r.Handle
		for i := range q.Parts {
			q.Parts[i].Header = "" // the text alone is what it answers
		}
		out.Requests = append(out.Requests, q)
	}
	return out, nil
}

// callAnswer records the lead's answer to a request that decide gives to it. An allow that is
// beyond the lead's rights passes the request on to the operator.
func (l *Leader) callAnswer(_ context.Context, o *jsonobj.Object) (any, error) {
	var id, digest, reason string
	var allow, escalate bool
	var answers []string
	if err := read(o, map[string]any{"id": &id, "digest": &digest, "allow": &allow, "escalate": &escalate, "reason": &reason, "answers": &answers}); err != nil {
		return nil, err
	}
	key, input, err := l.leadsOwn(id, digest)
	if err != nil {
		return nil, err
	}
	d := agent.Answer{Digest: digest, Allow: allow, Escalate: escalate, Reason: reason, Answers: answers}
	words, err := replies(key, input, d)
	if err != nil {
		return nil, &transport.CallError{Code: transport.CodeInvalid, Why: err.Error()}
	}
	if err := l.rule(key, record.Digest(digest), d, words, nil); err != nil {
		return nil, err
	}
	l.wake()
	l.mu.Lock()
	defer l.mu.Unlock()
	r, _ := l.p.Fold.Request(key)
	out := agent.Answered{Decision: "vote", Reason: "one of two: the operator's answer is the other"}
	switch {
	case r.Decided != nil:
		out.Decision, out.Reason = r.Decided.Decision, r.Decided.Reason
	case r.Escalated != nil:
		out.Decision, out.Reason = record.DecisionEscalate, r.Escalated.Reason
	}
	return out, nil
}

// leadsOwn finds a request that the lead's agent is to answer, and refuses every other one.
func (l *Leader) leadsOwn(id, digest string) (k record.Key, input string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.p.Fold.PendingForLead() {
		if r.Handle != id {
			continue
		}
		if digest != string(r.Digest) {
			return k, "", &transport.CallError{Code: transport.CodeRefused, Why: fmt.Sprintf("the digest is not that of request %s: read it again", id)}
		}
		return r.Key, r.Ask.Input, nil
	}
	return k, "", &transport.CallError{Code: transport.CodeNotFound, Why: fmt.Sprintf("no open request %q is the lead's to decide", id)}
}

// callStop asks a member to end.
func (l *Leader) callStop(ctx context.Context, o *jsonobj.Object) (any, error) {
	var member, reason string
	if err := read(o, map[string]any{"member": &member, "reason": &reason}); err != nil {
		return nil, err
	}
	m, err := l.another(member)
	if err != nil {
		return nil, err
	}
	if reason == "" {
		reason = "the lead asks you to end"
	}
	return struct{}{}, l.Shutdown(ctx, m, reason, policy.RoleLeader)
}

// another finds a present member that is not the lead.
func (l *Leader) another(name string) (protocol.MemberName, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.p.Fold.Live() {
		switch {
		case !protocol.SameName(m.Name, protocol.MemberName(name)):
		case m.Leads():
			return "", errors.New("that is the lead itself: the operator ends it")
		default:
			return m.Name, nil
		}
	}
	return "", &transport.CallError{Code: transport.CodeNotFound, Why: fmt.Sprintf("%q is no member of this team", name)}
}

var errNoActs = &transport.CallError{Code: transport.CodeRefused, Why: "the program that leads this team does that only for the operator"}

func (l *Leader) callSpawn(ctx context.Context, o *jsonobj.Object) (any, error) {
	var m agent.NewMember
	if err := read(o, map[string]any{"name": &m.Name, "prompt": &m.Prompt, "type": &m.Type}); err != nil {
		return nil, err
	}
	if l.p.Leading == nil {
		return nil, errNoActs
	}
	name, task, err := l.p.Leading.Spawn(ctx, m)
	return struct {
		Name string `json:"name"`
		Task string `json:"task"`
	}{name, task}, err
}

func (l *Leader) callAssign(ctx context.Context, o *jsonobj.Object) (any, error) {
	var task, member string
	if err := read(o, map[string]any{"task": &task, "member": &member}); err != nil {
		return nil, err
	}
	m, err := l.another(member)
	if err != nil {
		return nil, err
	}
	if l.p.Leading == nil {
		return nil, errNoActs
	}
	return struct{}{}, l.p.Leading.Assign(ctx, task, string(m))
}

func (l *Leader) callBoard(ctx context.Context, _ *jsonobj.Object) (any, error) {
	if l.p.Leading == nil {
		return nil, errNoActs
	}
	ts, err := l.p.Leading.Board(ctx)
	if ts == nil {
		ts = []agent.BoardTask{}
	}
	return struct {
		Tasks []agent.BoardTask `json:"tasks"`
	}{ts}, err
}
