package policy

import (
	"fmt"
	"strings"
)

// Mode is a permission mode (protocol §1.7). The empty mode counts as ModeDefault; a
// mode that is not in the table denies everything.
type Mode string

// The modes. Modes says what each does.
const (
	ModeDefault           Mode = "default"
	ModeAcceptEdits       Mode = "acceptEdits"
	ModePlan              Mode = "plan"
	ModeBypassPermissions Mode = "bypassPermissions"
	ModeDontAsk           Mode = "dontAsk"
	ModeAuto              Mode = "auto"
	ModeSafe              Mode = "safe"        // seed 000: reads allowed, everything else asks
	ModeLockedDown        Mode = "locked-down" // seed 000: reads allowed, everything else denied
)

func (m Mode) String() string { return string(m) }

// ParseMode refuses an unknown mode by name and lists the known ones (protocol §1.7:
// an unknown mode keeps the old one).
func ParseMode(s string) (Mode, error) {
	if _, ok := lookupMode(Mode(s)); ok && s != "" {
		return Mode(s), nil
	}
	var known []string
	for _, m := range modes {
		known = append(known, string(m.Mode))
	}
	return "", fmt.Errorf("policy: unknown mode %q (known: %s)", s, strings.Join(known, ", "))
}

// Area is the part of a member's work that a call falls into. A mode answers by
// area.
type Area int

// The areas. AreaOther holds the shell, the network, MCP tools and every tool
// that is not named here.
const (
	AreaReadInside  Area = iota // Read, NotebookRead, Glob, Grep, LS under the working directory
	AreaReadOutside             // the same elsewhere, or where the path cannot be resolved
	AreaTeam                    // TaskList, TaskGet, ListAgents, EnterPlanMode: reads the team's lists, or narrows
	AreaSubmitPlan              // ExitPlanMode: a plan that wants a verdict
	AreaEditInside              // Edit, Write, MultiEdit, NotebookEdit under the working directory
	AreaEditGuarded             // the same on a Guarded name: what later runs as code or sets rules
	AreaEditOutside             // the same elsewhere, or where the path cannot be resolved
	AreaOther                   // everything else
	numAreas
)

var areaNames = [numAreas]string{
	"read inside", "read outside", "team", "submit plan",
	"edit inside", "edit guarded", "edit outside", "other",
}

func (a Area) String() string {
	if a < 0 || a >= numAreas {
		return "unknown area"
	}
	return areaNames[a]
}

// Areas lists the areas in the order of the table.
func Areas() []Area {
	all := make([]Area, numAreas)
	for i := range all {
		all[i] = Area(i)
	}
	return all
}

func (a Area) reads() bool { return a == AreaReadInside || a == AreaReadOutside }

// Reach is how far allow rules lift a mode's answer.
type Reach string

// The reaches.
const (
	ReachAll   Reach = "all"   // an allow rule allows what it matches
	ReachReads Reach = "reads" // only for reads
)

// ModeInfo is one row of the table of modes.
type ModeInfo struct {
	Mode    Mode
	Meaning string // one sentence for a person
	Rules   Reach  // where allow rules count
	// Silent modes never ask: a call that would ask is denied.
	Silent bool
	cells  [numAreas]Decision
}

// Cell is the mode's own answer for an area, before rules and before Silent turns
// Ask into Deny.
func (m ModeInfo) Cell(a Area) Decision {
	if a < 0 || a >= numAreas {
		return Deny
	}
	return m.cells[a]
}

func (m ModeInfo) rulesReach(a Area) bool { return m.Rules == ReachAll || a.reads() }

var (
	cellsDefault = [numAreas]Decision{Allow, Ask, Allow, Ask, Ask, Ask, Ask, Ask}
	cellsReads   = [numAreas]Decision{Allow, Ask, Allow, Ask, Deny, Deny, Deny, Deny}
)

// modes is the one place that says what a mode does, strictest first. Columns are
// the areas: read inside, read outside, team, submit plan, edit inside, edit
// guarded, edit outside, other.
var modes = []ModeInfo{
	{ModeLockedDown, "Reads are allowed, everything else is denied without asking.", ReachReads, true,
		[numAreas]Decision{Allow, Deny, Allow, Deny, Deny, Deny, Deny, Deny}},
	{ModePlan, "Reads only, until a plan is approved; submitting the plan asks.", ReachReads, false, cellsReads},
	{ModeSafe, "Reads are allowed, everything else asks, whatever the allow rules say.", ReachReads, false, cellsDefault},
	{ModeDontAsk, "Like default, but what would ask is denied.", ReachAll, true, cellsDefault},
	{ModeDefault, "Reads in the working directory are allowed, allow rules allow, everything else asks.", ReachAll, false, cellsDefault},
	{ModeAuto, "Like default: waggle has no model that decides for a person.", ReachAll, false, cellsDefault},
	{ModeAcceptEdits, "Like default, and edits in the working directory are allowed, except of guarded names.", ReachAll, false,
		[numAreas]Decision{Allow, Ask, Allow, Ask, Allow, Ask, Ask, Ask}},
	{ModeBypassPermissions, "Everything is allowed that no deny rule might match.", ReachAll, false,
		[numAreas]Decision{Allow, Allow, Allow, Allow, Allow, Allow, Allow, Allow}},
}

// Modes is the table of modes, strictest first; documents are generated from it
// and Judge reads it (protocol §1.7).
func Modes() []ModeInfo { return append([]ModeInfo(nil), modes...) }

func lookupMode(m Mode) (ModeInfo, bool) {
	if m == "" {
		m = ModeDefault
	}
	for _, info := range modes {
		if info.Mode == m {
			return info, true
		}
	}
	return ModeInfo{}, false
}

// Meet returns the widest mode that is not wider than m nor than o. Modes are ordered locked-down,
// plan, safe, default = auto, acceptEdits, bypassPermissions; dontAsk is below default and not
// comparable with safe and plan, and its meet with those is locked-down. An unknown mode denies
// everything, so it is below all, and the meet with it is that mode.
func (m Mode) Meet(o Mode) Mode {
	a, okA := lookupMode(m)
	b, okB := lookupMode(o)
	switch {
	case !okA:
		return m
	case !okB:
		return o
	case a.notWiderThan(b):
		return a.Mode
	case b.notWiderThan(a):
		return b.Mode
	}
	return ModeLockedDown
}

// notWiderThan compares two rows cell by cell.
func (m ModeInfo) notWiderThan(o ModeInfo) bool {
	if o.Silent && !m.Silent || m.Rules == ReachAll && o.Rules == ReachReads {
		return false
	}
	for a := range m.cells {
		if m.settle(m.cells[a]).rank() > o.settle(o.cells[a]).rank() {
			return false
		}
	}
	return true
}

func (m ModeInfo) settle(d Decision) Decision {
	if d == Ask && m.Silent {
		return Deny
	}
	return d
}
