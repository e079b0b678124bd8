package view

import (
	"encoding/json"

	"waggle/operator/supervise"
)

// ReportDocument is the result of a run (commands §4): report.json.
type ReportDocument struct {
	Team     string            `json:"team"`
	Exit     int               `json:"exit"`
	Reason   string            `json:"reason"`
	Sandbox  string            `json:"sandbox"`
	State    string            `json:"state"` // directory of the journals
	Tasks    []ReportTask      `json:"tasks"`
	Requests []ReportRequest   `json:"requests"`
	Members  []ReportMember    `json:"members"`
	Overlaps []OverlapDocument `json:"overlaps"` // files that more than one member edited
}

// ReportTask is one task's outcome.
type ReportTask struct {
	ID         string `json:"id"`
	Subject    string `json:"subject"`
	Owner      string `json:"owner"`
	Required   bool   `json:"required"`
	Status     string `json:"status"` // completed; failed: a call was denied; open: anything else
	ExitCode   *int   `json:"exit_code"`
	Why        string `json:"why,omitempty"`
	OutputTail string `json:"output_tail"`
}

// ReportRequest is one gated call and who or which rule decided it.
type ReportRequest struct {
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

// ReportMember is one member.
type ReportMember struct {
	Name     string          `json:"name"`
	PID      int             `json:"pid"`
	Trust    string          `json:"trust"`
	Left     string          `json:"left"`
	Files    string          `json:"files"`    // directory of its output.log, status and artifacts
	Worktree *ReportWorktree `json:"worktree"` // null: it had none
}

// ReportWorktree is the state of a worktree after the run.
type ReportWorktree struct {
	Path   string `json:"path"`
	Branch string `json:"branch"`
	// Kept: it exists, for this reason; Files are the first changed files and commits.
	Kept  bool     `json:"kept"`
	Why   string   `json:"why,omitempty"`
	Files []string `json:"files"`
}

// Report is the document of a run that ends with an exit code.
func Report(r *supervise.Report, exit int) ReportDocument {
	d := ReportDocument{Team: r.Team, Exit: exit, Reason: r.Reason, Sandbox: r.Sandbox, State: r.State, Tasks: make([]ReportTask, 0, len(r.Tasks)),
		Requests: make([]ReportRequest, 0, len(r.Requests)), Members: make([]ReportMember, 0, len(r.Members)), Overlaps: overlaps(r.Overlaps)}
	for _, t := range r.Tasks {
		d.Tasks = append(d.Tasks, ReportTask(t))
	}
	for _, q := range r.Requests {
		d.Requests = append(d.Requests, ReportRequest{q.ID, q.Kind, q.Member, q.Tool, q.Input, q.Host, q.Digest, q.Decision, q.By, q.Rule, q.Reason,
			stamp(q.At), q.Started})
	}
	for _, m := range r.Members {
		d.Members = append(d.Members, ReportMember{m.Name, m.PID, m.Trust, m.Left, m.Files, (*ReportWorktree)(m.Worktree)})
	}
	return d
}
