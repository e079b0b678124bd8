package decide_test

import (
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/record"
)

// TestOpen: Open lists a request by the journal alone, and only while the request waits. A team that
// does not exist has no requests, and neither has the empty name.
func TestOpen(t *testing.T) {
	t.Parallel()
	d, tm := team(t)
	if got := d.OpenRequests(t.Context(), "api", true); len(got) != 0 {
		t.Errorf("before it asks: %+v", got)
	}
	tm.Asks("ann", operatortest.Bash("make"))
	tm.Pending(1)
	got := d.OpenRequests(t.Context(), "api", false)
	if len(got) != 1 || got[0].Member != "ann" || got[0].Tool != "Bash" || got[0].ID == "" {
		t.Fatalf("%+v", got)
	}
	if got := d.OpenRequests(t.Context(), "", false); got != nil {
		t.Errorf("no team: %+v", got)
	}
	if got := d.OpenRequests(t.Context(), "none", false); got != nil {
		t.Errorf("a team that is not there: %+v", got)
	}
	testenv.Value(d.Decide(t.Context(), "api", []decide.Answer{{ID: got[0].ID, Via: "deny"}}))(t)
	if got := d.OpenRequests(t.Context(), "api", false); len(got) != 0 {
		t.Errorf("decided: %+v", got)
	}
}

// TestRulesOfTeam: the rules of a team's policy come before those that were added.
func TestRulesOfTeam(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	var p record.PolicySet
	p.Policy.Allow, p.Policy.Deny = []policy.Rule{rule(t, "Read")}, []policy.Rule{rule(t, "Bash(rm:*)")}
	operatortest.Team(t, op, "api", p)
	got := decide.Of(op).Rules(t.Context(), "api")
	if len(got) != 2 || got[0] != "Read" || got[1] != "Bash(rm:*)" {
		t.Errorf("%q", got)
	}
	if got := decide.Of(op).Rules(t.Context(), "none"); got != nil {
		t.Errorf("a team that is not there: %q", got)
	}
}
