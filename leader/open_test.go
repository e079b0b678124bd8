package leader_test

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"waggle/control"
	"waggle/home"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/leader"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/spawn/spawntest"
	"waggle/task"
	"waggle/team"
)

// files is a team on disk.
type files struct {
	t     *testing.T
	reg   *team.Team
	board *task.List
	o     leader.Options
}

func newFiles(t *testing.T) *files {
	t.Helper()
	dir := t.TempDir()
	f := &files{t: t, o: leader.Options{Dismiss: true, Root: team.Root{Path: filepath.Join(dir, "root")}, Team: "sim",
		Minter: poll.Minter{Now: time.Now, Rand: rand.Reader}, Writer: journal.Writer{Instance: string(leadInstance), Epoch: 1}}}
	var err error
	f.reg, err = team.Create(t.Context(), f.o.Root, team.Config{Name: "sim"}, team.Options{})
	if err == nil {
		f.o.State, err = home.Home{Path: filepath.Join(dir, "state")}.Create("file:///root", "sim", "uid")
	}
	if err == nil {
		f.board, err = task.Open(f.o.Root.TasksDir("sim"), "sim", task.Options{})
	}
	testenv.Must(t, err)
	f.operate(founding...)
	return f
}

func (f *files) operate(ds ...journal.Draft) {
	f.t.Helper()
	j, err := f.o.State.Journals().Open(journal.Leader, control.NewLeader(nil), journal.Options{})
	if err == nil {
		_, err = j.Append(f.t.Context(), journal.Writer{Operator: true}, func() ([]journal.Draft, error) { return ds, nil })
	}
	testenv.Must(f.t, err)
}

// register enters a member in the registry.
func (f *files) register(name protocol.MemberName) {
	f.t.Helper()
	if _, _, err := f.reg.Add(f.t.Context(), team.Member{Name: name}, false); err != nil {
		f.t.Fatal(err)
	}
}

// join makes a member, with the process that it had.
func (f *files) join(name protocol.MemberName, i record.Instance, id *spawn.Identity) {
	f.t.Helper()
	f.joinRestarted(name, i, id, nil)
}

// joinRestarted is join for a member that is started again.
func (f *files) joinRestarted(name protocol.MemberName, i record.Instance, id *spawn.Identity, r *record.Restart) {
	f.t.Helper()
	f.register(name)
	f.operate(vital(record.KindJoined, record.Joined{Instance: i, Name: name, Agent: "exec", Backend: "process", Trust: record.Cooperative, Restart: r}))
	if id != nil {
		f.operate(vital(record.KindProcess, record.Process{Instance: i, Epoch: 1, ID: *id}))
	}
}

// works gives a member a task in progress, and the status of one that runs.
func (f *files) works(name protocol.MemberName) {
	f.t.Helper()
	_, err := f.board.Create(f.t.Context(), task.Task{Subject: string(name), Owner: string(name), Status: task.InProgress})
	testenv.Must(f.t, errors.Join(err, task.WriteState(f.board.MemberDir(name), task.State{AgentID: protocol.NewAgentID(name, "sim"), Status: task.MemberRunning})))
}

