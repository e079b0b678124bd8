package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/record"
)

// EndReport is the report of a team that has ended. The operator must be one of operator.EndedTeam. A task
// that was not completed is failed, blocked or open; required is one that was ordered and not optional. An ordered task
// is completed by the journals, not by the board (trust §1). The end has the kind that a run would have had that it
// ended (commands §6); how the members left does not count. A member's journal that cannot be read, or not beyond a
// break, is no error: MemberReport.Unread has it, and a task of that member that the leader has not recorded as done
// was not completed.
func (o Operator) EndReport(ctx context.Context, name protocol.TeamName) (*Report, error) {
	st, err := inspect.Of(o.Operator).EndedStatus(ctx, name)
	if err != nil {
		return nil, err
	}
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return nil, err
	}
	rep, told, _ := o.members(s, st.Kept) // MemberReport.Unread says which journal cannot be read
	rep.Team, rep.Began, rep.Took = st.Team, st.Opened, operator.Seconds(st.At.Sub(st.Opened))
	if dir := o.Root.Kept.Tasks; dir != "" {
		for i, m := range rep.Members {
			rep.Members[i].Files = filepath.Join(dir, m.Name)
		}
	}
	done := 0
	var left []ended
	for _, t := range st.Tasks {
		tr := TaskReport{ID: t.ID, Subject: t.Subject, Owner: t.Owner, Status: "open", Why: t.Note}
		order, ordered := s.Lead.Assignment(t.ID)
		completed := t.State == board.StateCompleted
		if ordered {
			m, _ := s.Lead.ByInstance(order.Instance)
			completed, tr.Required = m.Done[t.ID] != nil, !order.Commanded.Task.Optional
			tr.tell(told[order.Instance])
			if turn := m.Turns[t.ID]; turn != nil {
				tr.Why = turn.Note
			}
			if tr.Required && !completed {
				left = append(left, endedTask(t, m, told[order.Instance].Worker))
			}
		}
		switch {
		case completed:
			tr.Status, tr.Why = string(taskCompleted), ""
			done++
		case t.State == board.StateFailed || t.State == board.StateBlocked:
			tr.Status = string(t.State)
		case t.State == board.StateCompleted:
			tr.Why = "completed on the board alone"
		}
		rep.Tasks = append(rep.Tasks, tr)
	}
	rep.Reason = endReason(st.How, done, len(rep.Tasks))
	if len(left) > 0 {
		var why string
		rep.Kind, why = endedOutcome(left)
		rep.Reason += "; " + why
	}
	return rep, nil
}

// ended is a required task that the end of its team has left undone.
type ended struct {
	undone
	died bool          // its owner's process died, and nobody has brought it back
	call *control.Call // the request that nobody answered and that it needed; nil: there is none
}

// endedTask is what the journals say of a required task that is not completed. w is nil when its owner's journal cannot
// be read.
func endedTask(t inspect.EndedTask, m *control.Member, w *control.Worker) ended {
	e := ended{undone: undone{subject: t.Subject, owner: cmp.Or(t.Owner, string(m.Name)), failed: t.State == board.StateFailed},
		died: m.Left != nil && m.Left.How == record.LeftDied}
	if w == nil {
		return e
	}
	calls := callsOf(w, t.ID)
	e.denied = denial(calls)
	budget := w.BudgetCall()
	switch {
	case budget != nil && (budget.Answer == nil || budget.Answer.Decision == record.DecisionDeny):
		e.call = budget
	case e.denied != nil && unanswered(e.denied):
		e.call = e.denied
	case len(calls) > 0 && calls[len(calls)-1].Answer == nil:
		e.call = calls[len(calls)-1]
	}
	return e
}

// endedOutcome returns the first kind that applies to the end of a team (commands §6), and its reason.
func endedOutcome(left []ended) (operator.Kind, string) {
	at := func(is func(ended) bool) (ended, bool) {
		i := slices.IndexFunc(left, is)
		return left[max(i, 0)], i >= 0
	}
	if t, ok := at(func(t ended) bool { return t.died }); ok {
		return operator.Died, "worker died: " + t.owner
	}
	if t, ok := at(func(t ended) bool { return t.call != nil && record.IsBudget(t.call.Kind, t.call.Ask) }); ok {
		return operator.UsedUp, fmt.Sprintf("a budget was not raised: of %s, %s", t.owner, t.call.Ask.Reason)
	}
	if t, ok := at(func(t ended) bool { return t.call != nil }); ok {
		return operator.Question, fmt.Sprintf("a request was not answered: %s asked for %s", t.owner, decide.Describe(t.call.Kind, t.call.Ask))
	}
	var all []undone
	for _, t := range left {
		all = append(all, t.undone)
	}
	return outcomeOf(all)
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

// ends are the kinds of a bad end, the first that applies first (commands §6).
var ends = []operator.Kind{operator.Died, operator.Timeout, operator.UsedUp, operator.Question, operator.Refused, operator.Failed, operator.Incomplete}

// First returns the kind of an end to which both apply (commands §6).
func First(a, b operator.Kind) operator.Kind {
	for _, k := range ends {
		if a == k || b == k {
			return k
		}
	}
	return max(a, b)
}

// told is what the journal of a member says of its work.
type told struct {
	*control.Worker
	times map[string]span // by task
}

// span is when a member began a task, and when it reported on it last.
type span struct{ began, end time.Time }

// members is a report of the members of a team and of their calls. Of a broken journal it has the records before the
// break. Its error names the journals that cannot be read whole, without those whose break the operator has acknowledged.
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
			if m.Left.How == record.LeftDied { // of the others that says nothing new
				mr.Why = m.Left.Detail
			}
		}
		w, err := s.Worker(m.Instance)
		if w != nil && w.Usage.Source != "" {
			mr.Spent = &w.Usage
		}
		broken := operator.Broken(err)
		if err != nil && !(broken && m.Broken) {
			mr.Unread = err.Error()
			errs = append(errs, err)
		}
		rep.Members = append(rep.Members, mr)
		if err != nil && !broken {
			continue
		}
		all[m.Instance] = told{w, times(s, m.Instance)}
		held = append(held, operator.HeldOf(m, w.Ready))
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

// times reads when a member began its tasks, and when it reported on them last.
func times(s *operator.State, by record.Instance) map[string]span {
	all := map[string]span{}
	_, _ = s.Dir.OpenJournal(journal.Name(by), operator.Recorder(func(r journal.Record) { // a report has what there is
		switch r.Kind {
		case record.KindTaken:
			if b, err := record.Body[record.Taken](r); err == nil && all[b.Task].began.IsZero() {
				all[b.Task] = span{began: r.Time}
			}
		case record.KindSaid:
			if b, err := record.Body[record.Said](r); err == nil {
				all[b.Task] = span{all[b.Task].began, r.Time}
			}
		}
	}), journal.Options{Now: s.JournalOptions.Now, SnapshotAfter: -1, ReadOnly: true})
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
		t.Took = operator.Seconds(at.end.Sub(at.began))
	}
}
