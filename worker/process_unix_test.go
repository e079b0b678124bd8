//go:build unix

package worker_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"waggle/control"
	"waggle/home"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/leader"
	"waggle/mailbox"
	"waggle/policy"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/spawn/spawntest"
	"waggle/task"
	"waggle/team"
	"waggle/worker"
)

// memberEnv makes this test binary a member's process.
const memberEnv = "WAGGLE_TEST_MEMBER"

// place has the directories of a member's files.
type place struct{ Root, State, UID string }

func TestMain(m *testing.M) {
	if at := os.Getenv(memberEnv); at != "" {
		syscall.Exit(memberMain(at)) // os.Exit of a race build takes a second
	}
	if args := os.Getenv(mortalEnv); args != "" {
		fmt.Println("ended:", mortalMain(args))
		syscall.Exit(1)
	}
	testenv.Overlap(1)
	goleak.VerifyTestMain(m)
}

func memberMain(at string) int {
	var p place
	if err := json.Unmarshal([]byte(at), &p); err != nil {
		fmt.Println(err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	w, err := worker.Open(ctx, p.options())
	if err == nil {
		err = errors.Join(w.Run(ctx), w.Close())
	}
	if err != nil {
		fmt.Println("ended:", err)
		return 1
	}
	return 0
}

func (p place) options() worker.Options {
	return worker.Options{Root: team.Root{Path: p.Root}, State: home.Dir{Path: p.State, UID: record.TeamUID(p.UID)}, Team: "sim", Instance: "aa",
		Minter: poll.Minter{Now: time.Now, Rand: rand.Reader}, Environ: []string{"PATH=" + os.Getenv("PATH")}, Output: os.Stdout, Version: "test",
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
}

// files is a team on disk with one exec member, ann, and a leader.
type files struct {
	t     *testing.T
	at    place
	work  string // where its commands run
	l     *leader.Leader
	board *task.List
}

func newFiles(t *testing.T, rules ...string) *files {
	t.Helper()
	return newFilesOf(t, record.Joined{Agent: "exec"}, nil, rules...)
}

// newFilesOf is newFiles with another kind of ann. before may add to the leader's
// journal before she joins.
func newFilesOf(t *testing.T, ann record.Joined, before func(*files), rules ...string) *files {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	f := &files{t: t, at: place{Root: filepath.Join(dir, "root"), UID: "uid"}, work: t.TempDir()}
	root := team.Root{Path: f.at.Root}
	reg, err := team.Create(t.Context(), root, team.Config{Name: "sim"}, team.Options{})
	testenv.Must(t, err)
	state, err := home.Home{Path: filepath.Join(dir, "state")}.Create("file:///root", "sim", "uid")
	testenv.Must(t, err)
	f.at.State = state.Path
	if _, _, err = reg.Add(t.Context(), team.Member{Name: "ann", Cwd: f.work}, false); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, os.MkdirAll(root.MemberDir("sim", "ann"), 0o700))
	if f.board, err = task.Open(root.TasksDir("sim"), "sim", task.Options{}); err != nil {
		t.Fatal(err)
	}
	f.operate(func(*control.Leader) ([]journal.Draft, error) {
		return []journal.Draft{
			{Kind: record.KindOpened, Must: true, Body: record.Opened{Team: "sim", UID: "uid", Instance: leadInstance, Name: protocol.Lead, Epoch: 1}},
			{Kind: record.KindPolicy, Must: true, Body: record.PolicySet{Policy: policy.Policy{Version: 1, Mode: policy.ModeDefault, Allow: policy.MustRules(rules...)}, By: policy.RoleOperator}}}, nil
	})
	if before != nil {
		before(f)
	}
	ann.Instance, ann.Name, ann.Cwd, ann.Backend, ann.Trust = "aa", "ann", f.work, "process", record.Cooperative
	f.operate(func(*control.Leader) ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindJoined, Must: true, Body: ann}}, nil
	})
	f.elsewhere(func() {
		f.l, err = leader.Open(t.Context(), leader.Options{Dismiss: true, Root: root, State: state, Team: "sim", Minter: f.at.options().Minter,
			Writer: journal.Writer{Instance: string(leadInstance), Epoch: 1}})
	})
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := f.l.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// elsewhere does something in a goroutine of its own, as a process of its own
// would: the checker of the lock order sees one goroutine's locks together.
func (f *files) elsewhere(do func()) {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	<-done
}

func (f *files) journal(fold journal.Fold, name journal.Name) journal.Journal {
	f.t.Helper()
	j, err := f.at.options().State.Journals().Open(name, fold, journal.Options{})
	testenv.Must(f.t, err)
	return j
}

