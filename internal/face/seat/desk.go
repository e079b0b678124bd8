package seat

import (
	"context"
	"fmt"
	"strings"

	"waggle/agent"
	"waggle/internal/cut"
	"waggle/internal/face/mcp"
	"waggle/operator/board"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/task"
)

// desk implements mcp.Seat for the client of a connection: it uses the worker that runs in this
// process, and the board.
type desk struct {
	*mcp.Client
	o    Operator
	team protocol.TeamName
	self protocol.MemberName
}

var _ mcp.Seat = (*desk)(nil)

// Identity implements mcp.Seat.
func (d *desk) Identity() mcp.Identity { return mcp.Identity{Team: d.team, Member: d.self} }

// Members implements mcp.Seat.
func (d *desk) Members(ctx context.Context) ([]mcp.Member, error) {
	st, err := inspect.Of(d.o.Operator).Status(ctx, d.team)
	if err != nil {
		return nil, err
	}
	ms := []mcp.Member{}
	for _, m := range st.Members {
		ms = append(ms, mcp.Member{Name: m.Name, State: string(m.State), Task: m.Task, You: protocol.SameName(protocol.MemberName(m.Name), d.self)})
	}
	return ms, nil
}

// Tasks implements mcp.Seat.
func (d *desk) Tasks(ctx context.Context) ([]agent.BoardTask, error) {
	return board.Of(d.o.Operator).ForAgents(ctx, d.team)
}

// one returns a task of the board with its instructions.
func (d *desk) one(ctx context.Context, id string) (agent.BoardTask, error) {
	t, err := board.Of(d.o.Operator).Task(ctx, d.team, task.ID(id))
	if err != nil {
		return agent.BoardTask{}, err
	}
	one := t.ForAgents()
	one.Instructions = t.Description
	return one, nil
}

// Claim implements mcp.Seat.
func (d *desk) Claim(ctx context.Context, id string) (agent.BoardTask, error) {
	r, err := board.Of(d.o.Operator).ClaimTask(ctx, d.team, task.ID(id), d.self)
	if err != nil {
		return agent.BoardTask{}, err
	}
	return d.one(ctx, string(r.Task.ID))
}

// Complete implements mcp.Seat: the task of the turn, or one that the client took from the
// board.
func (d *desk) Complete(ctx context.Context, id, summary string, failed bool) (agent.BoardTask, error) {
	ours, err := d.Client.Complete(ctx, id, summary, failed)
	if err != nil {
		return agent.BoardTask{}, err
	}
	if !ours {
		if err := d.finish(ctx, id, failed); err != nil {
			return agent.BoardTask{}, err
		}
	}
	return d.one(ctx, id)
}

// finish ends a task that the client has claimed: no turn of the worker is about it.
func (d *desk) finish(ctx context.Context, id string, failed bool) error {
	t, err := d.one(ctx, id)
	if err != nil {
		return err
	}
	if !protocol.SameName(protocol.MemberName(t.Owner), d.self) {
		return fmt.Errorf("task %s is not yours: its owner is %q", id, t.Owner)
	}
	if t.Status != string(task.InProgress) {
		return fmt.Errorf("task %s is %s: you work on it once check_messages has given it to you, or claim_task", id, t.Status)
	}
	if failed {
		_, err = board.Of(d.o.Operator).ReleaseTask(ctx, d.team, task.ID(id))
		return err
	}
	_, err = board.Of(d.o.Operator).FinishTask(ctx, d.team, task.ID(id), d.self)
	return err
}

// Brief implements mcp.Seat.
func (d *desk) Brief(ctx context.Context) (mcp.Brief, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "You are %s, a member of team %s.\n", d.self, d.team)
	ms, err := d.Members(ctx)
	if err != nil {
		return mcp.Brief{}, err
	}
	ts, err := d.Tasks(ctx)
	if err != nil {
		return mcp.Brief{}, err
	}
	for _, t := range ts {
		if protocol.SameName(protocol.MemberName(t.Owner), d.self) && t.Status != string(task.Completed) {
			if t, err = d.one(ctx, t.ID); err != nil {
				return mcp.Brief{}, err
			}
			fmt.Fprintf(&b, "\nYour task %s (%s): %s\n%s\n", t.ID, t.Status, t.Subject, cut.Runes(t.Instructions, 1500))
		}
	}
	if why, err := inspect.Of(d.o.Operator).Why(ctx, string(d.team), string(d.self)); err == nil {
		fmt.Fprintf(&b, "\nYou are %s: %s\n", why.State, cut.Runes(why.Why, 300))
	}
	b.WriteString("\nMembers:\n")
	for _, m := range ms {
		fmt.Fprintf(&b, "- %s: %s\n", m.Name, m.State)
	}
	return mcp.Brief{Text: b.String()}, nil
}
