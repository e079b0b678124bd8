package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"waggle"
	"waggle/control"
	"waggle/internal/atomicfile"
	"waggle/internal/jsonobj"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/inspect"
)

// Report is how a run came out (commands §4).
type Report struct {
	Team     string            `json:"team"`
	Kind     operator.Kind     `json:"-"`    // None: every required task is completed
	Exit     int               `json:"exit"` // of Kind, as the face that writes the report spells it
	Reason   string            `json:"reason"`
	Sandbox  string            `json:"sandbox"`
	State    string            `json:"state"` // directory of the journals
	Tasks    []TaskReport      `json:"tasks"`
	Requests []RequestReport   `json:"requests"`
	Members  []MemberReport    `json:"members"`
	Overlaps []inspect.Overlap `json:"overlaps"` // files that several members edited
}

// TaskReport is one task's outcome.
type TaskReport struct {
	ID         string `json:"id"`
	Subject    string `json:"subject"`
	Owner      string `json:"owner"`
	Required   bool   `json:"required"`
	Status     string `json:"status"` // completed; failed: a call was denied; open: anything else
	ExitCode   *int   `json:"exit_code"`
	Why        string `json:"why,omitempty"`
	OutputTail string `json:"output_tail"`
}

// RequestReport is one gated call and who or which rule decided it.
type RequestReport struct {
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

// MemberReport is one member.
type MemberReport struct {
	Name  string `json:"name"`
	PID   int    `json:"pid"`
	Trust string `json:"trust"`
	Left  string `json:"left"`
	Files string `json:"files"` // directory of its output.log, status and artifacts
	// Worktree is what became of the member's own checkout; null: it had none.
	Worktree *WorktreeReport `json:"worktree"`
}

// WorktreeReport is what became of a worktree.
type WorktreeReport struct {
	Path   string `json:"path"`
	Branch string `json:"branch"`
	// Kept: it is still there, for this reason; these are the first files and commits.
	Kept  bool     `json:"kept"`
	Why   string   `json:"why,omitempty"`
	Files []string `json:"files"`
}

// worktree reports on a member's worktree, nil when it had none.
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

// report folds the journals into a Report.
func (r *run) report() *Report {
	rep := &Report{Team: string(r.f.Team), Sandbox: r.f.Sandbox, State: r.S.Dir.Path, Tasks: []TaskReport{}, Requests: []RequestReport{}, Members: []MemberReport{},
		Overlaps: append([]inspect.Overlap{}, r.watch.All...)}
	if rep.Sandbox == "" || rep.Sandbox == "auto" {
		rep.Sandbox = "off"
	}
	workers := map[control.Instance]*control.Worker{}
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
		Digest: string(c.Digest), At: waggle.FormatTime(c.Asked), Started: c.Started}
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

// outcome is the first kind that applies (commands §6), and why.
func (r *run) outcome(workers map[control.Instance]*control.Worker) (operator.Kind, string) {
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
			if c.Answer != nil && c.Answer.Decision == control.DecisionDeny && unanswered(c) {
				return operator.Question, fmt.Sprintf("a question nobody answered: %s asked for %s", w.Name, decide.Describe(c.Kind, c.Ask))
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

func why(a *control.Answered) string {
	if a.Rule != "" {
		return a.Rule
	}
	return "by " + string(a.By) + operator.Suffix(a.Reason)
}

// Write writes report.json and report.txt into dir.
func (rep *Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	b, err := jsonobj.MarshalIndent(rep)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	o := atomicfile.Options{Perm: 0o600}
	return errors.Join(atomicfile.WriteFile(filepath.Join(dir, "report.json"), append(b, '\n'), o),
		atomicfile.WriteFile(filepath.Join(dir, "report.txt"), []byte(rep.Text()), o))
}

// Text is the report for people.
func (rep *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "team %s: exit %d, %s\nsandbox: %s\n\nTasks\n", rep.Team, rep.Exit, rep.Reason, rep.Sandbox)
	for _, t := range rep.Tasks {
		fmt.Fprintf(&b, "  %s  %-10s %-12s %s", t.ID, t.Status, operator.Visible(t.Owner), operator.Visible(t.Subject))
		if t.ExitCode != nil {
			fmt.Fprintf(&b, " (exit status %d)", *t.ExitCode)
		}
		fmt.Fprintf(&b, "%s\n", operator.Suffix(operator.Visible(t.Why)))
		if t.Status != string(taskCompleted) && t.OutputTail != "" {
			for _, line := range strings.Split(strings.TrimRight(t.OutputTail, "\n"), "\n") {
				fmt.Fprintf(&b, "     | %s\n", operator.Visible(strings.ReplaceAll(line, "\t", "    ")))
			}
		}
	}
	b.WriteString("\nCalls\n")
	for _, q := range rep.Requests {
		what := q.Tool + " " + string(q.Input)
		if q.Host != "" {
			what = "network " + q.Host
		} else if q.Tool == "" {
			what = "plan"
		}
		fmt.Fprintf(&b, "  %-12s %-5s by %s%s  %s\n", operator.Visible(q.Member), q.Decision, q.By, paren(q.Rule), operator.Visible(what))
	}
	b.WriteString("\nMembers\n")
	for _, m := range rep.Members {
		fmt.Fprintf(&b, "  %-12s pid %-7d %s, left: %s\n", operator.Visible(m.Name), m.PID, m.Trust, m.Left)
		if m.Files != "" {
			fmt.Fprintf(&b, "  %-12s files in %s\n", "", operator.Visible(m.Files))
		}
		if w := m.Worktree; w != nil && w.Kept {
			fmt.Fprintf(&b, "  %-12s worktree kept: %s: %s (branch %s)\n", "", operator.Visible(w.Why), operator.Visible(w.Path), operator.Visible(w.Branch))
			for _, f := range w.Files {
				fmt.Fprintf(&b, "  %-12s   %s\n", "", operator.Visible(f))
			}
		} else if w != nil {
			fmt.Fprintf(&b, "  %-12s its worktree was clean and is removed\n", "")
		}
	}
	if len(rep.Overlaps) > 0 {
		b.WriteString("\nFiles that several members edited\n")
	}
	for _, v := range rep.Overlaps {
		fmt.Fprintf(&b, "  %s: %s\n", operator.Visible(v.File), operator.Visible(strings.Join(v.Members, ", ")))
	}
	fmt.Fprintf(&b, "\nJournals: %s\n", rep.State)
	return b.String()
}

func paren(s string) string {
	if s == "" {
		return ""
	}
	return " (" + operator.Visible(s) + ")"
}
