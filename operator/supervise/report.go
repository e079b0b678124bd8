package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/record"
)

// Report is the result of a run, or of a team that was up (commands §4, §6).
type Report struct {
	Team     string            `json:"team"`
	Kind     operator.Kind     `json:"-"` // None: every required task is completed
	Reason   string            `json:"reason"`
	Began    time.Time         `json:"began"`   // the team was opened
	Took     operator.Seconds  `json:"took_s"`  // from then until its end, or until now
	Sandbox  record.HeldLevel  `json:"sandbox"` // of the least confined member; unknown: none of them was ready
	State    string            `json:"state"`   // directory of the journals
	Tasks    []TaskReport      `json:"tasks"`
	Requests []RequestReport   `json:"requests"`
	Members  []MemberReport    `json:"members"`
	Overlaps []inspect.Overlap `json:"overlaps"` // files that more than one member edited
}

// TaskReport is the outcome of one task.
type TaskReport struct {
	ID         string           `json:"id"`
	Subject    string           `json:"subject"`
	Owner      string           `json:"owner"`
	Required   bool             `json:"required"`
	Status     string           `json:"status"`         // completed; failed; blocked: it waits for a task that failed; open
	Began      time.Time        `json:"began,omitzero"` // its owner began it; zero: nobody did
	Took       operator.Seconds `json:"took_s"`         // from then to the last report of its owner about it
	ExitCode   *int             `json:"exit_code"`
	Why        string           `json:"why,omitempty"`
	OutputTail string           `json:"output_tail"`
}

// RequestReport is one gated call and its decision.
type RequestReport struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind"`
	Member   string          `json:"member"`
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	Host     string          `json:"host,omitempty"` // with its port, where the request names one
	Digest   string          `json:"digest"`
	Decision string          `json:"decision"`
	By       string          `json:"by"`
	Rule     string          `json:"rule"`
	Reason   string          `json:"reason,omitempty"`
	At       time.Time       `json:"at"`
	Started  bool            `json:"started"`
	Closed   bool            `json:"-"` // nobody denied it: its member took it back for Reason
}

// MemberReport is the outcome of one member.
type MemberReport struct {
	Name  string `json:"name"`
	PID   int    `json:"pid"`
	Trust string `json:"trust"`
	Left  string `json:"left"`
	Why   string `json:"why,omitempty"` // why it died, where that is on record
	Files string `json:"files"`         // directory of its output.log, status and artifacts
	// Worktree is the state of the member's own checkout; null: it had none.
	Worktree *WorktreeReport `json:"worktree"`
	// Spent is what its agent says that it used; nil: it says nothing.
	Spent *record.Usage `json:"spent,omitempty"`
	// Unread says why its journal cannot be read, or not beyond a break; "": it was read, or the break is acknowledged.
	Unread string `json:"unread,omitempty"`
}

// WorktreeReport is the state of a worktree after the run.
type WorktreeReport struct {
	Path   string `json:"path"`
	Branch string `json:"branch"`
	// Kept: it exists, for this reason; Files are the first changed files and commits.
	Kept  bool                      `json:"kept"`
	Why   string                    `json:"why,omitempty"`
	Files operator.Nullable[string] `json:"files"`
}

// report makes a Report from the journals.
func (r *run) report() *Report {
	rep, told, err := r.o.members(r.S, r.S.Kept)
	rep.Began, _, _ = inspect.Span(r.S) // a report has what there is
	rep.Took = operator.Seconds(max(0, r.o.Minter.Now().Sub(rep.Began)))
	r.end.stopped = errors.Join(r.end.stopped, err)
	rep.Team, rep.Overlaps = string(r.f.Team), append(rep.Overlaps, r.watch.All...)
	if r.job != nil {
		for _, t := range r.job.tasks {
			if m, ok := r.S.Lead.ByInstance(t.instance); ok && !t.over() && m.Done[string(t.id)] != nil {
				t.state = taskCompleted // while the members were ended
			}
			rep.Tasks = append(rep.Tasks, t.report(r.S.Lead, told[t.instance]))
		}
	}
	rep.Kind, rep.Reason = r.outcome(told)
	return rep
}

func requestReport(member protocol.MemberName, c *control.Call) RequestReport {
	q := RequestReport{ID: string(c.ID), Kind: string(c.Kind), Member: string(member), Tool: c.Ask.Tool, Host: c.Ask.Hostport(),
		Digest: string(c.Digest), At: c.Asked, Started: c.Started}
	if in := c.Input(); in != "" {
		q.Input = json.RawMessage(in)
	}
	if a := c.Answer; a != nil {
		q.Decision, q.By, q.Rule, q.Reason = a.Decision, string(a.By), a.Rule, a.Reason
		q.Closed = a.Revoked
	}
	return q
}

