package policy_test

import (
	"strings"
	"testing"

	"waggle/policy"
)

// deciders has a row for each decider: who may decide. A cell is "allow/deny": y may, n may not.
// Columns: operator, leader, rules, system, worker.
var deciders = map[string]string{
	"tool operator": "y/y n/n n/n n/y n/n",
	"tool rules":    "y/y n/n y/y n/y n/n",
	"tool leader":   "y/y y/y n/n n/y n/n",
	"tool two":      "n/y n/n n/n n/y n/n",
	"tool auto":     "y/y n/n n/n n/y n/n",
	"tool ":         "y/y n/n n/n n/y n/n",
	"tool nobody":   "y/y n/n n/n n/y n/n",

	"network operator": "y/y n/n n/n n/y n/n",
	"network rules":    "y/y n/n y/y n/y n/n",
	"network leader":   "y/y n/y n/n n/y n/n",
	"network two":      "n/y n/n n/n n/y n/n",
	"network auto":     "y/y n/n n/n n/y n/n",

	"plan operator": "y/y n/n n/n n/y n/n",
	"plan rules":    "y/y n/n n/n n/y n/n",
	"plan leader":   "y/y y/y n/n n/y n/n",
	"plan two":      "n/y n/n n/n n/y n/n",
	"plan auto":     "y/y n/n n/n y/y n/n",

	"question operator": "y/y n/n n/n n/y n/n",
	"question leader":   "y/y y/y n/n n/y n/n",
	"question rules":    "y/y n/n n/n n/y n/n", // as operator
	"question two":      "y/y n/n n/n n/y n/n",
	"question auto":     "y/y n/n n/n n/y n/n",
}

func TestMayDecideEveryCell(t *testing.T) {
	roles := []policy.Role{policy.RoleOperator, policy.RoleLeader, policy.RoleRules, policy.RoleSystem, policy.RoleWorker}
	for key, row := range deciders {
		gate, decider, _ := strings.Cut(key, " ")
		for i, cell := range strings.Fields(row) {
			for j, want := range strings.Split(cell, "/") {
				ok, why := policy.MayDecide(policy.Gate(gate), policy.Decider(decider), roles[i], j == 0)
				if ok != (want != "n") {
					t.Errorf("%s by %s, allow=%v: %v (%s)", key, roles[i], j == 0, ok, why)
				}
				if (why == "") != ok {
					t.Errorf("%s by %s, allow=%v: %v, because %q", key, roles[i], j == 0, ok, why)
				}
			}
		}
	}
	for _, g := range policy.Gates() {
		for _, d := range policy.Deciders(g) {
			if _, ok := deciders[string(g)+" "+string(d)]; !ok {
				t.Errorf("%s by %s is not in the table", g, d)
			}
		}
	}
	for _, by := range append(roles, "", "Operator") {
		if ok, why := policy.MayDecide("sandbox", policy.DecideOperator, by, false); ok || why == "" {
			t.Errorf("an unknown gate is decided by %s", by)
		}
	}
	for _, by := range []policy.Role{"", "Operator", "somebody"} {
		if ok, why := policy.MayDecide(policy.GateTool, policy.DecideOperator, by, false); ok || why == "" {
			t.Errorf("%q decides", by)
		}
	}
}

// TestDecideReasons: a refusal says who decides.
func TestDecideReasons(t *testing.T) {
	for _, c := range []struct {
		g    policy.Gate
		d    policy.Decider
		by   policy.Role
		want string
	}{
		{policy.GateTool, policy.DecideTwo, policy.RoleOperator, "tool is decided by two: an allow is one vote"},
		{policy.GateTool, policy.DecideTwo, policy.RoleLeader, "tool is decided by two, not by the leader"},
		{policy.GateNetwork, policy.DecideRules, policy.RoleLeader, "network is decided by rules, not by the leader"},
		{policy.GateNetwork, policy.DecideLeader, policy.RoleLeader, "does not open the network"},
		{policy.GateNetwork, policy.DecideAuto, policy.RoleLeader, "network is decided by operator, not by the leader"},
		{policy.GateTool, policy.DecideLeader, policy.RoleRules, "tool is decided by leader, not by rules"},
		{policy.GatePlan, policy.DecideRules, policy.RoleRules, "say nothing of plans"},
		{policy.GatePlan, policy.DecideRules, policy.RoleSystem, "only denies"},
		{policy.GateTool, policy.DecideOperator, policy.RoleWorker, "never decides"},
		{policy.GateTool, policy.DecideOperator, "Leader", `"Leader" is not a role`},
		{"tools", policy.DecideOperator, policy.RoleOperator, "tool, plan, network"},
	} {
		if ok, why := policy.MayDecide(c.g, c.d, c.by, true); ok || !strings.Contains(why, c.want) {
			t.Errorf("%+v: %v, %q", c, ok, why)
		}
	}
}

