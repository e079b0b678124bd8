package policy_test

import (
	"strings"
	"testing"

	"waggle/policy"
)

// deciders has a row for each decider: who may decide. A cell is "allow/deny": y may, n may not, v
// may and is one vote of two. Columns: operator, leader, rules, system, worker.
var deciders = map[string]string{
	"tool operator": "y/y n/n n/n n/y n/n",
	"tool rules":    "y/y n/n y/y n/y n/n",
	"tool leader":   "y/y y/y n/n n/y n/n",
	"tool two":      "v/y n/n n/n n/y n/n",
	"tool auto":     "y/y n/n n/n n/y n/n",
	"tool ":         "y/y n/n n/n n/y n/n",
	"tool nobody":   "y/y n/n n/n n/y n/n",

	"network operator": "y/y n/n n/n n/y n/n",
	"network rules":    "y/y n/n y/y n/y n/n",
	"network leader":   "y/y y/y n/n n/y n/n",
	"network two":      "v/y n/n n/n n/y n/n",
	"network auto":     "y/y n/n n/n n/y n/n",

	"plan operator": "y/y n/n n/n n/y n/n",
	"plan rules":    "y/y n/n n/n n/y n/n",
	"plan leader":   "y/y y/y n/n n/y n/n",
	"plan two":      "v/y n/n n/n n/y n/n",
	"plan auto":     "y/y n/n n/n y/y n/n",
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
				if (why == "") != (want == "y") || want == "v" && !strings.Contains(why, "one vote of two") {
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

func TestParseDecider(t *testing.T) {
	for _, g := range policy.Gates() {
		for _, d := range []string{"operator", "rules", "leader", "two"} {
			if got, err := policy.ParseDecider(g, d); err != nil || string(got) != d {
				t.Errorf("%s %s: %v, %v", g, d, got, err)
			}
		}
		for _, bad := range []string{"", "Operator", "human", "lead", "operator "} {
			_, err := policy.ParseDecider(g, bad)
			if err == nil || !strings.Contains(err.Error(), "operator, rules, leader, two") {
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
