package inspect_test

import (
	"testing"
	"time"

	"waggle/internal/test/operatortest"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/record"
	"waggle/team"
)

// TestListed: the registry's members are listed, a team that is not there is not found.
func TestListed(t *testing.T) {
	t.Parallel()
	op, _ := operatortest.API(t)
	if _, _, err := mail.Of(op).Register(t.Context(), "api", team.Member{Name: "bob", AgentType: "reviewer", JoinedAt: time.Now(), Subscriptions: []string{}}, false); err != nil {
		t.Fatal(err)
	}
	got, err := inspect.Of(op).Listed(t.Context(), "api")
	if err != nil || len(got) != 2 || got[0].Name != "team-lead" || got[1].Name != "bob" || got[1].AgentType != "reviewer" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := inspect.Of(op).Listed(t.Context(), "none"); operator.KindOf(err) != operator.NotFound {
		t.Errorf("a team that is not there: %v", err)
	}
}

// TestPastNames: a team that ended keeps its id, and the name once.
func TestPastNames(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	operatortest.Team(t, op, "api", record.PolicySet{}).Delete()
	operatortest.Team(t, op, "api", record.PolicySet{})
	got, err := inspect.Of(op).PastNames()
	if err != nil || len(got) != 2 || got[0].Name != "api" || got[1].Name != "" || got[0].ID == got[1].ID || got[0].Opened == "" {
		t.Errorf("%+v, %v", got, err)
	}
}
