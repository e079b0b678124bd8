// Package reportview puts the report of a run, or of a team that was up, into a document, a text, JUnit XML and the
// annotations of GitHub Actions.
//
//	rep, err := supervise.Of(op).Run(ctx, file, options)
//	return reportview.Text(rep, exit)
package reportview

import (
	"encoding/json"
	"math"
	"time"

	"waggle/internal/view"
	"waggle/internal/view/page"
	"waggle/operator/supervise"
)

// Document is the result of a run (commands §4): report.json.
type Document struct {
	Team     string                 `json:"team"`
	Exit     int                    `json:"exit"`
	Reason   string                 `json:"reason"`
	Began    string                 `json:"began"`
	Took     float64                `json:"took_s"`
	Sandbox  string                 `json:"sandbox"`
	State    string                 `json:"state"` // directory of the journals
	Tasks    []Task                 `json:"tasks"`
	Requests []Request              `json:"requests"`
	Members  []Member               `json:"members"`
	Overlaps []view.OverlapDocument `json:"overlaps"` // files that more than one member edited
}

// Task is one task's outcome.
type Task struct {
	ID         string  `json:"id"`
	Subject    string  `json:"subject"`
	Owner      string  `json:"owner"`
	Required   bool    `json:"required"`
	Status     string  `json:"status"`          // completed; failed: a call was denied; open: anything else
	Began      string  `json:"began,omitempty"` // its owner began it
	Took       float64 `json:"took_s"`          // from then to the last report of its owner about it
	ExitCode   *int    `json:"exit_code"`
	Why        string  `json:"why,omitempty"`
	OutputTail string  `json:"output_tail"`
}

// Request is one gated call and who or which rule decided it.
type Request struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind"`
	Member   string          `json:"member"`
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	Host     string          `json:"host,omitempty"`
	Digest   string          `json:"digest"`
	Decision string          `json:"decision"`
	By       string          `json:"by"`
	Rule     string          `json:"rule"`
	Reason   string          `json:"reason,omitempty"`
	At       string          `json:"at"`
	Started  bool            `json:"started"`
}

// Member is one member.
type Member struct {
	Name     string                    `json:"name"`
	PID      int                       `json:"pid"`
	Trust    string                    `json:"trust"`
	Left     string                    `json:"left"`
	Why      string                    `json:"why,omitempty"`
	Files    string                    `json:"files"`    // directory of its output.log, status and artifacts
	Worktree *supervise.WorktreeReport `json:"worktree"` // null: it had none
	Spent    *view.SpentDocument       `json:"spent,omitempty"`
	Unread   string                    `json:"unread,omitempty"` // why its journal cannot be read, or not beyond a break
}

// seconds is a duration in seconds, to the millisecond.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// Of returns the document of a run that ends with an exit code.
func Of(r *supervise.Report, exit int) Document {
	d := Document{Team: r.Team, Exit: exit, Reason: r.Reason, Began: page.Stamp(r.Began), Took: seconds(r.Took), Sandbox: string(r.Sandbox), State: r.State, Tasks: make([]Task, 0, len(r.Tasks)),
		Requests: make([]Request, 0, len(r.Requests)), Members: make([]Member, 0, len(r.Members)), Overlaps: view.Overlaps(r.Overlaps)}
	for _, t := range r.Tasks {
		rt := Task{ID: t.ID, Subject: t.Subject, Owner: t.Owner, Required: t.Required, Status: t.Status, Took: seconds(t.Took), ExitCode: t.ExitCode,
			Why: t.Why, OutputTail: t.OutputTail}
		if !t.Began.IsZero() {
			rt.Began = page.Stamp(t.Began)
		}
		d.Tasks = append(d.Tasks, rt)
	}
	for _, q := range r.Requests {
		d.Requests = append(d.Requests, Request{q.ID, q.Kind, q.Member, q.Tool, q.Input, q.Host, q.Digest, q.Decision, q.By, q.Rule, q.Reason,
			page.Stamp(q.At), q.Started})
	}
	for _, m := range r.Members {
		d.Members = append(d.Members, Member{m.Name, m.PID, m.Trust, m.Left, m.Why, m.Files, m.Worktree, view.Spent(m.Spent), m.Unread})
	}
	return d
}
