package view

import (
	"waggle/internal/view/page"
	"waggle/operator/doctor"
)

// FindingsDocument is the result of an examination of this machine.
type FindingsDocument struct {
	Findings []FindingDocument `json:"findings"`
}

// FindingDocument is the result of one check.
type FindingDocument struct {
	What   string `json:"what"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Next   string `json:"next"` // what to do about it; "" for nothing
}

// Findings is the document of what was looked at.
func Findings(fs []doctor.Finding, spell page.Spell) FindingsDocument {
	d := FindingsDocument{make([]FindingDocument, 0, len(fs))}
	for _, f := range fs {
		d.Findings = append(d.Findings, FindingDocument{f.What, string(f.Status), f.Detail, spell.Sentence(f.Next, f.Do)})
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