func (t *jobTask) report(lead *control.Leader, by told) TaskReport {
	tr := TaskReport{ID: string(t.id), Subject: t.Subject, Owner: string(t.Owner), Required: t.Required, Status: "open", Why: t.why(lead)}
	switch t.state {
	case taskCompleted:
		tr.Status, tr.Why = string(taskCompleted), ""
	case taskSkipped:
		tr.Status, tr.Why = string(board.StateBlocked), "a task it comes after did not complete"
		if len(t.waits) > 0 {
			tr.Why = "it waits for task " + strings.Join(board.Texts(t.waits), ", ") + ", which nobody does"
		}
	}
	if t.failed {
		tr.Status = string(taskFailed)
	}
	tr.tell(by)
	if m, ok := lead.ByInstance(t.instance); ok && t.state == taskCompleted && board.Unchecked(m, t.id) {
		tr.Why = board.SaysItIsDone
	}
	if by.Worker != nil && t.state == taskFailed && denial(callsOf(by.Worker, string(t.id))) != nil {
		tr.Status = string(taskFailed)
	}
	return tr
}

// outcome returns the first kind that applies (commands §6), and its reason.
func (r *run) outcome(workers map[record.Instance]told) (operator.Kind, string) {
	switch {
	case r.end.gone != nil:
		return operator.Failed, "stopped: " + r.end.gone.Error()
	case len(r.end.died) > 0:
		return operator.Died, "worker died: " + strings.Join(r.end.died, ", ")
	case r.end.timedOut:
		return operator.Timeout, fmt.Sprintf("timed out after %s", r.ro.Timeout)
	case r.end.stopped != nil && !(operator.KindOf(r.end.stopped) == operator.UsedUp && r.job != nil && r.job.done()):
		return operator.KindOf(r.end.stopped), "stopped: " + r.end.stopped.Error()
	case r.job == nil:
		return operator.Failed, "the team did not start"
	}
	question := ""
	for _, w := range workers {
		for _, c := range w.Calls {
			switch {
			case c.Answer == nil || c.Answer.Decision != record.DecisionDeny || !unanswered(c):
			case c == w.BudgetCall() && !r.job.done():
				return operator.UsedUp, fmt.Sprintf("a budget was not raised: of %s, %s", w.Name, c.Ask.Reason)
			case !record.IsBudget(c.Kind, c.Ask) && !passed(w.Worker, c.Task): // an earlier request for a budget was asked again
				question = fmt.Sprintf("a request was not answered: %s asked for %s", w.Name, decide.Describe(c.Kind, c.Ask))
			}
		}
	}
	if question != "" {
		return operator.Question, question
	}
	var left []undone
	for _, t := range r.job.tasks {
		if !t.Required || t.state == taskCompleted {
			continue
		}
		u := undone{subject: t.Subject, owner: string(t.Owner), failed: t.failed}
		if w := workers[t.instance].Worker; w != nil {
			u.denied = denial(callsOf(w, string(t.id)))
		}
		left = append(left, u)
	}
	return outcomeOf(left)
}

// undone is a required task that is not completed.
type undone struct {
	subject, owner string
	failed         bool          // its last turn failed
	denied         *control.Call // the denied call that made it fail; nil: none did
}

// outcomeOf returns the kind and the reason of an end that left required tasks undone.
func outcomeOf(left []undone) (operator.Kind, string) {
	var failed, open []string
	for _, t := range left {
		if c := t.denied; c != nil {
			return operator.Refused, fmt.Sprintf("%s was denied %s: %s", t.owner, decide.Describe(c.Kind, c.Ask), why(c.Answer))
		}
		if who := fmt.Sprintf("%q (%s)", t.subject, t.owner); t.failed {
			failed = append(failed, who)
		} else {
			open = append(open, who)
		}
	}
	if len(failed) > 0 {
		return operator.Failed, "required tasks failed: " + strings.Join(failed, ", ")
	}
	if len(open) > 0 {
		return operator.Incomplete, "required tasks are open: " + strings.Join(open, ", ")
	}
	return operator.None, "every required task is completed"
}

// done reports that every required task is completed.
func (j *job) done() bool {
	return !slices.ContainsFunc(j.tasks, func(t *jobTask) bool { return t.Required && t.state != taskCompleted })
}

// passed reports a task of a member whose check has passed at last.
func passed(w *control.Worker, id string) bool {
	return slices.ContainsFunc(w.Tasks, func(t *control.TaskState) bool {
		return t.ID == id && t.Ended && !t.Failed && t.Checked != nil && t.Checked.Passed
	})
}

func why(a *record.Answered) string {
	if a.Rule != "" {
		return a.Rule
	}
	return "by " + string(a.By) + operator.Suffix(a.Reason)
}
