package policyview

import (
	"cmp"
	"strings"

	"waggle/internal/face/view/page"
	"waggle/operator/reach"
	"waggle/record"
)

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
	p.Line(level, page.Plain("  for "+cmp.Or(t.Member, "a command here")+", who may change "+t.Tree))
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
