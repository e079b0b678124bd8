package seat

import (
	"context"

	"waggle/agent"
	"waggle/internal/face/mcp"
)

// leadSocket implements mcp.Leading for a process that the lead's agent has started: its worker
// passes the calls on to the process that leads, which decides what they may do.
type leadSocket struct{ *socket }

var _ mcp.Leading = (*leadSocket)(nil)

// Spawn implements mcp.Leading.
func (s *leadSocket) Spawn(ctx context.Context, n agent.NewMember) (mcp.Member, error) {
	var got struct{ Name, Task string }
	err := s.call(ctx, "spawn", map[string]any{"name": n.Name, "prompt": n.Prompt, "type": n.Type}, &got)
	return mcp.Member{Name: got.Name, State: "started", Task: got.Task}, err
}

// Assign implements mcp.Leading.
func (s *leadSocket) Assign(ctx context.Context, task, member string) (agent.BoardTask, error) {
	if err := s.call(ctx, "assign", map[string]any{"task": task, "member": member}, nil); err != nil {
		return agent.BoardTask{}, err
	}
	ts, err := s.Tasks(ctx)
	for _, t := range ts {
		if t.ID == task {
			return t, err
		}
	}
	return agent.BoardTask{ID: task, Owner: member}, err
}

// Stop implements mcp.Leading.
func (s *leadSocket) Stop(ctx context.Context, member, reason string) error {
	return s.call(ctx, "stop", map[string]any{"member": member, "reason": reason}, nil)
}

// Requests implements mcp.Leading.
func (s *leadSocket) Requests(ctx context.Context) ([]agent.Request, error) {
	var got struct {
		Requests []agent.Request `json:"requests"`
	}
	err := s.call(ctx, "requests", nil, &got)
	return got.Requests, err
}

// Answer implements mcp.Leading.
func (s *leadSocket) Answer(ctx context.Context, v mcp.Verdict) (a agent.Answered, err error) {
	err = s.call(ctx, "answer", map[string]any{"id": v.ID, "digest": v.Digest, "allow": v.Allow, "escalate": v.Escalate, "reason": v.Reason, "answers": v.Answers}, &a)
	return a, err
}

// Tasks implements mcp.Seat: the whole board, of which the lead gives tasks.
func (s *leadSocket) Tasks(ctx context.Context) ([]agent.BoardTask, error) {
	var got struct {
		Tasks []agent.BoardTask `json:"tasks"`
	}
	err := s.call(ctx, "board", nil, &got)
	return got.Tasks, err
}
