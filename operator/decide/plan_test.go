package decide_test

import (
	"context"
	"strings"
	"testing"

	"waggle/agent"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/record"
)

// Every revision of a plan stays, with its number, and is found by its member or its id.
func TestPlans(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Member("ann", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
		for _, text := range []string{"look\nleap\n", "look\nlook\nleap\n"} {
			a, err := h.Plan(ctx, text)
			if err != nil || a.Allowed {
				return agent.Result{}, err
			}
		}
		return agent.Result{Failed: true}, nil
	})
	rig.Task("ann", "jump")
	rig.Asks("bob", operatortest.Bash("make"))
	rig.Pending(2)
	first, err := o.Plan(t.Context(), "api", "ann", 0)
	if err != nil || first.Revision != 1 || first.Plan != "look\nleap\n" || first.Hash != record.HashText(first.Plan) {
		t.Fatalf("%+v, %v", first, err)
	}
	testenv.Value(o.Decide(t.Context(), "api", []decide.Answer{{ID: first.ID, Reason: "look twice", Via: "deny"}}))(t)
	rig.Pending(2)
	second, err := o.Plan(t.Context(), "api", "Ann", 2)
	if err != nil || second.Revision != 2 || second.Answer != nil {
		t.Fatalf("%+v, %v", second, err)
	}
	if got := decide.DiffPlans(first, second); !strings.Contains(got, "--- ann rev 1 (") || !strings.Contains(got, "+++ ann rev 2 (") || !strings.Contains(got, "\n+look\n") || strings.Contains(got, "\n-look") {
		t.Errorf("%s", got)
	}
	open, err := o.Plans(t.Context(), "api", false)
	all, err2 := o.Plans(t.Context(), "api", true)
	if err != nil || err2 != nil || len(open) != 1 || open[0].ID != second.ID || len(all) != 2 || all[0].ID != first.ID {
		t.Errorf("%+v, %+v, %v, %v", open, all, err, err2)
	}
	for _, c := range []struct {
		of   string
		rev  int
		code operator.Kind
		says string
		id   string
	}{
		{"ann", 1, 0, "", first.ID},
		{first.ID, 1, 0, "", first.ID},
		{first.ID, 2, operator.Refused, "is revision 1, not 2", ""},
		{"ann", 3, operator.NotFound, "no revision 3", ""},
		{"bob", 0, operator.NotFound, "proposed no plan", ""},
		{"ooo", 0, operator.NotFound, "ooo", ""},
		{call(t, rig), 0, operator.Usage, "is not a plan", ""},
	} {
		q, err := o.Plan(t.Context(), "api", c.of, c.rev)
		if c.code == 0 {
			if err != nil || q.ID != c.id {
				t.Errorf("%s, %d: %+v, %v", c.of, c.rev, q, err)
			}
			continue
		}
		operatortest.Is(t, c.of, err, c.code, c.says)
	}
}

// call is the id of the one tool call that is open.
func call(t *testing.T, rig *operatortest.Rig) string {
	t.Helper()
	for _, r := range rig.State().Lead.Pending() {
		if r.Gate() == policy.GateTool {
			return string(r.ID)
		}
	}
	t.Fatal("no call is open")
	return ""
}

// EscalatePlan does not pass on a plan that the operator decides anyway. If the rules or the lead's
// agent decide, it passes the plan on, once, and shows the reason.
func TestEscalatePlan(t *testing.T) {
	t.Parallel()
	for decider, changed := range map[policy.Decider]bool{policy.DecideOperator: false, policy.DecideLeader: true} {
		op := operatortest.New(t)
		rig := operatortest.Team(t, op, "api", record.PolicySet{Decide: record.Deciders{policy.GatePlan: decider}})
		o := decide.Of(op)
		rig.Asks("ann", operatortest.Ask{Plan: "leap"})
		req := rig.Pending(1)[0]
		e, err := o.EscalatePlan(t.Context(), "api", "ann", 1, "too risky")
		if err != nil || e.Changed != changed || e.ID != string(req.ID) || e.Member != "ann" || e.Revision != 1 || e.Digest != string(req.Digest) || e.Decider != string(decider) {
			t.Errorf("%s: %+v, %v", decider, e, err)
		}
		q, err := o.Show(t.Context(), "api", string(req.ID))
		if err != nil || changed != strings.HasSuffix(q.Escalated, "too risky") {
			t.Errorf("%s: %+v, %v", decider, q, err)
		}
		_, err = o.EscalatePlan(t.Context(), "api", "bob", 0, "")
		operatortest.Is(t, "nobody's plan", err, operator.NotFound, "bob")
		testenv.Value(o.Decide(t.Context(), "api", []decide.Answer{{ID: req.Handle, Allow: true, Via: "approve"}}))(t)
		_, err = o.EscalatePlan(t.Context(), "api", string(req.ID), 0, "late")
		operatortest.Is(t, "a plan that was answered", err, operator.Refused, "")
	}
}
