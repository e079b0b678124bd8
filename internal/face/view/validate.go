package view

import (
	"waggle/internal/face/view/page"
	"waggle/operator/teams"
	"waggle/protocol"
)

// ProblemsPage has a line for each problem, or says that there is none.
func ProblemsPage(ps []teams.Problem, of protocol.TeamName) (p page.Page) {
	if len(ps) == 0 {
		p.Line(page.Plain("every file of team " + string(of) + " is valid"))
	}
	for _, x := range ps {
		p.Line(page.Plain(x.String()))
	}
	return p
}
