package leader

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waggle/agent"
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
var leadCalls = map[string]func(*Leader, context.Context, transport.Args) (any, error){
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
	a, err := transport.ParseArgs(body)
	if err != nil {
		return nil, err
	}
	got, err := do(e.l, ctx, a)
	var coded *transport.CallError
	if err != nil && !errors.As(err, &coded) && ctx.Err() == nil {
		err = &transport.CallError{Code: transport.CodeRefused, Why: err.Error()}
	}
	return got, err
}

// callRequests lists the open requests that decide gives to the lead.
func (l *Leader) callRequests(context.Context, transport.Args) (any, error) {
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
func (l *Leader) callAnswer(_ context.Context, a transport.Args) (any, error) {
	id, d := a.Text("id"), agent.Answer{Digest: a.Text("digest"), Reason: a.Text("reason")}
	a.Read("allow", &d.Allow)
	a.Read("escalate", &d.Escalate)
	a.Read("answers", &d.Answers)
	if a.Err != nil {
		return nil, a.Err
	}
	key, input, err := l.leadsOwn(id, d.Digest)
	if err != nil {
		return nil, err
	}
	words, err := replies(key, input, d)
	if err != nil {
		return nil, &transport.CallError{Code: transport.CodeInvalid, Why: err.Error()}
	}
	if err := l.rule(key, record.Digest(d.Digest), d, words, nil); err != nil {
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
func (l *Leader) callStop(ctx context.Context, a transport.Args) (any, error) {
	member, reason := a.Text("member"), cmp.Or(a.Text("reason"), "the lead asks you to end")
	if a.Err != nil {
		return nil, a.Err
	}
	m, err := l.another(member)
	if err != nil {
		return nil, err
	}
	return struct{}{}, l.Shutdown(ctx, m, reason, policy.RoleLeader)
}

// another finds a present member that is not the lead.
func (l *Leader) another(name string) (protocol.MemberName, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok := l.p.Fold.Present(protocol.MemberName(name))
	switch {
	case !ok:
		return "", &transport.CallError{Code: transport.CodeNotFound, Why: fmt.Sprintf("%q is no member of this team", name)}
	case m.Leads():
		return "", errors.New("that is the lead itself: the operator ends it")
	}
	return m.Name, nil
}

var errNoActs = &transport.CallError{Code: transport.CodeRefused, Why: "the program that leads this team does that only for the operator"}

func (l *Leader) callSpawn(ctx context.Context, a transport.Args) (any, error) {
	m := agent.NewMember{Name: a.Text("name"), Prompt: a.Text("prompt"), Type: a.Text("type")}
	if a.Err != nil {
		return nil, a.Err
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

func (l *Leader) callAssign(ctx context.Context, a transport.Args) (any, error) {
	task, member := a.Text("task"), a.Text("member")
	if a.Err != nil {
		return nil, a.Err
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

func (l *Leader) callBoard(ctx context.Context, _ transport.Args) (any, error) {
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
