package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"waggle/agent"
)

// patient answers no plan until its asker gives it up; the test is told of each.
type patient struct {
	*fakeHost
	asked func(plan string)
}

func (h *patient) Plan(ctx context.Context, plan string) (agent.Decision, error) {
	h.plans = append(h.plans, plan)
	h.asked(plan)
	<-ctx.Done()
	return agent.Decision{}, fmt.Errorf("%w: %w", agent.ErrWithdrawn, ctx.Err())
}

// TestScriptWithdraws: a script with Withdraw takes a plan back, proposes the next one, and
// continues after the last. A turn that ends does not continue.
func TestScriptWithdraws(t *testing.T) {
	dir := t.TempDir()
	a, err := agent.New("script", json.RawMessage(`{"steps":[{"plan":{"revisions":["one","two"],"withdraw":{"until":"now"}}},{"say":{"text":"on"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	h := &patient{fakeHost: &fakeHost{t: t}, asked: func(string) {
		if err := os.WriteFile(filepath.Join(dir, "now"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}}
	task := agent.Task{ID: "1", Cwd: dir}
	res, err := a.Turn(t.Context(), h, agent.Work{Task: &task})
	if err != nil || res.Failed || !slices.Equal(h.plans, []string{"one", "two"}) || len(h.said) != 1 {
		t.Errorf("%+v, %v: asked %v, said %v", res, err, h.plans, h.said)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := &ended{fakeHost: &fakeHost{t: t}, end: cancel}
	if _, err := a.Turn(ctx, gone, agent.Work{Task: &task}); !errors.Is(err, context.Canceled) || len(gone.plans) != 1 || len(gone.said) != 0 {
		t.Errorf("%v: asked %v, said %v", err, gone.plans, gone.said)
	}
}

// ended is a host whose turn ends while a plan is asked about.
type ended struct {
	*fakeHost
	end func()
}

func (h *ended) Plan(ctx context.Context, plan string) (agent.Decision, error) {
	h.plans = append(h.plans, plan)
	h.end()
	<-ctx.Done()
	return agent.Decision{}, ctx.Err()
}
