package operatortest_test

import (
	"context"
	"encoding/json"
	"testing"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator/board"
	"waggle/operator/decide"
)

// A member works at a task, asks, is allowed by the operator, and runs its call once.
func TestRig(t *testing.T) {
	op, tm := operatortest.API(t)
	ran := 0
	tm.Member("ann", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
		out, err := h.Tool(ctx, agent.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), Cwd: w.Task.Cwd}, func(context.Context, json.RawMessage) agent.Ran {
			ran++
			return agent.Ran{}
		})
		return agent.Result{Failed: !out.Allowed}, err
	})
	testenv.Value(board.Of(op).AddTask(t.Context(), "api", board.NewTask{Subject: "make it", Owner: "ann"}))(t)
	tm.Until("ann asks", func(l *control.Leader) bool { return len(l.Pending()) == 1 })
	waiting, err := decide.Of(op).Pending(t.Context(), "api", false)
	if err != nil || len(waiting) != 1 {
		t.Fatalf("%+v, %v", waiting, err)
	}
	testenv.Value(decide.Of(op).Decide(t.Context(), "api", []decide.Answer{{ID: waiting[0].ID, Allow: true, Via: "approve"}}))(t)
	tm.Until("ann has run it", func(l *control.Leader) bool {
		list, err := board.Of(op).Tasks(t.Context(), "api", false)
		return err == nil && len(list.Tasks) == 1 && list.Tasks[0].Status == "completed"
	})
	if ran != 1 {
		t.Errorf("the call ran %d times", ran)
	}
}
