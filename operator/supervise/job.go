package supervise

import (
	"context"
	"errors"
	"slices"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
)

// job is the work of a run: the tasks of its file, and those that were assigned during the run.
// Assignments and outcomes are read from the journals, never from the board (trust §1); only what a
// task that was not begun waits for is read from the board.
type job struct {
	board *task.List
	tasks []*jobTask
}

type jobTask struct {
	teamfile.FileTask
	id       task.ID
	instance record.Instance
	assigned journal.Seq // of its newest order; 0: none yet
	state    taskState
	words    record.Author
	failed   bool      // its turn failed: taskFailed
	waits    []task.ID // what it waited for when the run gave up on it
}

type taskState string

const (
	taskOpen      taskState = "open"      // not finished; a failed command leaves it so
	taskCompleted taskState = "completed" // its owner's journal says so
	taskFailed    taskState = "failed"    // its turn ended without completing it
	taskSkipped   taskState = "skipped"   // a task that it comes after did not complete, or it has no owner
)

// newJob makes the job of a file's tasks, which are on the board then.
func (o Operator) newJob(ctx context.Context, s *operator.State, f *teamfile.File) (*job, error) {
	board, ids, err := o.fillBoard(ctx, s.Team, f)
	if err != nil {
		return nil, err
	}
	j := &job{board: board}
	for _, ft := range f.Tasks {
		t := &jobTask{FileTask: ft, id: ids[ft.Subject], state: taskOpen, words: record.WordsOfFile}
		if m, ok := s.Lead.Member(ft.Owner); ok && m.Left == nil {
			t.instance = m.Instance
		}
		j.tasks = append(j.tasks, t)
	}
	return j, nil
}

// fillBoard puts those of a file's tasks on the board that are not there, and returns the ids of all of them by subject.
func (o Operator) fillBoard(ctx context.Context, team protocol.TeamName, f *teamfile.File) (*task.List, map[string]task.ID, error) {
	board, err := task.Open(o.Root.TasksDir(team), team, task.Options{})
	if err != nil {
		return nil, nil, err
	}
	had, _, err := board.All(ctx)
	if err != nil {
		return nil, nil, err
	}
	ids := map[string]task.ID{}
	for _, ft := range f.Tasks {
		var after []task.ID
		for _, a := range ft.After {
			after = append(after, ids[a])
		}
		want := task.Task{Subject: ft.Subject, Description: ft.Instructions, Owner: string(ft.Owner), Status: task.Pending, BlockedBy: after}
		if i := slices.IndexFunc(had, func(t task.Task) bool {
			return t.Subject == want.Subject && t.Description == want.Description && t.Owner == want.Owner && t.Status == want.Status && slices.Equal(t.BlockedBy, after)
		}); i >= 0 {
			ids[ft.Subject] = had[i].ID
			continue
		}
		t, err := board.Create(ctx, want)
		if err != nil {
			return nil, nil, err
		}
		ids[ft.Subject] = t.ID
	}
	return board, ids, nil
}

