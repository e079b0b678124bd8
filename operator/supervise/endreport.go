package supervise

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"waggle"
	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/inspect"
	"waggle/record"
	"waggle/task"
)

// EndReport is the report of a team that has ended. The operator must be one of operator.EndedTeam. A task
// that was not completed is failed, blocked or open; none is required.
func (o Operator) EndReport(ctx context.Context, name waggle.TeamName) (*Report, error) {
	st, err := inspect.Of(o.Operator).EndedStatus(ctx, name)
	if err != nil {
		return nil, err
	}
	s, err := o.Led(ctx, name)
	if err != nil {
		return nil, err
	}
	rep, told, err := o.members(s, st.Kept)
	if err != nil {
		return nil, err
	}
	rep.Team, rep.Began, rep.Took = st.Team, st.Opened, st.At.Sub(st.Opened)
	if dir := o.Root.Kept.Tasks; dir != "" {
		for i, m := range rep.Members {
			rep.Members[i].Files = filepath.Join(dir, m.Name)
		}
	}
	done := 0
	for _, t := range st.Tasks {
		tr := TaskReport{ID: t.ID, Subject: t.Subject, Owner: t.Owner, Status: "open", Why: t.Note}
		switch t.State {
		case board.TaskState(task.Completed):
			tr.Status, tr.Why = string(taskCompleted), ""
			done++
		case board.StateFailed, board.StateBlocked:
			tr.Status = string(t.State)
		}
		if order, ok := s.Lead.Assignment(t.ID); ok {
			tr.tell(told[order.Instance])
		}
		rep.Tasks = append(rep.Tasks, tr)
	}
	rep.Reason = endReason(st.How, done, len(rep.Tasks))
	return rep, nil
}

// endReason says how a team ended, and what became of its tasks.
func endReason(how string, done, all int) string {
	text := cmp.Or(how, "ended")
	if how == "down" {
		text = "taken down"
	}
	if all == 0 {
		return text + ", without tasks"
	}
	return text + ", " + fmt.Sprintf("%d of %d tasks completed", done, all)
}

// told is what the journal of a member says of its work.
type told struct {
	*control.Worker
	times map[string]span // by task
}

// span is when a member began a task, and when it reported on it last.
type span struct{ began, end time.Time }

// members is a report of the members of a team and of their calls. Its error names the journals that cannot be read.
func (o Operator) members(s *operator.State, kept []operator.KeptWorktree) (*Report, map[record.Instance]told, error) {
	rep := &Report{State: s.Dir.Path, Tasks: []TaskReport{}, Requests: []RequestReport{}, Members: []MemberReport{}, Overlaps: []inspect.Overlap{}}
	var held []record.HeldLevel
	var errs []error
	all := map[record.Instance]told{}
	for _, m := range s.Lead.Members {
		mr := MemberReport{Name: string(m.Name), Trust: string(m.Trust), Worktree: worktreeReport(s.Lead, m, kept)}
		if m.Process != nil {
			mr.PID = m.Process.ID.PID
		}
		if m.Left != nil {
			mr.Left = m.Left.How
		}
		w, err := s.Worker(m.Instance)
		if err == nil && w.Usage.Source != "" {
			mr.Spent = &w.Usage
		}
		rep.Members = append(rep.Members, mr)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all[m.Instance] = told{w, times(s, m.Instance)}
		held = append(held, inspect.HeldOf(m, w.Ready))
		for _, c := range w.Calls {
			rep.Requests = append(rep.Requests, requestReport(m.Name, c))
		}
	}
	rep.Sandbox = inspect.Least(held)
	return rep, all, errors.Join(errs...)
}

// worktreeReport returns the report of a member's worktree, nil when it had none, or when a later member
// that went on as it had the same.
func worktreeReport(l *control.Leader, m *control.Member, kept []operator.KeptWorktree) *WorktreeReport {
	if m.Worktree == nil || slices.ContainsFunc(l.Members, func(n *control.Member) bool {
		return n.Continues == m.Instance && n.Worktree != nil && *n.Worktree == *m.Worktree
	}) {
		return nil
	}
	w := &WorktreeReport{Path: m.Worktree.Path, Branch: m.Worktree.Branch, Files: []string{}}
	for _, k := range kept {
		if k.Owner == m.Instance && k.Path != "" { // else only its branch is
			w.Kept, w.Why, w.Files = true, k.Why, k.Files
		}
	}
	return w
}

// began is when a team was opened.
func began(s *operator.State) (at time.Time) {
	read(s, s.JournalName, func(r journal.Record) {
		if at.IsZero() {
			at = r.Time
		}
	})
	return at
}

// times reads when a member began its tasks, and when it reported on them last.
func times(s *operator.State, by record.Instance) map[string]span {
	all := map[string]span{}
	read(s, journal.Name(by), func(r journal.Record) {
		switch r.Kind {
		case record.KindTaken:
			var b record.Taken
			if json.Unmarshal(r.Body, &b) == nil && all[b.Task].began.IsZero() {
				all[b.Task] = span{began: r.Time}
			}
		case record.KindSaid:
			var b record.Said
			if json.Unmarshal(r.Body, &b) == nil {
				all[b.Task] = span{all[b.Task].began, r.Time}
			}
		}
	})
	return all
}

// tell sets what the journal of its owner says of a task: when it was begun, how long it took, and the exit status and
// the end of the output of its last call, or the output of its check where that failed.
func (t *TaskReport) tell(by told) {
	if by.Worker == nil {
		return
	}
	for _, c := range by.Calls {
		if f := c.Finished; f != nil && c.Task == t.ID {
			t.ExitCode, t.OutputTail = f.ExitCode, f.Tail
		}
	}
	for _, ts := range by.Tasks {
		if c := ts.Checked; c != nil && ts.ID == t.ID && !c.Passed {
			t.ExitCode, t.OutputTail = nil, c.Tail
		}
	}
	at := by.times[t.ID]
	if t.Began = at.began; !at.began.IsZero() && at.end.After(at.began) {
		t.Took = at.end.Sub(at.began)
	}
}

// read gives the records of a journal, as far as they can be read: a report has what there is.
func read(s *operator.State, j journal.Name, each func(journal.Record)) {
	_, _ = s.Dir.Journals().Open(j, operator.Recorder(each), journal.Options{Now: s.JournalOptions.Now, SnapshotAfter: -1, ReadOnly: true})
}
