package view

import (
	"waggle/internal/face/view/page"
	"waggle/operator/doctor"
)

// FindingsDocument is the result of an examination of this machine.
type FindingsDocument struct {
	Findings []doctor.Finding `json:"findings"`
}

// Findings is the document of what was looked at: each names its step.
func Findings(fs []doctor.Finding, spell page.Spell) (d FindingsDocument) {
	for _, f := range fs {
		f.Next = spell.Sentence(f.Next, f.Do)
		d.Findings = append(d.Findings, f)
	}
	return d
}

// FindingsPage has a line for each finding, and one for what to do about it.
func FindingsPage(fs []doctor.Finding, spell page.Spell) (p page.Page) {
	for _, f := range fs {
		mark := map[doctor.Status]page.Span{doctor.OK: page.Good("ok     "), doctor.Note: page.Warning("note   "), doctor.Problem: page.Bad("problem")}[f.Status]
		p.Line(mark, page.Plain(" "), page.Strong(f.What), page.Plain("  "+f.Detail))
		if next := spell.Sentence(f.Next, f.Do); next != "" {
			p.Line(page.Plain("        "), page.Faint("next:"), page.Plain(" "+next))
		}
	}
	return p
}
