package operator_test

import (
	"context"
	"encoding/json"
	"testing"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/leader"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/policy"
	"waggle/record"
	"waggle/task"
)

// TestPreview: while nobody leads, Preview has the question that lies in the lead's mailbox; a
// decision that nobody has sent stays unsent; the next Refresh drops all of it. A process that leads may be stopped: beside
// it the question is shown too, and opened to be answered it is recorded, once.
func TestPreview(t *testing.T) {
	op, tm := operatortest.API(t)
	tm.Member("ann", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
		out, err := h.Tool(ctx, agent.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), Cwd: w.Task.Cwd}, func(context.Context, json.RawMessage) agent.Ran { return agent.Ran{} })
		return agent.Result{Failed: !out.Allowed}, err
	})
	list, err := task.Open(op.Root.TasksDir("api"), "api", task.Options{})
	testenv.Must(t, err)
	made, err := list.Create(t.Context(), task.Task{Subject: "make it", Description: "make it", Owner: "ann"})
	testenv.Must(t, err)
	s := tm.State()
	mint, err := op.Minter.Mint()
	testenv.Must(t, err)
	testenv.Value(s.Journal.Append(t.Context(), op.Writer(), func() ([]journal.Draft, error) {
		m, _ := s.Lead.Member("ann")
		return s.Lead.Assign(m, record.Task{ID: string(made.ID), Subject: "make it", Instructions: "make it"}, policy.RoleOperator, mint)
	}))(t)
	if _, err := op.Pass(t.Context(), s); err != nil { // sends it
		t.Fatal(err)
	}
	recorded := func() int {
		t.Helper()
		recs := testenv.Value(s.Records())(t)
		return len(recs)
	}
	preview := func(want bool) {
		t.Helper()
		if led, err := op.Preview(t.Context(), s); led != want || err != nil {
			t.Fatalf("led %v, %v", led, err)
		}
	}
	testenv.Eventually(t, "ann asks", func() bool { preview(false); return len(s.Lead.Pending()) == 1 })
	asked := s.Lead.Pending()[0]
	if err := s.Journal.Refresh(t.Context()); err != nil || len(s.Lead.Requests) != 0 {
		t.Fatalf("on record: %v, %v", s.Lead.Requests, err)
	}

	release, held, err := s.Dir.TryLead()
	if err != nil || !held {
		t.Fatal(held, err)
	}
	was := recorded()
	preview(true)
	if u := s.Untaken(); len(u) != 1 || u[0].Key != asked.Key || u[0].Digest != asked.Digest || u[0].Handle != asked.Handle || recorded() != was {
		t.Errorf("beside a leader %+v is shown, and %d recorded", u, recorded()-was)
	}
	if u := testenv.Value(op.Open(t.Context(), "api", operator.Seen))(t).Untaken(); len(u) != 1 || recorded() != was {
		t.Errorf("opened as seen: %+v is shown, and %d recorded", u, recorded()-was)
	}
	for range 2 {
		if s := testenv.Value(op.Open(t.Context(), "api", operator.Answer("a decision")))(t); len(s.Lead.Pending()) != 1 || recorded() != was+1 {
			t.Errorf("%+v is on record, %d recorded", s.Lead.Pending(), recorded()-was)
		}
	}
	preview(true)
	if u := s.Untaken(); len(u) != 0 {
		t.Errorf("%+v is not taken in", u)
	}
	testenv.Must(t, release())

	tm.Until("the question is on record", func(l *control.Leader) bool { return len(l.Pending()) == 1 })
	testenv.Must(t, s.Journal.Refresh(t.Context()))
	if r := s.Lead.Pending()[0]; r.Key != asked.Key || r.Digest != asked.Digest || r.Handle != asked.Handle {
		t.Errorf("on record %+v, in the preview %+v", r, asked)
	}
	// The decision of a process that ended before it sent the answer.
	v := control.Answer{Key: asked.Key, Digest: asked.Digest, Allow: false, By: policy.RoleOperator, Channel: policy.ChannelOperator, Via: "deny"}
	testenv.Value(leader.Decide(t.Context(), s.Journal, s.Lead, op.Writer(), op.Minter, v))(t)
	box, err := op.Boxes("api").Open("ann", mailbox.Options{})
	testenv.Must(t, err)
	before, err := box.Entries(t.Context())
	testenv.Must(t, err)
	was = recorded()
	preview(false)
	if r, ok := s.Lead.Request(asked.Key); !ok || r.Order == nil || r.Order.Sent {
		t.Errorf("the preview has %+v", r)
	}
	if n := recorded(); n != was {
		t.Errorf("the preview recorded %d", n-was)
	}
	if after, err := box.Entries(t.Context()); err != nil || len(after) != len(before) {
		t.Errorf("ann's mailbox had %d entries and has %d, %v", len(before), len(after), err)
	}
}
