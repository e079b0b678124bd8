package policy

import (
	"fmt"
	"slices"
	"strings"

	"waggle/protocol"
)

// Gate is what a request is about.
type Gate string

// The gates.
const (
	GateTool    Gate = "tool"
	GatePlan    Gate = "plan"
	GateNetwork Gate = "network"
	// GateQuestion is no gate of a call: an agent asks for words. Its answer opens nothing.
	GateQuestion Gate = "question"
)

// Gates lists the gates.
func Gates() []Gate { return []Gate{GateTool, GatePlan, GateNetwork, GateQuestion} }

// ParseGate refuses an unknown gate and lists the known ones.
func ParseGate(s string) (Gate, error) {
	if slices.Contains(Gates(), Gate(s)) {
		return Gate(s), nil
	}
	return "", fmt.Errorf("policy: unknown gate %q (known: %s)", s, strings.Join(protocol.Strings(Gates()), ", "))
}

// Decider says who answers a gate's questions: what rules and modes neither allow
// nor deny (trust §9).
type Decider string

// The deciders.
const (
	DecideOperator Decider = "operator" // the operator decides what no rule and no mode allows or denies
	DecideRules    Decider = "rules"
	DecideLeader   Decider = "leader"
	DecideTwo      Decider = "two"
	DecideAuto     Decider = "auto" // plans only
)

// Deciders lists what a gate may be given to.
func Deciders(g Gate) []Decider {
	if g == GateQuestion {
		return []Decider{DecideOperator, DecideLeader}
	}
	all := []Decider{DecideOperator, DecideRules, DecideLeader, DecideTwo}
	if g == GatePlan {
		all = append(all, DecideAuto)
	}
	return all
}

// ParseDecider refuses an unknown decider, and auto for anything but plans, and
// lists the known ones.
func ParseDecider(g Gate, s string) (Decider, error) {
	if _, err := ParseGate(string(g)); err != nil {
		return "", err
	}
	if slices.Contains(Deciders(g), Decider(s)) {
		return Decider(s), nil
	}
	if s == string(DecideAuto) {
		return "", fmt.Errorf("policy: auto decides plans only, not %s (known: %s)", g, strings.Join(protocol.Strings(Deciders(g)), ", "))
	}
	return "", fmt.Errorf("policy: unknown decider %q for %s (known: %s)", s, g, strings.Join(protocol.Strings(Deciders(g)), ", "))
}

// DecideRow is one row of the table of who may decide: a principal of this role may give these
// answers to requests of these gates that the policy gives to one of these deciders.
type DecideRow struct {
	By          Role
	Gates       []Gate
	Under       []Decider
	Allow, Deny bool
}

var decideTable = []DecideRow{
	{RoleOperator, Gates(), []Decider{DecideOperator, DecideLeader}, true, true},
	{RoleOperator, acts, []Decider{DecideRules}, true, true},
	{RoleOperator, acts, []Decider{DecideTwo}, false, true}, // an allow is a vote
	{RoleOperator, []Gate{GatePlan}, []Decider{DecideAuto}, true, true},
	{RoleRules, []Gate{GateTool, GateNetwork}, []Decider{DecideRules}, true, true},
	{RoleLeader, []Gate{GateTool, GatePlan, GateQuestion}, []Decider{DecideLeader}, true, true},
	{RoleLeader, []Gate{GateNetwork}, []Decider{DecideLeader}, false, true},     // its risk is high
	{RoleSystem, Gates(), []Decider{DecideOperator, DecideLeader}, false, true}, // expiry
	{RoleSystem, acts, []Decider{DecideRules, DecideTwo}, false, true},          // expiry
	{RoleSystem, []Gate{GatePlan}, []Decider{DecideAuto}, true, true},
}

// acts are the gates of what a member would do; a question asks for words only.
var acts = []Gate{GateTool, GatePlan, GateNetwork}

// DecideTable is the table of who may decide; MayDecide reads it (trust §3, §9).
func DecideTable() []DecideRow {
	out := slices.Clone(decideTable)
	for i := range out {
		out[i].Gates, out[i].Under = slices.Clone(out[i].Gates), slices.Clone(out[i].Under)
	}
	return out
}

// MayDecide reports whether a principal of role by may decide a request of gate g that a team's
// policy gives to decider d, by DecideTable; why says who may when it may not (trust §3, §9). An
// unknown decider, and auto for anything but plans, counts as DecideOperator.
//
// MayDecide does not see the request, so the caller must check the rest: no principal decides its
// own request; a leader allows a tool call only if LeaderMayAllow says so, and with the digest.
// Under DecideTwo no allow decides: it is one of the votes that MayVote admits, and the caller
// counts them. A single deny decides.
func MayDecide(g Gate, d Decider, by Role, allow bool) (ok bool, why string) {
	if _, err := ParseGate(string(g)); err != nil {
		return false, err.Error()
	}
	if !slices.Contains(Deciders(g), d) {
		d = DecideOperator
	}
	for _, row := range decideTable {
		if row.By == by && (allow && row.Allow || !allow && row.Deny) && slices.Contains(row.Gates, g) && slices.Contains(row.Under, d) {
			return true, ""
		}
	}
	return false, mayNotDecide(g, d, by)
}

// mayNotDecide says why a principal may not decide.
func mayNotDecide(g Gate, d Decider, by Role) string {
	switch {
	case by == RoleWorker:
		return "a worker never decides"
	case !slices.Contains(Roles(), by):
		return fmt.Sprintf("%q is not a role that decides", by)
	case by == RoleSystem:
		return "the system only denies, by expiry"
	case by == RoleRules && (g == GatePlan || g == GateQuestion):
		return fmt.Sprintf("rules say nothing of %ss; the operator decides", g)
	case by == RoleRules:
		return fmt.Sprintf("%s is decided by %s, not by rules", g, d)
	case by == RoleOperator:
		return fmt.Sprintf("%s is decided by %s: an allow is one vote", g, d)
	case d == DecideLeader:
		return "a lead agent does not open the network: its risk is high"
	}
	return fmt.Sprintf("%s is decided by %s, not by the leader", g, d)
}

const oneOfTwo = "one vote of two: the other must come from another principal, and one of them is the operator"

// MayVote reports whether a principal of role by may cast one of the votes that DecideTwo takes. An
// allow takes two votes from different principals, one of them an operator, on the same digest; one
// person on two faces counts once (trust §3). The caller counts them and checks MayDecide's
// conditions on a leader. MayVote is false under every other decider.
func MayVote(g Gate, d Decider, by Role) (ok bool, why string) {
	if _, err := ParseGate(string(g)); err != nil {
		return false, err.Error()
	}
	switch {
	case d != DecideTwo:
		return false, fmt.Sprintf("%s is not decided by votes", g)
	case by == RoleOperator || by == RoleLeader:
		return true, oneOfTwo
	}
	return false, fmt.Sprintf("%q has no vote", by)
}

// LeaderMayAllow reports whether a leader with this policy may allow a member's
// tool call under DecideLeader or DecideTwo: only what it could do itself without
// asking, and only below RiskHigh (trust §3). A deny needs no leave.
func LeaderMayAllow(own Policy, c Call) (ok bool, why string) {
	c.Own = nil // the file has it for the member
	if v := own.Judge(c); v.Decision != Allow {
		return false, "the leader could not do this itself without asking: " + v.Rule
	}
	if RiskOf(c) == RiskHigh {
		return false, "the risk is high, which is the operator's to decide"
	}
	return true, ""
}
