package control_test

import (
	"testing"

	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
)

// TestRevisionAfterWithdrawal: a plan that was taken back keeps its number, and the next
// one has the next, whether or not the lead had seen the first; answers are bound to
// theirs.
func TestRevisionAfterWithdrawal(t *testing.T) {
	for _, seen := range []bool{true, false} {
		w, m := working(t, record.PolicySet{}, true)
		revision := func(k record.Key) int { c, _ := m.w.Call(k); return c.Ask.Revision }
		first := m.ask(protocol.KindPlanApprovalRequest, record.Ask{Plan: "one"})
		if seen {
			m.flush()
			w.pass()
		}
		m.do(func() ([]journal.Draft, error) { return m.w.Withdraw(first, "the agent gave it up"), nil })
		second := m.ask(protocol.KindPlanApprovalRequest, record.Ask{Plan: "two"})
		m.flush()
		w.pass()
		third := m.ask(protocol.KindPlanApprovalRequest, record.Ask{Plan: "three"}) // it replaces the second plan
		for k, want := range map[record.Key]int{first: 1, second: 2, third: 3} {
			if got := revision(k); got != want {
				t.Errorf("seen %v: the plan %s is revision %d, want %d", seen, k.ID, got, want)
			}
		}
		if r := w.request(second); r.Ask.Revision != 2 {
			t.Errorf("seen %v: on the lead's record it is revision %d", seen, r.Ask.Revision)
		}
	}
}

// TestEmptyPlan: a plan without words, as a client asks with before it has written the file, is approved by nobody, and
// may be rejected.
func TestEmptyPlan(t *testing.T) {
	w, m := working(t, record.PolicySet{}, true)
	k := m.ask(protocol.KindPlanApprovalRequest, record.Ask{Plan: " \n"})
	m.flush()
	w.pass()
	req := w.request(k)
	if out := w.decide(verdict(req, true), operator); out.Refusal == nil || len(out.Drafts) > 0 {
		t.Errorf("approved: %+v", out)
	}
	if out := w.decide(verdict(req, false), operator); !out.Changed || out.Refusal != nil {
		t.Errorf("rejected: %+v", out)
	}
}
