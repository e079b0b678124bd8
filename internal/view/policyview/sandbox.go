package policyview

import (
	"strings"

	"waggle/internal/view/page"
	"waggle/operator"
	"waggle/operator/reach"
	"waggle/record"
)

// SandboxDocument is what a sandbox was found to hold.
type SandboxDocument struct {
	Member string          `json:"member"` // "": of a directory
	Tree   string          `json:"tree"`   // what commands may change
	Level  string          `json:"level"`  // enforced, files only, off
	Passed bool            `json:"passed"` // it is enforced, and every point held
	Why    string          `json:"why"`    // why there is not more
	Fix    string          `json:"fix"`    // what would permit more
	Gaps   []string        `json:"gaps"`   // what the level does not hold
	Points []PointDocument `json:"points"`
}

// PointDocument is one thing that the self-test tried.
type PointDocument struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Sandbox is the document of a self-test.
func Sandbox(t reach.Tested) SandboxDocument {
	d := SandboxDocument{t.Member, t.Tree, string(t.Level), t.Passed(), t.Why, t.Fix, append([]string{}, t.Gaps...), make([]PointDocument, 0, len(t.Points))}
	for _, p := range t.Points {
		d.Points = append(d.Points, PointDocument(p))
	}
	return d
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
	Lines   []ReachLineDocument       `json:"lines"`
	Judged  *JudgedDocument           `json:"judged"` // what the rules say of it; null: it is no member's
}

// ReachLineDocument is one thing that a command could do, or could not.
type ReachLineDocument struct {
	Subject string `json:"subject"` // a path, a host, or what it is about
	Verdict string `json:"verdict"` // read, write, forbidden, absent, own; allowed, denied, asked, refused, open
	Why     string `json:"why"`
}

// Reach is the document of a command that is explained.
func Reach(e *reach.Explained) ReachDocument {
	d := ReachDocument{SandboxDocument: Sandbox(e.Tested), Command: e.Command, Dir: e.Dir, Lines: make([]ReachLineDocument, 0, len(e.Lines)), Judged: Judged(e.Judged)}
	for _, l := range e.Lines {
		d.Lines = append(d.Lines, ReachLineDocument(l))
	}
	return d
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
