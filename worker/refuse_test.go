package worker_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"waggle/agent"
	"waggle/worker"
)

// TestRefuses: Refuses gives a reason only for a call that a rule or an owed plan is against, and
// leaves no record.
func TestRefuses(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var got []string
		var before, after int
		var over agent.Refuser
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			r := h.(agent.Refuser)
			over = r
			before = len(c.recordKinds("ann"))
			for _, call := range []agent.Call{bash("echo a"), bash("make it"), bash("rm x"), {Tool: "AskUserQuestion", Input: json.RawMessage(`{}`)}} {
				got = append(got, r.Refuses(ctx, call))
			}
			after = len(c.recordKinds("ann"))
			return agent.Result{}, nil
		})
		c.until("over", c.finished("ann", "1"))
		if len(got) != 4 || got[0] != "" || got[1] != "" || !strings.Contains(got[2], "rm") || got[3] != "" {
			t.Errorf("refused: %q", got)
		}
		if before != after {
			t.Errorf("%d records before, %d after", before, after)
		}
		if why := over.Refuses(t.Context(), bash("echo a")); why == "" {
			t.Error("after the turn a call is not refused")
		}
	}, "ann")
}

// resident is an agent that is given what runs its program.
type resident struct {
	agent.Agent
	exec agent.Exec
}

func (r *resident) Settle(p agent.Place) { r.exec = p.Exec }

func (r *resident) Needs([]string, string) agent.Needs { return agent.Needs{} }

// TestResident: an agent whose program stays is settled before its first turn.
func TestResident(t *testing.T) {
	r, there := &resident{}, false
	inBubble(t, func(t *testing.T, c *crew) {
		c.leads()
		c.wrap = func(p *worker.Parts) { r.Agent, p.Agent = p.Agent, r }
		c.works("ann")
		c.order("ann", "1", func(context.Context, agent.Host, agent.Work) (agent.Result, error) {
			there = r.exec != nil
			return agent.Result{}, nil
		})
		c.until("over", c.finished("ann", "1"))
	}, "ann")
	if !there {
		t.Error("in the turn there was no Exec")
	}
}
