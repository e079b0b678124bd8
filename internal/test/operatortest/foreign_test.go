package operatortest_test

import (
	"slices"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
)

// A team of another program has no journal here; a team of waggle has the members that were made.
func TestForeignTeam(t *testing.T) {
	op := operatortest.New(t)
	tm := operatortest.ForeignTeam(t, op, "session-1a2b3c4d", "theirs")
	tm.ByFile("ours")
	cfg, err := op.Registry(t.Context(), tm.Name)
	if err != nil || !slices.Equal(cfg.Present(), []protocol.MemberName{protocol.Lead, "theirs", "ours"}) {
		t.Errorf("%+v, %v", cfg, err)
	}
	if s, err := op.Open(t.Context(), tm.Name, operator.Act); !operator.Unled(err) {
		t.Errorf("%+v, %v", s, err)
	}
	own := operatortest.Team(t, op, "api", record.PolicySet{})
	own.Join("ann")
	own.Task("ann", "build")
	if order, ok := own.State().Lead.Assignment("1"); !ok || order.Instance != own.Instance("ann") {
		t.Errorf("%+v", order)
	}
}