func (f *files) open() *leader.Leader {
	f.t.Helper()
	l, err := leader.Open(f.t.Context(), f.o)
	testenv.Must(f.t, err)
	f.t.Cleanup(func() {
		if err := l.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return l
}

func pass(t *testing.T, l *leader.Leader) {
	t.Helper()
	testenv.Must(t, l.Pass(t.Context()))
}

// left is the end of an instance as the journal has it.
func left(l *leader.Leader, i record.Instance) (out record.Left) {
	l.View(func(fold *control.Leader) {
		if m, ok := fold.ByInstance(i); ok && m.Left != nil {
			out = *m.Left
		}
	})
	return out
}

// exited is the identity of a process that has ended.
func exited(t *testing.T) *spawn.Identity {
	t.Helper()
	p, err := spawn.ProcessBackend().Start(t.Context(), spawntest.Spec(t, spawntest.ModeExit, "0"))
	testenv.Must(t, err)
	<-p.Done()
	id := p.Identity()
	return &id
}

// TestOneLeader: the lease is one process's. A command does not wait for it, a
// leader waits for a command's pass to be over.
func TestOneLeader(t *testing.T) {
	f := newFiles(t)
	l := f.open()
	command := f.o
	command.Writer = journal.Writer{Operator: true}
	began := time.Now()
	_, err := leader.Open(t.Context(), command)
	if !errors.Is(err, leader.ErrLeading) {
		t.Errorf("a command beside a leader: %v", err)
	}
	testenv.Within(t, "a command beside a leader", time.Since(began), time.Second)
	other := f.o
	other.Wait, began = 50*time.Millisecond, time.Now()
	if _, err := leader.Open(t.Context(), other); !errors.Is(err, leader.ErrLeading) || time.Since(began) < other.Wait { // real clock: a lower bound
		t.Errorf("a second leader: %v after %s", err, time.Since(began))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := leader.Open(ctx, f.o); !errors.Is(err, context.Canceled) {
		t.Errorf("a leader that is told to stop waiting: %v", err)
	}
	// The command's pass ends while a leader waits.
	go func() {
		time.Sleep(100 * time.Millisecond) // real clock: the other goroutine waits for a lock of the system, which no channel tells
		_ = l.Close()
	}()
	next := f.open()
	pass(t, next)
}

// TestOpenGivesTheLeaseBack: a team that cannot be opened is not led.
func TestOpenGivesTheLeaseBack(t *testing.T) {
	f := newFiles(t)
	bad := f.o
	bad.State.UID = "another team's"
	if _, err := leader.Open(t.Context(), bad); err == nil {
		t.Fatal("a journal of another team was opened")
	}
	pass(t, f.open())
}

// TestDeathInFiles: a member whose process has died is removed from the registry, its unfinished
// tasks are given back with the reason, and its status shows it.
func TestDeathInFiles(t *testing.T) {
	f := newFiles(t)
	f.join("ann", "aa", exited(t))
	f.join("bob", "bb", nil) // not started yet: no member has died
	for _, owner := range []protocol.MemberName{"ann", "bob"} {
		f.works(owner)
	}
	l := f.open()
	pass(t, l)
	if a, b := left(l, "aa"), left(l, "bb"); a.How != record.LeftDied || b.How != "" {
		t.Errorf("ann left as %+v, bob as %+v", a, b)
	}
	c, err := f.reg.Load(t.Context())
	testenv.Must(t, err)
	ann, _ := c.Member("ann")
	bob, _ := c.Member("bob")
	if !ann.Gone() || bob.Gone() {
		t.Errorf("the registry shows ann gone: %v, bob gone: %v", ann.Gone(), bob.Gone())
	}
	ts, _, err := f.board.All(t.Context())
	if err != nil || ts[0].Owner != "" || ts[0].Status != task.Pending || ts[1].Owner != "bob" {
		t.Errorf("the board: %+v, %v", ts, err)
	}
	if r, ok := ts[0].Released(); !ok || r.From != "ann" || r.Why != "died" {
		t.Errorf("why it was given back: %+v", r)
	}
	sa, aerr := task.ReadState(f.board.MemberDir("ann"))
	sb, berr := task.ReadState(f.board.MemberDir("bob"))
	if aerr != nil || berr != nil || sa.Status != task.MemberError || sa.ErrorMessage != "died" || sb.Status != task.MemberRunning {
		t.Errorf("ann %+v %v, bob %+v %v", sa, aerr, sb, berr)
	}
}

// TestForsakenInFiles: the tasks of a dead member that is not restarted are given back at once, and
// its status shows it. That happens neither before the leader has started its members nor in a
// command's pass. A member that is restarted keeps its tasks.
func TestForsakenInFiles(t *testing.T) {
	f := newFiles(t)
	f.o.Dismiss = false
	f.join("never", "aa", exited(t))
	f.joinRestarted("often", "bb", exited(t), &record.Restart{Most: 0, Window: 600_000})
	f.joinRestarted("again", "cc", exited(t), &record.Restart{Most: 3, Window: 600_000, First: 600_000, Longest: 600_000})
	for _, owner := range []protocol.MemberName{"never", "often", "again"} {
		f.works(owner)
	}
	shows := func(when string, never, often, again string) {
		t.Helper()
		ts, _, err := f.board.All(t.Context())
		if err != nil || ts[0].Owner != never || ts[1].Owner != often || ts[2].Owner != again {
			t.Fatalf("%s: the board: %+v, %v", when, ts, err)
		}
		for _, x := range ts {
			r, noted := x.Released()
			if given := x.Owner == ""; given != noted || given && (string(r.From) != x.Subject || x.Status != task.Pending || r.Why != "died, and nobody starts it again") {
				t.Errorf("%s: task %s is %+v with %+v", when, x.ID, x, r)
			}
			if s, err := task.ReadState(f.board.MemberDir(protocol.MemberName(x.Subject))); err != nil || x.Owner == "" && s.Status != task.MemberError {
				t.Errorf("%s: status of %s: %+v, %v", when, x.Subject, s, err)
			}
		}
	}
	command, err := leader.Open(t.Context(), f.o)
	testenv.Must(t, err)
	command.Begun()
	pass(t, command)
	testenv.Must(t, command.Close())
	shows("after a command", "never", "often", "again")
	f.o.Supervise = true
	l := f.open()
	pass(t, l)
	shows("before the first starts", "never", "often", "again")
	l.Begun()
	pass(t, l)
	shows("after them", "", "", "again")
	if _, err := f.board.Claim(t.Context(), "1", "bob"); err != nil {
		t.Errorf("another claims it: %v", err)
	}
	pass(t, l)
	shows("later", "bob", "", "again")
}

// TestSuccessorInFiles: the entry of another member with a departed member's name is not touched,
// even before the journal knows that member.
func TestSuccessorInFiles(t *testing.T) {
	f := newFiles(t)
	f.join("ann", "aa", nil)
	f.operate(vital(record.KindLeft, record.Left{Instance: "aa", How: record.LeftDied}))
	testenv.Must(t, f.reg.Remove(t.Context(), "ann", time.Now()))
	time.Sleep(5 * time.Millisecond) // real clock: times in files have milliseconds
	f.register("ann")
	pass(t, f.open())
	c, err := f.reg.Load(t.Context())
	testenv.Must(t, err)
	if ann, ok := c.Member("ann"); !ok || ann.Gone() {
		t.Error("the successor was taken out of the registry")
	}
}

// TestTeamIsGone: a pass over a team whose files were archived records its members as left all the
// same.
func TestTeamIsGone(t *testing.T) {
	f := newFiles(t)
	f.join("ann", "aa", exited(t))
	testenv.Must(t, f.reg.Delete(t.Context(), true))
	l := f.open()
	pass(t, l)
	if how := left(l, "aa").How; how != record.LeftDied {
		t.Errorf("ann left as %q", how)
	}
}

// TestStop: Stop ends a member's processes, those that left its group too, and the record says that
// the member was stopped.
func TestStop(t *testing.T) {
	f := newFiles(t)
	f.join("ann", "aa", nil)
	l := f.open()
	s := spawntest.Spec(t, spawntest.ModeParent, "block,setsid,stay")
	p, err := l.Start(t.Context(), "aa", spawn.ProcessBackend(), s)
	testenv.Must(t, err)
	if !l.Started("aa") || l.Started("bb") {
		t.Error("it is not known who was started")
	}
	child, err := spawn.Identify(spawntest.Ready(t, s.Log, 2)[spawntest.ModeBlock])
	testenv.Must(t, err)
	rung, err := l.Stop(t.Context(), "ann", spawn.Grace{Term: 5 * time.Second, Kill: 5 * time.Second})
	if err != nil || rung != spawn.RungTerm {
		t.Errorf("stop: %q, %v", rung, err)
	}
	<-p.Done()
	if child.Alive() {
		t.Error("a process below the member's outlived it")
	}
	if got := left(l, "aa"); got.How != record.LeftStopped {
		t.Errorf("left as %+v", got)
	}
	if _, err := l.Stop(t.Context(), "ann", spawn.Grace{}); err == nil {
		t.Error("stopped twice")
	}
}

// TestStopCutShort: when ctx ends before the process does, the pass that finds it gone records that
// the operator stopped it.
func TestStopCutShort(t *testing.T) {
	f := newFiles(t)
	f.join("ann", "aa", nil)
	l := f.open()
	s := spawntest.Spec(t, spawntest.ModeStubborn)
	p, err := l.Start(t.Context(), "aa", spawn.ProcessBackend(), s)
	testenv.Must(t, err)
	spawntest.Ready(t, s.Log, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := l.Stop(ctx, "ann", spawn.Grace{Term: time.Minute}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop: %v", err)
	}
	if err := l.Pass(t.Context()); err != nil || left(l, "aa").How != "" {
		t.Errorf("a running process was let go as %+v, %v", left(l, "aa"), err)
	}
	if _, err := spawn.Stop(t.Context(), p.Identity(), spawn.Grace{Term: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	pass(t, l)
	if got := left(l, "aa"); got.How != record.LeftStopped || got.Detail == "" {
		t.Errorf("left as %+v", got)
	}
}

// TestStopOfOneThatNeverRan: Stop of a member that never ran ends no process, and the member is
// recorded as left.
func TestStopOfOneThatNeverRan(t *testing.T) {
	f := newFiles(t)
	f.join("ann", "aa", nil)
	l := f.open()
	if rung, err := l.Stop(t.Context(), "ann", spawn.Grace{}); err != nil || rung != spawn.RungGone {
		t.Errorf("stop: %q, %v", rung, err)
	}
	if got := left(l, "aa"); got.How != record.LeftStopped {
		t.Errorf("left as %+v", got)
	}
}
