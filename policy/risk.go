package policy

import (
	"slices"

	"waggle/internal/cmdline"
)

// Risk grades a call for display and for grouping.
type Risk string

// The risks of command lines (cmdline.Risk), used for all other calls too.
const (
	RiskLow    = Risk(cmdline.RiskLow)    // reads
	RiskMedium = Risk(cmdline.RiskMedium) // writes, builds, tests
	RiskHigh   = Risk(cmdline.RiskHigh)   // deletes, network, privilege, what cannot be parsed
)

// Risks lists the risks, lowest first.
func Risks() []Risk { return []Risk{RiskLow, RiskMedium, RiskHigh} }

func worse(a, b Risk) Risk {
	return Risk(cmdline.Worse(cmdline.Risk(a), cmdline.Risk(b)))
}

// RiskOf grades a call: low for reads and the team's own lists; medium for edits under the working
// directory, for builds and tests, and for messages to the team; high for everything else. A shell
// text is low or medium only when cmdline.LookUp lists each of its commands with its options; every
// other command, a variable outside a short list of harmless ones, reading credentials, writing
// outside the working directory or to Guarded names, MCP and unknown tools, leaving the sandbox,
// and a text that cannot be parsed or is not known before it runs is high. A shell text has the
// risk of its worst command.
//
// The grade is for people and for batching, never a permission: a call of low risk asks like any
// other (trust §3 on decide: leader). In a working tree of the member's own, removing what lies below the
// directory and installing packages there is medium.
func RiskOf(c Call) Risk {
	q, err := newQuestion(c)
	if err != nil {
		return RiskHigh
	}
	switch q.area {
	case AreaReadInside, AreaReadOutside:
		if c.Tool != "Glob" && c.Tool != "LS" && slices.ContainsFunc(q.targets, func(t target) bool { return cmdline.CredentialPath(t.abs) }) {
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
	risk := q.suppliedRisk()
	for _, g := range q.grades() {
		risk = worse(risk, g.risk)
	}
	return risk
}

// leaves reports a command, or one inside it, that leads to where the text does not show that it is below the working
// directory.
func leaves(c cmdline.Command) bool {
	if c.Inner != nil {
		return len(c.Inner.Unclear) > 0 || slices.ContainsFunc(c.Inner.Commands, leaves)
	}
	return !c.Followed && len(c.Words) > 0 && (c.Words[0].Text == "cd" || c.Words[0].Text == "pushd")
}

// writeRisk grades a write to the file that a word names, in each of the directories that a text may be in.
func (q *question) writeRisk(w cmdline.Word, dirs []string) Risk {
	switch {
	case w.Sure != cmdline.Literal:
		return RiskHigh
	case w.Text == "/dev/null":
		return RiskLow
	}
	return q.argRisk(w, dirs)
}

// argRisk grades an operand of a command that writes: leaving the working directory is high.
func (q *question) argRisk(a cmdline.Word, dirs []string) Risk {
	if a.Sure == cmdline.Unknown {
		if a.Pattern || a.Output && q.stdin != "" { // its arguments are graded by themselves
			return RiskMedium
		}
		return RiskHigh
	}
	for _, dir := range dirs {
		if t := q.resolve(inDir(dir, a.Text)); !t.inside || len(t.guarded) > 0 {
			return RiskHigh
		}
	}
	return RiskMedium
}
