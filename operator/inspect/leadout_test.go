package inspect_test

import (
	"strings"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// While a person has the session of the lead's agent, what it is to answer waits for the operator, and says so;
// of two votes the lead's waits. Once the client has ended it is the agent's again.
func TestLeadOut(t *testing.T) {
	t.Parallel()
	for decider, want := range map[policy.Decider]struct {
		out         string
		before, now inspect.MemberState
	}{
		policy.DecideLeader:   {"you answer: the lead's session is taken", inspect.StatePeer, inspect.StateHuman},
		policy.DecideTwo:      {"the lead's vote waits: its session is taken", inspect.StateHuman, inspect.StateHuman},
		policy.DecideOperator: {"", inspect.StateHuman, inspect.StateHuman},
	} {
		t.Run(string(decider), func(t *testing.T) {
			t.Parallel()
			op := operatortest.New(t)
			rig := operatortest.Team(t, op, "api", record.PolicySet{Decide: record.Deciders{policy.GateTool: decider}})
			o := inspect.Of(op)
			s := rig.Write(journal.Draft{Kind: record.KindJoined, Must: true, Body: record.Joined{Instance: "b055", Name: protocol.Lead, Lead: "boss", Agent: "claude",
				Backend: "process", Trust: record.Cooperative}})
			rig.Asks("ann", operatortest.Bash("make"))
			rig.Pending(1)
			release, held, err := s.Dir.TryLead()
			if err != nil || !held {
				t.Fatal(held, err)
			}
			defer func() {
				if err := release(); err != nil {
					t.Error(err)
				}
			}()
			look := func(state inspect.MemberState, out string) {
				t.Helper()
				st, err := o.Status(t.Context(), "api")
				testenv.Must(t, err)
				if m := member(st, "ann"); m.State != state || strings.Contains(m.Why, "taken") != (out != "") || !strings.Contains(m.Why, out) {
					t.Errorf("status: %s, %s", m.State, m.Why)
				}
				qs, err := decide.Of(op).Pending(t.Context(), "api", false)
				if err != nil || len(qs) != 1 || qs[0].LeadOut != out || qs[0].Status != decide.StatusOpen {
					t.Errorf("pending: %+v, %v", qs, err)
				}
			}
			look(want.before, "")
			id := operatortest.Process(t)
			operatortest.Append(t, op, s, journal.Draft{Kind: record.KindBorrowed, Must: true, Body: record.Borrowed{Instance: "b055", By: id}})
			look(want.now, want.out)
			operatortest.Append(t, op, s, journal.Draft{Kind: record.KindReturned, Must: true, Body: record.Returned{Instance: "b055", Borrowed: uint64(s.Lead.Members[0].Borrowed.Seq)}})
			look(want.before, "")
		})
	}
}
