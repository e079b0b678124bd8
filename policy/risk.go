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
// under the working directory, for builds and tests, and for talking to the team;
// high for everything else. A shell text is low or medium only when knownTable
// lists each of its commands with its options; every other command, a variable
// outside a short list of harmless ones, reading credentials, writing outside the
// working directory or to Guarded names, MCP and unknown tools, leaving the
// sandbox, and whatever cannot be parsed or is not known before it runs is high. A
// shell text has the risk of its worst command, wherever it stands.
//
// It is a grade for people and for batching, never a permission: a call of low
// risk asks like any other (trust §3 on decide: leader), except that
// ModePlan allows what OnlyReads.
func RiskOf(c Call) Risk {
	q, err := newQuestion(c)
	if err != nil {
		return RiskHigh
	}
	switch q.area {
	case AreaReadInside, AreaReadOutside:
		if c.Tool != "Glob" && c.Tool != "LS" && slices.ContainsFunc(q.targets, func(t target) bool { return credentialPath(t.abs) }) {
			return RiskHigh
		}
		return RiskLow
	case AreaTeam:
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
	s := q.walked()
	if s.opaque || s.unparsed || len(s.commands) == 0 {
		return RiskHigh
	}
	risk := q.suppliedRisk()
	if s.dynamic {
		risk = worse(risk, RiskMedium)
	}
	if s.secret {
		return RiskHigh
	}
	for _, w := range s.writes {
		risk = worse(risk, q.writeRisk(w))
	}
	for _, w := range s.assigned {
		risk = worse(risk, assignmentRisk(w))
	}
	out := false
	j := shellJudge{cwd: q.call.Cwd, leads: q.leadsBelow}
	for _, c := range s.commands {
		risk = worse(risk, q.commandRisk(c))
		if texts, ok := literalWords(c); !ok && spells(c[:1], "cd", "pushd") {
			out = true
		} else if ok && slices.Contains([]string{"cd", "pushd"}, texts[0]) {
			_, below := j.below(texts)
			out = out || !below
		}
	}
	if out && risk == RiskMedium {
		return RiskHigh // what it writes or runs lies elsewhere
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
	if t := q.resolve(w.text); t.inside && len(t.guarded) == 0 {
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
	if t := q.resolve(a.text); t.inside && len(t.guarded) == 0 {
		return RiskMedium
	}
	return RiskHigh
}
