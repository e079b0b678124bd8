package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Gate is what a request is about.
type Gate string

// The gates.
const (
	GateTool    Gate = "tool"
	GatePlan    Gate = "plan"
	GateNetwork Gate = "network"
)

// Gates lists the gates.
func Gates() []Gate { return []Gate{GateTool, GatePlan, GateNetwork} }

// ParseGate refuses an unknown gate and lists the known ones.
func ParseGate(s string) (Gate, error) {
	if slices.Contains(Gates(), Gate(s)) {
		return Gate(s), nil
	}
	return "", fmt.Errorf("policy: unknown gate %q (known: %s)", s, joined(Gates()))
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
		return "", fmt.Errorf("policy: auto decides plans only, not %s (known: %s)", g, joined(Deciders(g)))
	}
	return "", fmt.Errorf("policy: unknown decider %q for %s (known: %s)", s, g, joined(Deciders(g)))
}

func joined[S ~string](all []S) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = string(s)
	}
	return strings.Join(texts, ", ")
}

// MayDecide reports whether a principal of role by may decide a request of gate g that a team's
// policy gives to decider d; why says who may when it may not, or what is left to check when it may
// (trust §3, §9).
//
//	operator   always, under every decider
//	rules      under DecideRules, for tools and network; there are no rules for plans
//	leader     under DecideLeader
//	system     denies always (expiry); allows only plans under DecideAuto
//	worker     never
//
// An unknown decider, and auto for anything but plans, counts as DecideOperator.
//
// MayDecide does not see the request, so the caller must check the rest: no principal decides its
// own request; a leader allows a tool call only if LeaderMayAllow says so, and with the digest.
// Under DecideTwo an operator's allow is one vote and not yet the decision: the caller counts the
// votes that MayVote admits. A single deny decides.
func MayDecide(g Gate, d Decider, by Role, allow bool) (ok bool, why string) {
	if _, err := ParseGate(string(g)); err != nil {
		return false, err.Error()
	}
	if !slices.Contains(Deciders(g), d) {
		d = DecideOperator
	}
	switch by {
	case RoleOperator:
		if d == DecideTwo && allow {
			return true, oneOfTwo
		}
		return true, ""
	case RoleLeader:
		if d == DecideLeader {
			return true, ""
		}
		return false, fmt.Sprintf("%s is decided by %s, not by the leader", g, d)
	case RoleRules:
		if d == DecideRules && g != GatePlan {
			return true, ""
		}
		if g == GatePlan {
			return false, "rules say nothing of plans; the operator decides"
		}
		return false, fmt.Sprintf("%s is decided by %s, not by rules", g, d)
	case RoleSystem:
		if !allow || d == DecideAuto {
			return true, ""
		}
		return false, "the system only denies, by expiry"
	case RoleWorker:
		return false, "a worker never decides"
	}
	return false, fmt.Sprintf("%q is not a role that decides", by)
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
	if v := own.Judge(c); v.Decision != Allow {
		return false, "the leader could not do this itself without asking: " + v.Rule
	}
	if RiskOf(c) == RiskHigh {
		return false, "the risk is high, which is the operator's to decide"
	}
	return true, ""
}
