// Package reportview puts the report of a run, or of a team that was up, into a document, a text, JUnit XML and the
// annotations of GitHub Actions.
//
//	rep, err := supervise.Of(op).Run(ctx, file, options)
//	return reportview.Text(rep, exit)
package reportview

import (
	"math"
	"time"

	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator/inspect"
	"waggle/operator/supervise"
)

// Document is the result of a run (commands §4): report.json.
type Document struct {
	Team     string                    `json:"team"`
	Exit     int                       `json:"exit"`
	Reason   string                    `json:"reason"`
	Began    string                    `json:"began"`
	Took     float64                   `json:"took_s"`
	Sandbox  string                    `json:"sandbox"`
	State    string                    `json:"state"` // directory of the journals
	Tasks    []Task                    `json:"tasks"`
	Requests []supervise.RequestReport `json:"requests"`
	Members  []Member                  `json:"members"`
	Overlaps []inspect.Overlap         `json:"overlaps"` // files that more than one member edited
}

// Task is one task's outcome.
type Task struct {
	ID         string    `json:"id"`
	Subject    string    `json:"subject"`
	Owner      string    `json:"owner"`
	Required   bool      `json:"required"`
	Status     string    `json:"status"`         // completed; failed: a call was denied; open: anything else
	Began      time.Time `json:"began,omitzero"` // its owner began it
	Took       float64   `json:"took_s"`         // from then to the last report of its owner about it
	ExitCode   *int      `json:"exit_code"`
	Why        string    `json:"why,omitempty"`
	OutputTail string    `json:"output_tail"`
}

// Member is one member.
type Member struct {
	supervise.MemberReport
	Spent  *view.SpentDocument `json:"spent,omitempty"`
	Unread string              `json:"unread,omitempty"`
}

// seconds is a duration in seconds, to the millisecond.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// Of returns the document of a run that ends with an exit code.
func Of(r *supervise.Report, exit int) Document {
	d := Document{Team: r.Team, Exit: exit, Reason: r.Reason, Began: page.Stamp(r.Began), Took: seconds(r.Took), Sandbox: string(r.Sandbox), State: r.State,
		Requests: r.Requests, Overlaps: r.Overlaps}
	for _, t := range r.Tasks {
		d.Tasks = append(d.Tasks, Task{t.ID, t.Subject, t.Owner, t.Required, t.Status, t.Began, seconds(t.Took), t.ExitCode, t.Why, t.OutputTail})
	}
	for _, m := range r.Members {
		d.Members = append(d.Members, Member{m, view.Spent(m.Spent), m.Unread})
	}
	return d
}
