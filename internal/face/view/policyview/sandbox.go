package policyview

import (
	"strings"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/reach"
	"waggle/record"
)

// SandboxDocument is what a sandbox was found to hold.
type SandboxDocument struct {
	Member string        `json:"member"` // "": of a directory
	Tree   string        `json:"tree"`   // what commands may change
	Level  string        `json:"level"`  // enforced, files only, off
	Passed bool          `json:"passed"` // it is enforced, and every point held
	Why    string        `json:"why"`    // why there is not more
	Fix    string        `json:"fix"`    // what would permit more
	Gaps   []string      `json:"gaps"`   // what the level does not hold
	Points []reach.Point `json:"points"`
}

// Sandbox is the document of a self-test.
func Sandbox(t reach.Tested) SandboxDocument {
	return SandboxDocument{t.Member, t.Tree, string(t.Level), t.Passed(), t.Why, t.Fix, t.Gaps, t.Points}
}

// SandboxPage has a line for each point of a self-test.
func SandboxPage(t reach.Tested) (p page.Page) {
	p = append(p, sandboxHead(t)...)
	for _, point := range t.Points {
		mark := page.Good("yes")
		if !point.OK {
			mark = page.Bad("no ")
		}
		p.Line(page.Plain("  "), mark, page.Plain("  "+strings.TrimSuffix(point.Name+": "+point.Detail, ": ")))
	}
	return p
}

// sandboxHead says the level, what it leaves open, and what would permit more.
func sandboxHead(t reach.Tested) (p page.Page) {
	level := page.Warning(string(t.Level))
	if t.Level == record.HeldEnforced {
		level = page.Good(string(t.Level))
	}
	whose := t.Member
	if whose == "" {
		whose = "a command here"
	}
	p.Line(level, page.Plain("  for "+whose+", who may change "+t.Tree))
	if t.Why != "" {
		p.Line(page.Plain("  because " + t.Why))
	}
	if t.Fix != "" {
		p.Line(page.Plain("  to permit more: " + t.Fix))
	}
	for _, g := range t.Gaps {
		p.Line(page.Plain("  open: " + g))
	}
	return p
}

// ReachDocument is what a command could do, and why.
type ReachDocument struct {
	SandboxDocument
	Command operator.Nullable[string] `json:"command"`
	Dir     string                    `json:"dir"`
	Lines   []reach.Line              `json:"lines"`
	Judged  *decide.Judged            `json:"judged"` // what the rules say of it; null: it is no member's
}

// Reach is the document of a command that is explained.
func Reach(e *reach.Explained) ReachDocument {
	return ReachDocument{Sandbox(e.Tested), e.Command, e.Dir, e.Lines, e.Judged}
}

// ReachPage says what the rules make of a command, and what it could do.
func ReachPage(e *reach.Explained) (p page.Page) {
	p = append(p, sandboxHead(e.Tested)...)
	if e.Judged != nil {
		p = append(p, JudgedPage(e.Judged, false)...)
	}
	t := page.Table{Head: []string{"CAN", "WHAT", "WHY"}, About: true}
	for _, l := range e.Lines {
		t.Rows = append(t.Rows, []string{l.Verdict, l.Subject, l.Why})
	}
	if len(t.Rows) > 0 {
		p.Line()
		p.Table(t)
	}
	return p
}
