package policy_test

import (
	"fmt"
	"testing"

	"waggle/policy"
)

// verdicts are what a mode says of one call of each area: without a rule, with an allow rule for it,
// and where a deny rule may match.
func verdicts(m policy.Mode) string {
	all := ""
	for _, area := range policy.Areas() {
		s := samples[area]
		for _, allow := range [][]policy.Rule{nil, policy.MustRules(s.rule)} {
			v := policy.Policy{Mode: m, Allow: allow}.Judge(s.call)
			all += fmt.Sprintln(area, v.Decision, v.Rule)
		}
	}
	p := policy.Policy{Mode: m, Deny: policy.MustRules("Bash(rm:*)", "Read(secret/**)")}
	for _, c := range []policy.Call{bash(`"$X"`), call("Grep", `{"pattern":"x","path":"/work/api","output_mode":"content"}`)} {
		v := p.Judge(c)
		all += fmt.Sprintln(v.Decision, v.Rule)
	}
	return all
}

// TestModesAreReached: for every cell of the table of modes, and for the fields Rules and Silent of
// each mode, there is a call whose verdict depends on it: with another value there, a verdict is
// another. A value that changes no verdict does not belong into the table.
func TestModesAreReached(t *testing.T) {
	for _, info := range policy.Modes() {
		before := verdicts(info.Mode)
		reached := func(change func(*policy.ModeInfo)) bool {
			undo := policy.ChangeMode(info.Mode, change)
			defer undo()
			return verdicts(info.Mode) != before
		}
		for _, area := range policy.Areas() {
			found := false
			for _, d := range []policy.Decision{allow, ask, deny} {
				found = found || reached(func(m *policy.ModeInfo) { policy.SetCell(m, area, d) })
			}
			if !found {
				t.Errorf("%s, %s: no verdict comes from this cell", info.Mode, area)
			}
		}
		if !reached(func(m *policy.ModeInfo) {
			m.Rules = map[policy.Reach]policy.Reach{policy.ReachAll: policy.ReachReads, policy.ReachReads: policy.ReachAll}[m.Rules]
		}) {
			t.Errorf("%s: no verdict depends on where its allow rules count", info.Mode)
		}
		if !reached(func(m *policy.ModeInfo) { m.Silent = !m.Silent }) {
			t.Errorf("%s: no verdict depends on whether it asks", info.Mode)
		}
		if verdicts(info.Mode) != before {
			t.Fatal("the table is not as it was")
		}
	}
}

// TestDecideTableIsRead: each gate, decider and answer of each row is read: without it, MayDecide
// says another thing. TestDecideTableIsReached of control shows that a team comes there.
func TestDecideTableIsRead(t *testing.T) {
	said := func() (all string) {
		for _, g := range policy.Gates() {
			for _, d := range policy.Deciders(g) {
				for _, by := range policy.Roles() {
					for _, a := range []bool{true, false} {
						ok, _ := policy.MayDecide(g, d, by, a)
						all += fmt.Sprintln(ok)
					}
				}
			}
		}
		return all
	}
	before := said()
	for i, row := range policy.DecideTable() {
		without := func(what string, change func(*policy.DecideRow)) {
			undo := policy.ChangeDecide(i, change)
			if said() == before {
				t.Errorf("%+v: nothing reads %s", row, what)
			}
			undo()
		}
		for j, g := range row.Gates {
			without(string(g), func(r *policy.DecideRow) {
				r.Gates = append(append([]policy.Gate{}, row.Gates[:j]...), row.Gates[j+1:]...)
			})
		}
		for j, d := range row.Under {
			without(string(d), func(r *policy.DecideRow) {
				r.Under = append(append([]policy.Decider{}, row.Under[:j]...), row.Under[j+1:]...)
			})
		}
		if row.Allow {
			without("allow", func(r *policy.DecideRow) { r.Allow = false })
		}
		if row.Deny {
			without("deny", func(r *policy.DecideRow) { r.Deny = false })
		}
	}
	if said() != before {
		t.Error("the table is not as it was")
	}
}
