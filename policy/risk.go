package policy

import (
	"slices"
)

// Risk grades a call for display and for grouping.
type Risk string

// The risks.
const (
	RiskLow    Risk = "low"    // reads
	RiskMedium Risk = "medium" // writes, builds, tests
	RiskHigh   Risk = "high"   // deletes, network, privilege, what cannot be parsed
)

// Risks lists the risks, lowest first.
func Risks() []Risk { return []Risk{RiskLow, RiskMedium, RiskHigh} }

func worse(a, b Risk) Risk {
	all := Risks()
	return all[max(slices.Index(all, a), slices.Index(all, b))]
}

// RiskOf grades a call: low for reads and the team's own lists; medium for edits
// under the working directory, for builds, tests and other commands, and for
// talking to the team; high for deleting, force, the network, privilege, writing
// outside the working directory or to Guarded names, code given in arguments, MCP
// and unknown tools, leaving the sandbox, and whatever cannot be parsed or is not
// known before it runs. A shell text has the risk of its worst command, wherever
// it stands.
//
// It is a grade for people and for batching, never a permission: a call of low
// risk asks like any other (USERS need 13; TRUST 3 on decide: leader).
func RiskOf(c Call) Risk {
	q, err := newQuestion(c)
	if err != nil {
		return RiskHigh
	}
	switch q.area {
	case AreaReadInside, AreaReadOutside, AreaTeam:
		return RiskLow
	case AreaSubmitPlan, AreaEditInside:
		return RiskMedium
	case AreaEditGuarded, AreaEditOutside:
		return RiskHigh
	}
	switch {
	case c.Tool == "Bash":
		return q.shellRisk()
	case slices.Contains(teamTools, c.Tool):
		return RiskMedium
	}
	return RiskHigh
}

// teamTools act within the team only.
var teamTools = []string{
	"Agent", "Task", "SendMessage", "Skill", "TaskCreate", "TaskUpdate", "TaskStop", "TaskOutput",
	"TeamCreate", "TeamDelete", "TodoWrite",
}

func (q *question) shellRisk() Risk {
	if !q.hasText || q.doubt != "" {
		return RiskHigh
	}
	s := walk(q.text)
	if s.opaque || s.unparsed || len(s.commands) == 0 {
		return RiskHigh
	}
	risk := RiskLow
	if s.dynamic {
		risk = RiskMedium
	}
	for _, w := range s.writes {
		risk = worse(risk, q.writeRisk(w))
	}
	for _, c := range s.commands {
		risk = worse(risk, q.commandRisk(c))
	}
	return risk
}

// writeRisk grades writing a file that a word names.
func (q *question) writeRisk(w word) Risk {
	if w.sure != literal {
		return RiskHigh
	}
	switch w.text {
	case "/dev/null", "/dev/stdout", "/dev/stderr":
		return RiskLow
	}
	if t := resolve(q.call.Cwd, w.text); t.inside && len(t.guarded) == 0 {
		return RiskMedium
	}
	return RiskHigh
}

// argRisk grades an operand of a command that writes: leaving the working
// directory is high.
func (q *question) argRisk(a word) Risk {
	if a.sure == unknown {
		return RiskMedium
	}
	if t := resolve(q.call.Cwd, a.text); t.inside && len(t.guarded) == 0 {
		return RiskMedium
	}
	return RiskHigh
}
