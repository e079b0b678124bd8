package view

import (
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/protocol"
)

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
			page.WholeStep(operator.Next{Step: operator.NextHear, Team: protocol.TeamName(y.Team), Member: protocol.MemberName(y.Name)}))
	}
	t := page.Table{Head: []string{"  SOURCE", "AT", "EVIDENCE"}, About: true}
	for _, e := range y.Evidence {
		t.Rows = append(t.Rows, []string{"  " + e.Source, page.When(e.At, now), e.Detail})
	}
	p.Table(t)
	return p
}
