package control_test

import (
	"maps"
	"slices"
	"testing"

	"waggle/control"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// TestDecideTableIsReached: for every cell of the table of who may decide there is a team in which
// a principal of that role decides so, and its answer is on record; for every other cell the answer
// is refused, or is one vote of two. A cell that nothing reaches does not belong there.
func TestDecideTableIsReached(t *testing.T) {
	kinds := map[policy.Gate]protocol.Kind{policy.GateTool: tool, policy.GatePlan: plan, policy.GateNetwork: host, policy.GateQuestion: words}
	asks := map[policy.Gate]record.Ask{policy.GateTool: bash, policy.GatePlan: {Plan: "one"}, policy.GateNetwork: {Host: "x.org"}, policy.GateQuestion: asking}
	said := policy.MustRules("Bash(go test:*)", "WebFetch(domain:x.org)")
	reached := map[[4]string]bool{}
	cell := func(g policy.Gate, d policy.Decider, by policy.Role, allow bool) [4]string {
		return [4]string{string(g), string(d), string(by), map[bool]string{true: "allow", false: "deny"}[allow]}
	}
	for _, g := range policy.Gates() {
		for _, d := range policy.Deciders(g) {
			for _, by := range policy.Roles() {
				for _, allow := range []bool{true, false} {
					set := record.PolicySet{Decide: record.Deciders{g: d}, Lead: &policy.Policy{Allow: said}}
					w, m := working(t, set, g == policy.GatePlan)
					k := m.ask(kinds[g], asks[g])
					p := policy.Policy{Deny: said}
					if allow {
						p = policy.Policy{Allow: said}
					}
					if by == policy.RoleRules { // they say it since it was asked
						w.setPolicy(p)
					}
					m.flush()
					w.seeAll()
					if g == policy.GateQuestion { // no message asks it
						w.pass()
					}
					r := w.request(k)
					writer := map[bool]journal.Writer{true: operator, false: w.lead()}[by == policy.RoleOperator]
					v := control.Answer{Key: r.Key, Digest: r.Digest, Allow: allow, By: by, Channel: policy.ChannelJournal, Via: "test"}
					said := cell(g, d, by, allow)[3]
					if g == policy.GateQuestion && allow {
						v.Answers, said = answering, record.DecisionAnswer
					}
					if r.Decided != nil {
						t.Fatalf("%v: decided before", cell(g, d, by, allow))
					}
					out := w.decide(v, writer)
					if out.Refusal == nil && r.Decided != nil && r.Decided.By == by && r.Decided.Decision == said {
						reached[cell(g, d, by, allow)] = true
					} else if out.Changed || out.Refusal == nil && !(out.Voted && d == policy.DecideTwo) {
						t.Errorf("%v: %+v, decided %+v", cell(g, d, by, allow), out, r.Decided)
					}
				}
			}
		}
	}
	for _, row := range policy.DecideTable() {
		for _, g := range row.Gates {
			for _, d := range row.Under {
				for _, allow := range []bool{true, false} {
					c := cell(g, d, row.By, allow)
					if (allow && row.Allow || !allow && row.Deny) && !reached[c] {
						t.Errorf("%v is in the table and nothing reaches it", c)
					}
					if allow && row.Allow || !allow && row.Deny {
						delete(reached, c)
					}
				}
			}
		}
	}
	left := slices.SortedFunc(maps.Keys(reached), func(a, b [4]string) int { return slices.Compare(a[:], b[:]) })
	if len(left) > 0 {
		t.Errorf("decided, and not in the table: %v", left)
	}
}
