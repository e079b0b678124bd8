package seat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"waggle/agent"
	"waggle/internal/cut"
	"waggle/internal/face/mcp"
	"waggle/protocol"
	"waggle/transport"
	"waggle/worker"
)

// socket implements mcp.Seat for a process that a member's agent has started: it calls the member's
// worker with the spawn token. It acts in the present turn of the agent, whose task ends with that
// turn.
type socket struct {
	c  *transport.Client
	id mcp.Identity
}

var _ mcp.Seat = (*socket)(nil)

// errNotHere refuses operations that the worker does not run for a process of its agent.
var errNotHere = errors.New("the tasks of this member come to its agent: its turn's end is the task's end")

// ServeSocket serves the client of a process that a member's agent has started, whose environment
// has the member's socket and the spawn token.
func ServeSocket(ctx context.Context, path, token string, connect func(context.Context, mcp.Seat) error) error {
	c, err := transport.Dial(ctx, path, token)
	if err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	s := &socket{c: c}
	b, err := s.ask(ctx)
	if err == nil {
		s.id = mcp.Identity{Team: protocol.TeamName(b.Team), Member: protocol.MemberName(b.Name), Lead: b.Lead}
		var as mcp.Seat = s
		if b.Lead {
			as = &leadSocket{s}
		}
		err = connect(ctx, as)
	}
	return errors.Join(err, c.Close())
}

// call calls one operation of the member's worker.
func (s *socket) call(ctx context.Context, op string, body map[string]any, into any) error {
	raw, err := s.c.Call(ctx, op, body)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(raw, into) // written by the worker, this program
}

func (s *socket) ask(ctx context.Context) (b worker.CallBrief, err error) {
	return b, s.call(ctx, "brief", nil, &b)
}

// Identity implements mcp.Seat.
func (s *socket) Identity() mcp.Identity { return s.id }

// Say implements mcp.Seat.
func (s *socket) Say(ctx context.Context, to, text, summary string) error {
	return s.call(ctx, "say", map[string]any{"to": to, "text": text, "summary": summary}, nil)
}

// Progress implements mcp.Seat.
func (s *socket) Progress(ctx context.Context, phase, message string) error {
	return s.call(ctx, "progress", map[string]any{"phase": phase, "message": message}, nil)
}

// Ask implements mcp.Seat.
func (s *socket) Ask(ctx context.Context, c agent.Call) (agent.Claim, error) {
	var v worker.CallDecision
	err := s.call(ctx, "ask", map[string]any{"tool": c.Tool, "input": c.Input, "cwd": c.Cwd, "reason": c.Reason, "use_id": c.UseID}, &v)
	if err != nil || !v.Allowed {
		return agent.Claim{Decision: agent.Decision{Reason: v.Reason, By: v.By}}, err
	}
	return agent.Granted(agent.Decision{Reason: v.Reason, By: v.By}, v.ID, v.Input, func(ctx context.Context, r agent.Ran) error {
		return s.call(ctx, "done", map[string]any{"id": v.ID, "failed": r.Failed, "exit_code": r.ExitCode, "tail": r.Tail, "error": r.Err}, nil)
	}), nil
}

// Question implements mcp.Seat.
func (s *socket) Question(ctx context.Context, q agent.Question) (agent.Answers, error) {
	var parts []map[string]any
	for _, p := range q.Parts {
		one := map[string]any{"question": p.Text, "header": p.Header, "multiSelect": p.Multiple, "options": append([]agent.Option{}, p.Options...)}
		if p.Closed {
			one["closed"] = true
		}
		parts = append(parts, one)
	}
	var got worker.CallAnswers
	if err := s.call(ctx, "question", map[string]any{"questions": parts}, &got); err != nil {
		return agent.Answers{}, err
	}
	out := agent.Answers{Given: got.Given, Reason: got.Reason, By: got.By}
	for _, a := range got.Answers {
		r := agent.Reply{Labels: a.Labels}
		if len(r.Labels) == 0 {
			r.Text = a.Answer
		}
		out.Replies = append(out.Replies, r)
	}
	return out, nil
}

// Plan implements mcp.Seat.
func (s *socket) Plan(ctx context.Context, plan string) (d agent.Decision, err error) {
	err = s.call(ctx, "plan", map[string]any{"plan": plan}, &d)
	return d, err
}

// Network implements mcp.Seat.
func (s *socket) Network(ctx context.Context, host, reason string) (d agent.Decision, err error) {
	err = s.call(ctx, "network", map[string]any{"host": host, "reason": reason}, &d)
	return d, err
}

// Check implements mcp.Seat: it returns messages that came during the turn.
func (s *socket) Check(ctx context.Context, wait time.Duration) (mcp.Work, error) {
	var got struct {
		Messages []mcp.Mail `json:"messages"`
	}
	if err := s.call(ctx, "mail", map[string]any{"wait_ms": wait.Milliseconds()}, &got); err != nil {
		return mcp.Work{}, err
	}
	ts, err := s.Tasks(ctx)
	w := mcp.Work{Messages: got.Messages}
	if len(ts) > 0 {
		w.Task = &ts[0]
	}
	return w, err
}

// Members implements mcp.Seat.
func (s *socket) Members(ctx context.Context) ([]mcp.Member, error) {
	b, err := s.ask(ctx)
	ms := []mcp.Member{}
	for _, n := range b.Members {
		ms = append(ms, mcp.Member{Name: n, State: "member", You: n == b.Name})
	}
	return ms, err
}

// Tasks implements mcp.Seat: the task of the turn.
func (s *socket) Tasks(ctx context.Context) ([]agent.BoardTask, error) {
	b, err := s.ask(ctx)
	if err != nil || b.Task == nil {
		return []agent.BoardTask{}, err
	}
	return []agent.BoardTask{{ID: b.Task.ID, Subject: b.Task.Subject, Instructions: b.Task.Instructions, Owner: b.Name, Status: "in_progress", Plan: b.Planning}}, nil
}

// Claim implements mcp.Seat.
func (s *socket) Claim(context.Context, string) (agent.BoardTask, error) {
	return agent.BoardTask{}, errNotHere
}

// Complete implements mcp.Seat.
func (s *socket) Complete(context.Context, string, string, bool) (agent.BoardTask, error) {
	return agent.BoardTask{}, errNotHere
}

// Brief implements mcp.Seat.
func (s *socket) Brief(ctx context.Context) (mcp.Brief, error) {
	b, err := s.ask(ctx)
	if err != nil {
		return mcp.Brief{}, err
	}
	var t strings.Builder
	fmt.Fprintf(&t, "You are %s, a member of team %s, in mode %s.\n", b.Name, b.Team, b.Mode)
	if b.Planning {
		t.WriteString("Propose a plan before you change anything.\n")
	}
	if b.Task != nil {
		fmt.Fprintf(&t, "\nYour task %s: %s\n%s\n", b.Task.ID, b.Task.Subject, cut.Runes(b.Task.Instructions, 2000))
	}
	fmt.Fprintf(&t, "\nMembers: %s\n", strings.Join(b.Members, ", "))
	return mcp.Brief{Text: t.String()}, nil
}
