package view

import (
	"waggle/internal/face/view/page"
	"waggle/operator/doctor"
)

// FindingsPage has a line for each finding, and one for what to do about it.
func FindingsPage(fs []doctor.Finding, spell page.Spell) (p page.Page) {
	for _, f := range fs {
		mark := map[doctor.Status]page.Span{doctor.OK: page.Good("ok     "), doctor.Note: page.Warning("note   "), doctor.Problem: page.Bad("problem")}[f.Status]
		p.Line(mark, page.Plain(" "), page.Strong(f.What), page.Plain("  "+f.Detail))
		if next := spell.Sentence(f.Next); next != "" {
			p.Line(page.Plain("        "), page.Faint("next:"), page.Plain(" "+next))
		}
	}
	return p
}
