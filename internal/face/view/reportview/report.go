// Package reportview puts the report of a run, or of a team that was up, into a document, a text, JUnit XML and the
// annotations of GitHub Actions.
//
//	rep, err := supervise.Of(op).Run(ctx, file, options)
//	return reportview.Text(rep, exit)
package reportview

import "waggle/operator/supervise"

// Document is the result of a run (commands §4): report.json.
type Document struct {
	Team string `json:"team"`
	Exit int    `json:"exit"`
	*supervise.Report
}

// Of returns the document of a run that ends with an exit code.
func Of(r *supervise.Report, exit int) Document { return Document{r.Team, exit, r} }
