package view

import "waggle/operator/doctor"

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
func Findings(fs []doctor.Finding, spell Spell) FindingsDocument {
	d := FindingsDocument{make([]FindingDocument, 0, len(fs))}
	for _, f := range fs {
		d.Findings = append(d.Findings, FindingDocument{f.What, string(f.Status), f.Detail, spell.Sentence(f.Next, f.Do)})
	}
	return d
}

// FindingsPage has a line for each finding, and one for what to do about it.
func FindingsPage(fs []doctor.Finding, spell Spell) (p Page) {
	for _, f := range fs {
		mark := map[doctor.Status]Span{doctor.OK: good("ok     "), doctor.Note: warning("note   "), doctor.Problem: bad("problem")}[f.Status]
		p.line(mark, plain(" "), strong(f.What), plain("  "+f.Detail))
		if next := spell.Sentence(f.Next, f.Do); next != "" {
			p.line(plain("        "), faint("next:"), plain(" "+next))
		}
	}
	return p
}
