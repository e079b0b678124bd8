package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"waggle"
	"waggle/control"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/record"
)

// Report is the result of a run (commands §4).
type Report struct {
	Team     string
	Kind     operator.Kind // None: every required task is completed
	Reason   string
	Sandbox  string
	State    string // directory of the journals
	Tasks    []TaskReport
	Requests []RequestReport
	Members  []MemberReport
	Overlaps []inspect.Overlap // files that more than one member edited
}

// TaskReport is the outcome of one task.
type TaskReport struct {
	ID         string
	Subject    string
	Owner      string
	Required   bool
	Status     string // completed; failed: a call was denied; open: anything else
	ExitCode   *int
	Why        string
	OutputTail string
}

// RequestReport is one gated call and its decision.
type RequestReport struct {
	ID       string
	Kind     string
	Member   string
	Tool     string
	Input    json.RawMessage
	Host     string
	Digest   string
	Decision string
	By       string
	Rule     string
	Reason   string
	At       time.Time
	Started  bool
}

// MemberReport is the outcome of one member.
type MemberReport struct {
	Name  string
	PID   int
	Trust string
	Left  string
	Files string // directory of its output.log, status and artifacts
	// Worktree is the state of the member's own checkout; null: it had none.
	Worktree *WorktreeReport
}

// WorktreeReport is the state of a worktree after the run.
type WorktreeReport struct {
	Path   string
	Branch string
	// Kept: it exists, for this reason; Files are the first changed files and commits.
	Kept  bool
	Why   string
	Files []string
}

// worktree returns the report of a member's worktree, nil when it had none.
func (r *run) worktree(m *control.Member) *WorktreeReport {
	if m.Worktree == nil {
		return nil
	}
	w := &WorktreeReport{Path: m.Worktree.Path, Branch: m.Worktree.Branch, Files: []string{}}
	for _, k := range r.S.Kept {
		if k.Owner == m.Instance {
			w.Kept, w.Why, w.Files = true, k.Why, k.Files
		}
	}
	return w
}

// report makes a Report from the journals.
func (r *run) report() *Report {
	rep := &Report{Team: string(r.f.Team), Sandbox: r.f.Sandbox, State: r.S.Dir.Path, Tasks: []TaskReport{}, Requests: []RequestReport{}, Members: []MemberReport{},
		Overlaps: append([]inspect.Overlap{}, r.watch.All...)}
	if rep.Sandbox == "" || rep.Sandbox == "auto" {
		rep.Sandbox = "off"
	}
	workers := map[record.Instance]*control.Worker{}
	for _, m := range r.S.Lead.Members {
		mr := MemberReport{Name: string(m.Name), Trust: string(m.Trust), Worktree: r.worktree(m)}
		if m.Process != nil {
			mr.PID = m.Process.ID.PID
		}
		if m.Left != nil {
			mr.Left = m.Left.How
		}
		rep.Members = append(rep.Members, mr)
		w, err := r.S.Worker(m.Instance)
		if err != nil {
			r.end.stopped = errors.Join(r.end.stopped, err)
			continue
		}
		workers[m.Instance] = w
		for _, c := range w.Calls {
			rep.Requests = append(rep.Requests, requestReport(m.Name, c))
		}
	}
	if r.job != nil {
		for _, t := range r.job.tasks {
			rep.Tasks = append(rep.Tasks, t.report(r.S.Lead, workers[t.instance]))
		}
	}
	rep.Kind, rep.Reason = r.outcome(workers)
	return rep
}

func requestReport(member waggle.MemberName, c *control.Call) RequestReport {
	q := RequestReport{ID: string(c.ID), Kind: string(c.Kind), Member: string(member), Tool: c.Ask.Tool, Host: c.Ask.Host,
		Digest: string(c.Digest), At: c.Asked, Started: c.Started}
	if in := c.Input(); in != "" {
		q.Input = json.RawMessage(in)
	}
	if a := c.Answer; a != nil {
		q.Decision, q.By, q.Rule, q.Reason = a.Decision, string(a.By), a.Rule, a.Reason
	}
	return q
}

func (t *jobTask) report(lead *control.Leader, w *control.Worker) TaskReport {
	tr := TaskReport{ID: string(t.id), Subject: t.Subject, Owner: string(t.Owner), Required: t.Required, Status: "open", Why: t.why(lead)}
	switch t.state {
	case taskCompleted:
		tr.Status, tr.Why = string(taskCompleted), ""
	case taskSkipped:
		tr.Why = "a task it comes after did not complete"
		if len(t.waits) > 0 {
			tr.Why = "it waits for task " + strings.Join(board.Texts(t.waits), ", ") + ", which nobody does"
		}
	}
	if w == nil {
		return tr
	}
	cs := t.calls(w)
	for _, c := range cs {
		if f := c.Finished; f != nil {
			tr.ExitCode, tr.OutputTail = f.ExitCode, f.Tail
		}
	}
	if t.state == taskFailed && denial(cs) != nil {
		tr.Status = string(taskFailed)
	}
	return tr
}

// outcome returns the first kind that applies (commands §6), and its reason.
func (r *run) outcome(workers map[record.Instance]*control.Worker) (operator.Kind, string) {
	switch {
	case r.end.gone != nil:
		return operator.Failed, "stopped: " + r.end.gone.Error()
	case len(r.end.died) > 0:
		return operator.Died, "worker died: " + strings.Join(r.end.died, ", ")
	case r.end.timedOut:
		return operator.Timeout, fmt.Sprintf("timed out after %s", r.ro.Timeout)
	case r.end.stopped != nil:
		return operator.KindOf(r.end.stopped), "stopped: " + r.end.stopped.Error()
	case r.job == nil:
		return operator.Failed, "the team did not start"
	}
	for _, w := range workers {
		for _, c := range w.Calls {
			if c.Answer != nil && c.Answer.Decision == record.DecisionDeny && unanswered(c) {
				return operator.Question, fmt.Sprintf("a request was not answered: %s asked for %s", w.Name, decide.Describe(c.Kind, c.Ask))
			}
		}
	}
	var open []string
	for _, t := range r.job.tasks {
		if !t.Required || t.state == taskCompleted {
			continue
		}
		if w := workers[t.instance]; w != nil {
			if c := denial(t.calls(w)); c != nil {
				return operator.Refused, fmt.Sprintf("%s was denied %s: %s", t.Owner, decide.Describe(c.Kind, c.Ask), why(c.Answer))
			}
		}
		open = append(open, fmt.Sprintf("%q (%s)", t.Subject, t.Owner))
	}
	if len(open) > 0 {
		return operator.Incomplete, "required tasks are open: " + strings.Join(open, ", ")
	}
	return operator.None, "every required task is completed"
}

func why(a *record.Answered) string {
	if a.Rule != "" {
		return a.Rule
	}
	return "by " + string(a.By) + operator.Suffix(a.Reason)
}