func (f *files) operate(propose func(*control.Leader) ([]journal.Draft, error)) {
	f.t.Helper()
	fold := control.NewLeader(nil)
	if _, err := f.journal(fold, journal.Leader).Append(f.t.Context(), journal.Writer{Operator: true}, func() ([]journal.Draft, error) { return propose(fold) }); err != nil {
		f.t.Fatal(err)
	}
}

// command is operate for what needs a fresh id.
func (f *files) command(propose func(*control.Leader, record.Mint) ([]journal.Draft, error)) {
	f.t.Helper()
	f.operate(func(l *control.Leader) ([]journal.Draft, error) {
		m, err := f.at.options().Minter.Mint()
		if err != nil {
			return nil, err
		}
		return propose(l, m)
	})
}

// answer decides as the operator and returns what became of that.
func (f *files) answer(r *control.Request, allow bool, reason string) (out control.Outcome) {
	f.t.Helper()
	f.command(func(l *control.Leader, m record.Mint) (_ []journal.Draft, err error) {
		out, err = l.Decide(control.Answer{Key: r.Key, Digest: r.Digest, Allow: allow, By: policy.RoleOperator, Channel: policy.ChannelOperator, Reason: reason}, journal.Writer{Operator: true}, m)
		return out.Drafts, err
	})
	return out
}

// box opens ann's mailbox, as another program does.
func (f *files) box() *mailbox.Box {
	f.t.Helper()
	box, err := mailbox.Dir{Path: team.Root{Path: f.at.Root}.InboxesDir("sim")}.Open("ann", mailbox.Options{})
	testenv.Must(f.t, err)
	return box
}

// end ends a process and its own, and shows its log when the test has failed.
func (f *files) end(p *spawn.Process, log string) {
	if _, err := spawn.StopTree(context.Background(), p.Identity(), spawn.Grace{Term: time.Millisecond}); err != nil {
		f.t.Error(err)
	}
	<-p.Done()
	if b, err := os.ReadFile(log); err == nil && f.t.Failed() {
		f.t.Logf("%s:\n%s", log, b)
	}
}

// own is what ann's journal folds to.
func (f *files) own() *control.Worker {
	f.t.Helper()
	fold := control.NewWorker(nil)
	f.journal(fold, "aa")
	return fold
}

// start starts ann's process.
func (f *files) start() *spawn.Process {
	f.t.Helper()
	exe, err := os.Executable()
	testenv.Must(f.t, err)
	at, err := json.Marshal(f.at)
	testenv.Must(f.t, err)
	log := filepath.Join(f.at.State, "output.log")
	p, err := f.l.Start(f.t.Context(), "aa", spawn.ProcessBackend(), spawn.Spec{Argv: []string{exe}, Env: append(os.Environ(), memberEnv+"="+string(at)), Log: log})
	testenv.Must(f.t, err)
	f.t.Cleanup(func() { f.end(p, log) })
	return p
}

// here runs a process of ann's in this program, until the test is over or stop.
func (f *files) here() (stop func() error) {
	f.t.Helper()
	return f.hereWith(func(*worker.Options) {})
}

func (f *files) hereWith(change func(*worker.Options)) (stop func() error) {
	f.t.Helper()
	var w *worker.Worker
	var err error
	o := f.at.options()
	change(&o)
	f.elsewhere(func() { w, err = worker.Open(f.t.Context(), o) })
	testenv.Must(f.t, err)
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(w.Run(ctx), w.Close()) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	f.t.Cleanup(func() { _ = stop() })
	return stop
}

func (f *files) assign(cmd string) {
	f.t.Helper()
	b, err := f.board.Create(f.t.Context(), task.Task{Subject: "it", Description: cmd, Owner: "ann"})
	if err == nil {
		err = f.l.Assign(f.t.Context(), "ann", record.Task{ID: string(b.ID), Subject: "it", Instructions: cmd})
	}
	testenv.Must(f.t, err)
}

// await waits for a condition without leader passes, which would release dead processes.
func (f *files) await(what string, cond func() bool) { f.t.Helper(); spawntest.Await(f.t, what, cond) }

// passing waits for a condition of the leader's journal, with passes.
func (f *files) passing(what string, cond func(*control.Leader, *control.Member) bool) {
	f.t.Helper()
	f.await(what, func() (ok bool) {
		testenv.Must(f.t, f.l.Pass(f.t.Context()))
		f.l.View(func(l *control.Leader) {
			m, _ := l.Member("ann")
			ok = cond(l, m)
		})
		return ok
	})
}