// TestDecideTable: the table has each cell once, and MayDecide agrees with it.
func TestDecideTable(t *testing.T) {
	type cell struct {
		g     policy.Gate
		d     policy.Decider
		by    policy.Role
		allow bool
	}
	cells := map[cell]bool{}
	for _, row := range policy.DecideTable() {
		if !row.Allow && !row.Deny {
			t.Errorf("a row that allows and denies nothing: %+v", row)
		}
		for _, g := range row.Gates {
			for _, d := range row.Under {
				for allow, holds := range map[bool]bool{true: row.Allow, false: row.Deny} {
					c := cell{g, d, row.By, allow}
					if holds && cells[c] {
						t.Errorf("%+v is there twice", c)
					}
					cells[c] = cells[c] || holds
				}
			}
		}
	}
	for _, g := range policy.Gates() {
		for _, d := range policy.Deciders(g) {
			for _, by := range policy.Roles() {
				for _, allow := range []bool{true, false} {
					if ok, _ := policy.MayDecide(g, d, by, allow); ok != cells[cell{g, d, by, allow}] {
						t.Errorf("%s by %s, %s, allow %v: %v, and the table says another", g, d, by, allow, ok)
					}
				}
			}
		}
	}
	table := policy.DecideTable()
	table[0].Gates[0], table[0].Under[0], table[0].By = "changed", "changed", "changed"
	if again := policy.DecideTable()[0]; again.Gates[0] == "changed" || again.Under[0] == "changed" || again.By == "changed" {
		t.Error("DecideTable gives its own table away")
	}
}

func TestParseDecider(t *testing.T) {
	for _, g := range policy.Gates() {
		of := []string{"operator", "rules", "leader", "two"}
		if g == policy.GateQuestion {
			of = []string{"operator", "leader"}
			for _, d := range []string{"rules", "two", "auto"} {
				if got, err := policy.ParseDecider(g, d); err == nil {
					t.Errorf("%s %s: %v", g, d, got)
				}
			}
		}
		for _, d := range of {
			if got, err := policy.ParseDecider(g, d); err != nil || string(got) != d {
				t.Errorf("%s %s: %v, %v", g, d, got, err)
			}
		}
		for _, bad := range []string{"", "Operator", "human", "lead", "operator "} {
			_, err := policy.ParseDecider(g, bad)
			if err == nil || !strings.Contains(err.Error(), strings.Join(of, ", ")) {
				t.Errorf("%s %q: %v", g, bad, err)
			}
		}
	}
	if d, err := policy.ParseDecider(policy.GatePlan, "auto"); err != nil || d != policy.DecideAuto {
		t.Errorf("plan auto: %v, %v", d, err)
	}
	for _, g := range []policy.Gate{policy.GateTool, policy.GateNetwork} {
		if _, err := policy.ParseDecider(g, "auto"); err == nil || !strings.Contains(err.Error(), "plans only") {
			t.Errorf("%s auto: %v", g, err)
		}
	}
	if _, err := policy.ParseDecider("tools", "operator"); err == nil || !strings.Contains(err.Error(), "tool, plan, network") {
		t.Errorf("gate tools: %v", err)
	}
	if g, err := policy.ParseGate("plan"); err != nil || g != policy.GatePlan {
		t.Errorf("plan: %v, %v", g, err)
	}
}

func TestLeaderMayAllow(t *testing.T) {
	own := policy.Policy{Allow: policy.MustRules("Bash(go test:*)", "Bash(rm:*)")}
	for text, want := range map[string]string{
		"go test ./...":         "",
		"go build ./...":        "could not do this itself",
		"rm x":                  "the risk is high",
		"go test ./... && curl": "could not do this itself",
	} {
		ok, why := policy.LeaderMayAllow(own, bash(text))
		if ok != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%q: %v, %s", text, ok, why)
		}
	}
}

func TestMayVote(t *testing.T) {
	for _, g := range append(policy.Gates(), "sandbox") {
		for _, d := range []policy.Decider{"", "operator", "rules", "leader", "two", "auto", "nobody"} {
			for _, by := range append(policy.Roles(), "", "Operator") {
				want := g != "sandbox" && d == policy.DecideTwo && (by == policy.RoleOperator || by == policy.RoleLeader)
				if ok, why := policy.MayVote(g, d, by); ok != want || why == "" {
					t.Errorf("%s by %s, %s votes: %v, %q", g, d, by, ok, why)
				}
			}
		}
	}
}
