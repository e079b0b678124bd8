package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/process"
	"waggle/task"
)

const taskTeam = `team: board
policy: {allow: ["Bash(touch:*)", "Bash(sleep:*)"]}
members:
  - {name: ann, agent: exec}
  - {name: bob, agent: exec}
`

// TestTasksOfTheDead: the tasks of a member whose process was killed have no
// owner and a note with the reason. Assigned to a living member they are done.
func TestTasksOfTheDead(t *testing.T) {
	t.Parallel()
	r := newRig(t, taskTeam)
	ctx, made := t.Context(), filepath.Join(t.TempDir(), "made")
	// The command outlives its worker, and the test: it must end by itself soon.
	running, err := board.Of(r.op).AddTask(ctx, "board", board.NewTask{Subject: "Sleep", Description: "sleep 30", Owner: "ann"})
	if err != nil || !running.Ordered {
		t.Fatalf("%+v %v", running, err)
	}
	waiting, err := board.Of(r.op).AddTask(ctx, "board", board.NewTask{Subject: "Touch", Description: "touch " + made, Owner: "ann"})
	testenv.Must(t, err)
	r.until("ann works", func(*control.Leader) bool {
		busy := false
		r.worker("ann", func(w *control.Worker) { busy = w.Turn() != nil })
		return busy
	})
	if _, err := board.Of(r.op).AssignTask(ctx, "board", running.Task.ID, "bob", board.Terms{}); operator.KindOf(err) != operator.Refused {
		t.Errorf("a task that ann works on was given to bob: %v", err)
	}
	p, err := os.FindProcess(r.pids["ann"])
	testenv.Must(t, err)
	testenv.Must(t, p.Kill())
	r.until("ann is gone", func(l *control.Leader) bool { m, _ := l.Member("ann"); return m.Left != nil })
	l, err := board.Of(r.op).Tasks(ctx, "board", false)
	if err != nil || len(l.Tasks) != 2 {
		t.Fatalf("%+v %v", l, err)
	}
	for _, v := range l.Tasks {
		if v.Owner != "" || v.Status != task.Pending || !strings.Contains(v.Note.Text, "ann died") {
			t.Errorf("after the death: %+v", v)
		}
	}
	s, err := task.ReadState(r.op.Root.MemberDir("board", "ann"))
	if err != nil || s.Status != task.MemberError || !strings.Contains(s.ErrorMessage, "died") {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := board.Of(r.op).AssignTask(ctx, "board", waiting.Task.ID, "ann", board.Terms{}); operator.KindOf(err) != operator.NotFound {
		t.Errorf("the dead got a task: %v", err)
	}
	if got, err := board.Of(r.op).AssignTask(ctx, "board", waiting.Task.ID, "bob", board.Terms{}); err != nil || !got.Ordered {
		t.Fatalf("%+v %v", got, err)
	}
	r.until("bob did it", r.done("bob", string(waiting.Task.ID)))
	if !exists(made) {
		t.Error("it did not do it")
	}
}

// unled gives up the lease of a rig: its members run on.
func (r *rig) unled() {
	r.t.Helper()
	r.until("both are there", func(l *control.Leader) bool {
		live := 0
		for _, m := range l.Live() {
			if m.Process != nil && m.Process.ID.Alive() {
				live++
			}
		}
		return live == 2
	})
	testenv.Must(r.t, r.lead.Close())
	r.lead = nil
}

// done is a condition: a member has completed a task.
func (r *rig) done(name, id string) func(*control.Leader) bool {
	return func(l *control.Leader) bool {
		for _, m := range l.Members {
			if string(m.Name) == name && m.Done[id] != nil {
				return true
			}
		}
		return false
	}
}

// completed waits until the board shows a task as completed.
func (r *rig) completed(list *task.List, id task.ID) {
	r.t.Helper()
	var got task.Task
	var err error
	testenv.Eventually(r.t, "task "+string(id)+" is done", func() bool {
		got, err = list.Get(r.t.Context(), id)
		return err == nil && got.Status == task.Completed
	}, func() string { return fmt.Sprintf("%+v %v", got, err) }, r.dump)
}

// TestTasksOfAFileWithoutALeader: a chain of a file's tasks over two members is
// worked off after its leader is gone.
func TestTasksOfAFileWithoutALeader(t *testing.T) {
	t.Parallel()
	r := newRig(t, taskTeam+`tasks:
  - {subject: one, owner: ann, instructions: "touch one"}
  - {subject: two, owner: bob, after: [one], instructions: "touch two"}
  - {subject: three, owner: ann, after: [two], instructions: "touch three"}
`)
	r.assign()
	testenv.Must(t, r.lead.Close())
	list, err := task.Open(r.op.Root.TasksDir("board"), "board", task.Options{})
	testenv.Must(t, err)
	r.completed(list, "3")
	all, _, err := list.All(t.Context())
	testenv.Must(t, err)
	for _, x := range all {
		if x.Status != task.Completed {
			t.Errorf("%+v", x)
		}
	}
	if r.lead, err = process.Of(r.op).Lead(t.Context(), r.state); err != nil {
		t.Fatal(err)
	}
}

// TestTasksWithoutALeader: without a leader, the workers do a task that a command
// assigns, and then the task that waits for it. They never do a task that was only
// written on the board.
func TestTasksWithoutALeader(t *testing.T) {
	t.Parallel()
	r := newRig(t, taskTeam)
	ctx, dir := t.Context(), t.TempDir()
	r.unled()
	add := func(n board.NewTask, name string) task.ID {
		t.Helper()
		n.Subject, n.Description = name, "touch "+filepath.Join(dir, name)
		got, err := board.Of(r.op).AddTask(ctx, "board", n)
		testenv.Must(t, err)
		return got.Task.ID
	}
	first := add(board.NewTask{}, "first")
	second := add(board.NewTask{Owner: "bob", After: []task.ID{first}}, "second")
	forged := add(board.NewTask{}, "forged")
	list, err := task.Open(r.op.Root.TasksDir("board"), "board", task.Options{})
	testenv.Must(t, err)
	if _, _, err := list.Assign(ctx, forged, "ann", "team-lead", time.Now()); err != nil {
		t.Fatal(err)
	}
	if got, err := board.Of(r.op).AssignTask(ctx, "board", first, "ann", board.Terms{}); err != nil || !got.Ordered {
		t.Fatalf("%+v %v", got, err)
	}
	r.completed(list, second)
	for name, want := range map[string]bool{"first": true, "second": true, "forged": false} {
		if exists(dir, name) != want {
			t.Errorf("%s: want it %v", name, want)
		}
	}
	d, err := board.Of(r.op).Task(ctx, "board", forged)
	if err != nil || d.Order != nil || !strings.Contains(d.Note.Text, "nobody ordered it") {
		t.Errorf("%+v %v", d, err)
	}
	// A completed task cannot be assigned again.
	if got, err := board.Of(r.op).AssignTask(ctx, "board", first, "ann", board.Terms{}); operator.KindOf(err) != operator.Refused {
		t.Errorf("a completed task was assigned: %+v %v", got, err)
	}
	if r.lead, err = process.Of(r.op).Lead(ctx, r.state); err != nil {
		t.Fatal(err)
	}
}