// AssignAll puts a file's tasks on the board and orders all of them, for programs that lead a team
// themselves. A member begins a task when those that it comes after are completed; no leader is
// needed for that.
func (o Operator) AssignAll(ctx context.Context, s *operator.State, f *teamfile.File, l *leader.Leader) error {
	j, err := o.newJob(ctx, s, f)
	if err != nil {
		return err
	}
	for _, t := range j.tasks {
		if err := t.give(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// give orders a task's owner to do it.
func (t *jobTask) give(ctx context.Context, l *leader.Leader) error {
	return l.Assign(ctx, t.Owner, record.Task{ID: string(t.id), Subject: t.Subject, Instructions: t.Instructions, Cwd: t.Cwd, TimeoutMS: t.Timeout.Milliseconds(), Check: t.Check, Words: t.words, Optional: !t.Required})
}

// step reads the outcomes of assigned tasks and assigns the ready ones.
func (j *job) step(ctx context.Context, l *leader.Leader) error {
	l.View(func(lead *control.Leader) {
		j.adopt(lead)
		for _, t := range j.tasks {
			t.look(lead)
		}
	})
	for _, t := range j.tasks {
		if t.assigned != 0 || t.state != taskOpen {
			continue
		}
		ready, doomed := j.ready(t)
		if doomed {
			t.state = taskSkipped
		}
		if !ready {
			continue
		}
		if err := t.give(ctx, l); err != nil {
			return err
		}
	}
	l.View(j.adopt)
	return j.giveUp(ctx, l)
}

// adopt follows the orders in the leader's journal: a task that the operator has assigned meanwhile
// becomes part of the job, and a reassigned one is open with its new owner.
func (j *job) adopt(lead *control.Leader) {
	for _, o := range lead.Assignments() {
		m, ok := lead.ByInstance(o.Instance)
		if !ok {
			continue
		}
		t := j.task(o.Commanded.Task)
		if o.Seq > t.assigned {
			t.assigned, t.instance, t.Owner, t.state, t.waits = o.Seq, o.Instance, m.Name, taskOpen, nil
		}
	}
}

// task returns the job's task of an order.
func (j *job) task(ct *record.Task) *jobTask {
	for _, t := range j.tasks {
		if string(t.id) == ct.ID {
			return t
		}
	}
	t := &jobTask{FileTask: teamfile.FileTask{Subject: ct.Subject, Instructions: ct.Instructions, Required: !ct.Optional,
		Cwd: ct.Cwd, Timeout: time.Duration(ct.TimeoutMS) * time.Millisecond}, id: task.ID(ct.ID), state: taskOpen, words: ct.Words}
	j.tasks = append(j.tasks, t)
	return t
}

// giveUp stops waiting when every open task waits, on the board, for one without an owner: a run
// must end.
func (j *job) giveUp(ctx context.Context, l *leader.Leader) error {
	var open []*jobTask
	for _, t := range j.tasks {
		if t.over() {
			continue
		}
		if t.assigned == 0 || begun(l, t) {
			return nil
		}
		open = append(open, t)
	}
	if len(open) == 0 {
		return nil
	}
	for _, t := range open {
		waits, err := j.board.Blockers(ctx, t.id)
		if err != nil {
			return ctx.Err() // its turn will report the error
		}
		t.waits = slices.DeleteFunc(waits, func(id task.ID) bool { return j.comes(ctx, id) })
		if len(t.waits) == 0 {
			return nil
		}
	}
	for _, t := range open {
		t.state = taskSkipped
	}
	return nil
}

// comes reports whether a task that another one waits for is completed except on the board, or has
// an owner outside the job.
func (j *job) comes(ctx context.Context, id task.ID) bool {
	for _, t := range j.tasks {
		if t.id == id {
			return t.state == taskCompleted
		}
	}
	t, err := j.board.Get(ctx, id)
	return err != nil || t.Status == task.InProgress
}

// begun reports whether a member's session has taken its task.
func begun(l *leader.Leader, t *jobTask) (taken bool) {
	l.ViewMember(t.instance, func(w *control.Worker) {
		for _, ts := range w.Tasks {
			taken = taken || ts.Ref == uint64(t.assigned) && (ts.Taken || ts.Ended)
		}
	})
	return taken
}

// ready reports whether every task that t comes after is completed; doomed, that one of them cannot
// complete any more.
func (j *job) ready(t *jobTask) (ready, doomed bool) {
	ready = true
	for _, name := range t.After {
		for _, b := range j.tasks {
			if b.Subject != name || b.state == taskCompleted {
				continue
			}
			ready = false
			doomed = doomed || b.over()
		}
	}
	return ready, doomed
}

// look reads the state of a task: completed when its owner's journal has it so, failed when the
// owner's turn ended otherwise.
func (t *jobTask) look(lead *control.Leader) {
	m, ok := lead.ByInstance(t.instance)
	if !ok || t.over() || t.assigned == 0 {
		return
	}
	switch {
	case m.Done[string(t.id)] != nil:
		t.state = taskCompleted
	case m.Turns[string(t.id)] != nil:
		t.state, t.failed = taskFailed, m.Turns[string(t.id)].Failed
	case m.Left != nil:
		t.state = taskFailed
	}
}

func (t *jobTask) over() bool { return t.state != taskOpen }

// over reports whether there is nothing left to wait for.
func (j *job) over() bool {
	for _, t := range j.tasks {
		if !t.over() {
			return false
		}
	}
	return true
}

// callsOf returns the calls of a task in its owner's journal.
func callsOf(w *control.Worker, task string) []*control.Call {
	return slices.DeleteFunc(slices.Clone(w.Calls), func(c *control.Call) bool { return c.Task != task })
}

// denial returns the denied call that made a task fail, nil when it failed otherwise.
func denial(cs []*control.Call) *control.Call {
	for i := len(cs) - 1; i >= 0; i-- {
		if a := cs[i].Answer; a != nil && a.Decision == record.DecisionDeny {
			return cs[i]
		}
		if cs[i].Finished != nil {
			return nil
		}
	}
	return nil
}

// unanswered reports a denial by the deadline, or of a run without a person.
func unanswered(c *control.Call) bool { return c.Answer.By == policy.RoleSystem }

var errNoTasks = errors.New("the team file has no tasks to run")