func over(_ *control.Leader, m *control.Member) bool { return m.Turns["1"] != nil }

// freeze stops a process while it holds no journal's lock, so that others can continue.
func (f *files) freeze(pid int) {
	f.t.Helper()
	for _, j := range []string{string(journal.Leader), "aa"} {
		var release func() error
		f.await("the lock of journal "+j, func() (held bool) {
			var err error
			release, held, err = atomicfile.TryFlock(filepath.Join(f.at.options().State.JournalOf(j), "lock"), atomicfile.Options{})
			testenv.Must(f.t, err)
			return held
		})
		defer func() {
			if err := release(); err != nil {
				f.t.Error(err)
			}
		}()
	}
	testenv.Must(f.t, syscall.Kill(pid, syscall.SIGSTOP))
	f.await("it is stopped", func() bool {
		out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
		testenv.Must(f.t, err)
		return strings.HasPrefix(strings.TrimSpace(string(out)), "T")
	})
}

// lines counts the lines of a file in the working directory.
func (f *files) lines(name string) int {
	b, err := os.ReadFile(filepath.Join(f.work, name))
	if err != nil && !os.IsNotExist(err) {
		f.t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

// TestOneProcess: an instance has one process, whoever starts it, and each start has an epoch of
// its own.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	stop := f.here()
	f.elsewhere(func() {
		if _, err := worker.Open(t.Context(), f.at.options()); !errors.Is(err, worker.ErrRunning) {
			t.Errorf("a second process in this program: %v", err)
		}
	})
	p := f.start()
	<-p.Done()
	if p.Exit().Code != 1 {
		t.Errorf("a second process of its own: %+v", p.Exit())
	}
	if e := f.own().Epoch; e != 1 {
		t.Errorf("epoch %d", e)
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("the first ended with %v", err)
	}
	f.here()
	if e := f.own().Epoch; e != 2 {
		t.Errorf("epoch %d after a restart", e)
	}
}

// TestOpenOfNobody: Open fails for a name that is not a member, or not any more.
func TestOpenOfNobody(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	o := f.at.options()
	o.Instance = "zz"
	f.elsewhere(func() {
		if _, err := worker.Open(t.Context(), o); err == nil {
			t.Error("a stranger was started")
		}
	})
	f.operate(func(l *control.Leader) ([]journal.Draft, error) {
		m, _ := l.Member("ann")
		return l.Let(m, record.LeftStopped, ""), nil
	})
	for range 2 { // the lease was given back
		f.elsewhere(func() {
			if _, err := worker.Open(t.Context(), f.at.options()); !errors.Is(err, worker.ErrLeft) {
				t.Errorf("a departed member: %v", err)
			}
		})
	}
}

// TestKilledMidRun: SIGKILL while a command runs. The next process records its end as unknown and
// does not run it again.
func TestKilledMidRun(t *testing.T) {
	t.Parallel()
	f := newFiles(t, "Bash")
	p := f.start()
	f.assign("echo x >> ran; echo $$ > pid; exec sleep 60")
	f.await("the command runs", func() bool { return f.lines("pid") == 1 })
	testenv.Must(t, syscall.Kill(p.Identity().PID, syscall.SIGKILL))
	<-p.Done()
	t.Cleanup(func() { f.killCommand() })
	f.here()
	f.passing("the turn ends", over)
	w := f.own()
	if c := w.Calls[0]; len(w.Calls) != 1 || !c.Started || !c.Unknown || c.Finished != nil {
		t.Errorf("%d calls, the first %+v; want its end unknown", len(w.Calls), c)
	}
	if n := f.lines("ran"); n != 1 {
		t.Errorf("ran %d times", n)
	}
	f.l.View(func(l *control.Leader) {
		m, _ := l.Member("ann")
		if s := m.Turns["1"]; !s.Failed || !strings.Contains(s.Note, "its end is unknown; it is not run again") || m.Done["1"] != nil {
			t.Errorf("the lead was told %+v", s)
		}
	})
}

// killCommand ends the command that a killed process left behind.
func (f *files) killCommand() {
	b, err := os.ReadFile(filepath.Join(f.work, "pid"))
	testenv.Must(f.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	testenv.Must(f.t, err)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		f.t.Errorf("the command that was left behind: %v", err)
	}
}

// TestTermMidRun: SIGTERM ends the command, and the end is on record and told.
func TestTermMidRun(t *testing.T) {
	t.Parallel()
	f := newFiles(t, "Bash")
	p := f.start()
	f.assign("echo $$ > pid; exec sleep 60")
	f.await("the command runs", func() bool { return f.lines("pid") == 1 })
	testenv.Must(t, syscall.Kill(p.Identity().PID, syscall.SIGTERM))
	<-p.Done()
	b, err := os.ReadFile(filepath.Join(f.work, "pid"))
	testenv.Must(t, err)
	if pid, _ := strconv.Atoi(strings.TrimSpace(string(b))); syscall.Kill(pid, 0) == nil {
		t.Error("the command goes on")
	}
	w := f.own()
	if c := w.Calls[0]; c.Finished == nil || !c.Finished.Failed || w.Turn() != nil {
		t.Errorf("the call is %+v, the turn %+v", c, w.Turn())
	}
	f.passing("the end is told", func(_ *control.Leader, m *control.Member) bool { return m.Left != nil })
	f.l.View(func(l *control.Leader) {
		m, _ := l.Member("ann")
		if s := m.Turns["1"]; s == nil || !s.Failed || s.Note != "interrupted" {
			t.Errorf("the lead was told %+v", s)
		}
	})
}

// TestStoppedAndOvertaken: a stopped process keeps its lease, so that no other starts. If the lease
// is lost all the same, a successor takes the turn over; the old process does nothing when it
// continues, and ends. The command runs once (trust §2).
func TestStoppedAndOvertaken(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	p := f.start()
	f.assign("echo x >> ran")
	f.passing("it asks", func(l *control.Leader, _ *control.Member) bool { return len(l.Pending()) == 1 })
	f.freeze(p.Identity().PID)
	f.elsewhere(func() {
		if _, err := worker.Open(t.Context(), f.at.options()); !errors.Is(err, worker.ErrRunning) {
			t.Errorf("beside a stopped process: %v", err)
		}
	})
	testenv.Must(t, os.Remove(f.at.options().State.ProcessLease("aa")))
	f.here()
	var r *control.Request
	f.l.View(func(l *control.Leader) { r = l.Pending()[0] })
	f.answer(r, true, "")
	f.passing("it is done", over)
	testenv.Must(t, syscall.Kill(p.Identity().PID, syscall.SIGCONT))
	f.await("the old process ends", func() bool {
		select {
		case <-p.Done():
			return true
		default:
			return false
		}
	})
	if p.Exit().Code != 1 {
		t.Errorf("the old process ended with %+v", p.Exit())
	}
	log, err := os.ReadFile(filepath.Join(f.at.State, "output.log"))
	if err != nil || !strings.Contains(string(log), control.ErrSuperseded.Error()) {
		t.Errorf("it did not say why (%v): %s", err, log)
	}
	if n := f.lines("ran"); n != 1 {
		t.Errorf("ran %d times", n)
	}
	f.l.View(func(l *control.Leader) {
		m, _ := l.Member("ann")
		if m.Done["1"] == nil || len(l.Requests) != 1 {
			t.Errorf("done: %v, %d requests", m.Done["1"], len(l.Requests))
		}
	})
	testenv.Must(t, f.l.Pass(t.Context()))
	f.l.View(func(l *control.Leader) {
		if m, _ := l.Member("ann"); m.Left != nil {
			t.Errorf("the member was let go as %+v although its successor runs", m.Left)
		}
	})
}

// TestLeaseOfAKilled: a process that starts while a killed one still holds the lease, as its threads
// end one after the other, waits for it; beside a process that runs it does not.
func TestLeaseOfAKilled(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	o := f.at.options()
	dead := exec.Command("true")
	testenv.Must(t, dead.Start())
	id, err := spawn.Identify(dead.Process.Pid)
	testenv.Must(t, errors.Join(err, dead.Wait()))
	own, err := spawn.Identify(os.Getpid())
	testenv.Must(t, err)
	release, held, err := o.State.TryLease(o.State.ProcessLease(o.Instance))
	if err != nil || !held {
		t.Fatal(held, err)
	}
	for _, by := range []spawn.Identity{own, id} {
		testenv.Must(t, o.State.NoteStarted(home.Started{Team: o.Team, Instance: o.Instance, ID: by}))
		if by == id {
			time.AfterFunc(50*time.Millisecond, func() { _ = release() }) // real clock: the threads end
		}
		began := time.Now()
		w, err := worker.Open(t.Context(), o)
		if by == own {
			if !errors.Is(err, worker.ErrRunning) {
				t.Errorf("beside a process that runs: %v", err)
			}
			testenv.Within(t, "the refusal beside a process that runs", time.Since(began), time.Second)
			continue
		}
		if err != nil {
			t.Fatalf("after one that was killed: %v", err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
