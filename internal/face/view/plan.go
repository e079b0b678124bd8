package view

import (
	"fmt"
	"strings"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
)

// EscalatedPage shows who has to answer a plan.
func EscalatedPage(e *decide.Escalated) (p page.Page) {
	waits := "waited for you alone already"
	if e.Changed {
		waits = "waits for you alone"
	}
	p.Line(page.Plain(fmt.Sprintf("%s of %s, revision %d, %s", e.ID, e.Member, e.Revision, waits)))
	return p
}

// PlanDiffDocument is the difference of two plans.
type PlanDiffDocument struct {
	A    string `json:"a"`
	B    string `json:"b"`
	Diff string `json:"diff"`
	Same bool   `json:"same"`
}

// DiffPage is a unified diff.
func DiffPage(diff string) (p page.Page) {
	for _, l := range strings.Split(strings.TrimSuffix(diff, "\n"), "\n") {
		switch {
		case strings.HasPrefix(l, "+"):
			p.Text(page.Good(l))
		case strings.HasPrefix(l, "-"):
			p.Text(page.Bad(l))
		case strings.HasPrefix(l, "@@"):
			p.Text(page.Faint(l))
		default:
			p.Text(page.Plain(l))
		}
	}
	return p
}
