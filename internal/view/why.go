package view

import (
	"time"

	"waggle"
	"waggle/internal/view/page"
	"waggle/operator"
	"waggle/operator/inspect"
)

// WhyDocument is the state of one member with all facts behind it.
type WhyDocument struct {
	Team     string         `json:"team"`
	Name     string         `json:"name"`
	State    string         `json:"state"` // as status has it; left, when it has left
	Is       string         `json:"condition"`
	Since    string         `json:"since"`
	Why      string         `json:"why"`
	Trust    string         `json:"trust"`
	Unheard  bool           `json:"unheard,omitempty"` // only the registry of a team of waggle has it
	Evidence []FactDocument `json:"evidence"`
}

// FactDocument is one fact and its source.
type FactDocument struct {
	Source string `json:"source"`
	At     string `json:"at"` // "": now
	Detail string `json:"detail"`
}

// Why is the document of why a member is as it is.
func Why(y *inspect.Why) WhyDocument {
	d := WhyDocument{y.Team, y.Name, y.State, string(y.Is), page.Stamp(y.Since), y.Why, string(y.Trust), y.Unheard, make([]FactDocument, 0, len(y.Evidence))}
	for _, e := range y.Evidence {
		d.Evidence = append(d.Evidence, FactDocument{e.Source, page.Stamp(e.At), e.Detail})
	}
	return d
}

// WhyPage is how a member is, and the evidence.
func WhyPage(y *inspect.Why, now time.Time) (p page.Page) {
	since := ""
	if s := page.Since(y.Since, now); s != "" {
		since = " for " + s + ", since " + page.Clock(y.Since, now)
	}
	p.Line(page.Strong(y.Name), page.Plain("  "+withState(Words(y.Stand, now), y.State)+since))
	p.Line(page.Plain("  " + page.Local(y.Why, now)))
	if y.Unheard {
		p.Line(page.Warning("  It "+inspect.UnheardText), page.Plain("  "),
			page.WholeStep(operator.Next{Step: operator.NextHear, Team: waggle.TeamName(y.Team), Member: waggle.MemberName(y.Name)}))
	}
	t := page.Table{Head: []string{"  SOURCE", "AT", "EVIDENCE"}, About: true}
	for _, e := range y.Evidence {
		t.Rows = append(t.Rows, []string{"  " + e.Source, page.When(e.At, now), e.Detail})
	}
	p.Table(t)
	return p
}
