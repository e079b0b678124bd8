package view

import (
	"waggle"
	"waggle/internal/view/page"
	"waggle/operator/teams"
)

// ProblemsDocument has the problems of a team's files.
type ProblemsDocument struct {
	Problems []ProblemDocument `json:"problems"`
}

// ProblemDocument is one problem of a file.
type ProblemDocument struct {
	Path    string `json:"path"`
	Pointer string `json:"pointer"` // RFC 6901; "" is the whole file
	Message string `json:"message"`
}

// Problems is the document of problems.
func Problems(ps []teams.Problem) ProblemsDocument {
	d := ProblemsDocument{make([]ProblemDocument, 0, len(ps))}
	for _, p := range ps {
		d.Problems = append(d.Problems, ProblemDocument(p))
	}
	return d
}

// ProblemsPage has a line for each problem, or says that there is none.
func ProblemsPage(ps []teams.Problem, of waggle.TeamName) (p page.Page) {
	if len(ps) == 0 {
		p.Line(page.Plain("every file of team " + string(of) + " is valid"))
	}
	for _, x := range ps {
		p.Line(page.Plain(x.String()))
	}
	return p
}
