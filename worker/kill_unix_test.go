//go:build unix

package worker_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/home"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/leader"
	"waggle/mailbox"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/task"
	"waggle/team"
	"waggle/worker"
)

// mortalEnv makes this test binary a leader or a member that kills itself.
const mortalEnv = "WAGGLE_TEST_MORTAL"

// mortal is a process over files that ends by SIGKILL at one step of its journals'
// and mailboxes' files.
type mortal struct {
	At     place
	Role   string // "leader" or "worker"
	KillAt int    // number of the step; 0: never
	Count  string // file that gets a byte for every step

	mu    sync.Mutex
	steps int
}

// step is the fault hook: it is called between any two file operations.
func (m *mortal) step(string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps++
	if m.steps == m.KillAt {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it arrives
	}
	if m.Count != "" {
		if f, err := os.OpenFile(m.Count, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, _ = f.WriteString("x")
			_ = f.Close()
		}
	}
}

func (m *mortal) journalOptions() journal.Options {
	return journal.Options{
		Write: func(f *os.File, b []byte) (int, error) {
			m.step("journal write")
			n, err := f.Write(b)
			m.step("journal written")
			return n, err
		},
		Sync: func(f *os.File) error {
			err := f.Sync()
			m.step("journal synced")
			return err
		}}
}

func (m *mortal) box(name protocol.MemberName) (mailbox.Store, error) {
	dir := mailbox.Dir{Path: team.Root{Path: m.At.Root}.InboxesDir("sim")}
	return dir.Open(name, mailbox.Options{Hook: m.step})
}

func (m *mortal) state() home.Dir {
	return home.Dir{Path: m.At.State, UID: record.TeamUID(m.At.UID)}
}

// ticks nudges often, until ctx ends.
func ticks(ctx context.Context) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		defer close(c)
		clock := time.NewTicker(10 * time.Millisecond)
		defer clock.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-clock.C:
			}
			select {
			case <-ctx.Done():
				return
			case c <- struct{}{}:
			}
		}
	}()
	return c
}

func mortalMain(args string) error {
	m := &mortal{}
	if err := json.Unmarshal([]byte(args), m); err != nil {
		return err
	}
	ctx := context.Background()
	if m.Role == "leader" {
		return m.lead(ctx)
	}
	return m.work(ctx)
}

// lead runs passes until ctx ends. A member's process that died is started again.
func (m *mortal) lead(ctx context.Context) error {
	fold := control.NewLeader(nil)
	j, err := m.state().Journals().Open(journal.Leader, fold, m.journalOptions())
	if err != nil {
		return err
	}
	own, err := m.box(protocol.Lead)
	if err != nil {
		return err
	}
	l := leader.New(leader.Parts{Journal: j, Fold: fold, Writer: journal.Writer{Instance: string(leadInstance), Epoch: 1}, Box: own, Mark: true,
		Minter: poll.Minter{Now: time.Now, Rand: rand.Reader}, Member: m.box,
		Peers: func(i record.Instance) (journal.Journal, *control.Worker, error) {
			w := control.NewWorker(nil)
			pj, err := m.state().Journals().Open(journal.Name(i), w, journal.Options{})
			return pj, w, err
		},
		Alive: func(spawn.Identity) bool { return true }})
	for range ticks(ctx) {
		if err := l.Pass(ctx); err != nil && poll.Final(err) {
			return err
		}
	}
	return nil
}

type plainExec struct{}

func (plainExec) Run(ctx context.Context, c spawn.Command) (spawn.Exit, error) { return c.Run(ctx) }

// work is what worker.Open does, with a hook in every file.
func (m *mortal) work(ctx context.Context) error {
	lead, fold := control.NewLeader(nil), control.NewWorker(nil)
	lj, err := m.state().Journals().Open(journal.Leader, lead, m.journalOptions())
	if err != nil {
		return err
	}
	oj, err := m.state().Journals().Open("aa", fold, m.journalOptions())
	if err != nil {
		return err
	}
	id, err := spawn.Identify(os.Getpid())
	if err != nil {
		return err
	}
	var epoch uint64
	if _, err = lj.Append(ctx, journal.Writer{Instance: "aa"}, func() ([]journal.Draft, error) {
		if mem, _ := lead.ByInstance("aa"); mem.Process != nil {
			epoch = mem.Process.Epoch
		}
		epoch = max(epoch, fold.Epoch) + 1
		return []journal.Draft{{Kind: record.KindProcess, Must: true, Body: record.Process{Instance: "aa", Epoch: epoch, ID: id}}}, nil
	}); err != nil {
		return err
	}
	writer := journal.Writer{Instance: "aa", Epoch: epoch, PID: os.Getpid()}
	if _, err := oj.Append(ctx, writer, func() ([]journal.Draft, error) {
		return fold.Open(record.Opened{Team: "sim", UID: lead.UID, Instance: "aa", Name: "ann", Epoch: epoch})
	}); err != nil {
		return err
	}
	box, err := m.box("ann")
	leadBox, err2 := m.box(protocol.Lead)
	root := team.Root{Path: m.At.Root}
	board, err3 := task.Open(root.TasksDir("sim"), "sim", task.Options{})
	mem, _ := lead.ByInstance("aa")
	a, err4 := agent.New(mem.Agent, mem.Spec)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return err
	}
	return worker.New(worker.Parts{Journal: oj, Fold: fold, Leader: lj, Lead: lead, Box: box, LeadBox: leadBox,
		Peer:  func(protocol.MemberName) (mailbox.Store, error) { return nil, errors.New("no peers") },
		Board: board, Agent: a, Exec: plainExec{}, Environ: []string{"PATH=" + os.Getenv("PATH")}, Cwd: mem.Cwd,
		Minter: poll.Minter{Now: time.Now, Rand: rand.Reader}, Writer: writer, Nudges: ticks(ctx), Overdue: 50 * time.Millisecond}).Run(ctx)
}

// doomed is a team of a leader and a member, of which one is killed at a step.
type doomed struct {
	*files
	procs map[string]*spawn.Process
	kills int
}

func (d *doomed) start(role string, killAt int, count string) {
	d.t.Helper()
	args, err := json.Marshal(&mortal{At: d.at, Role: role, KillAt: killAt, Count: count})
	testenv.Must(d.t, err)
	log := filepath.Join(d.at.State, role+".log")
	p, err := spawn.ProcessBackend().Start(d.t.Context(), spawn.Spec{Argv: []string{os.Args[0]}, Env: append(os.Environ(), mortalEnv+"="+string(args)), Log: log})
	testenv.Must(d.t, err)
	d.t.Cleanup(func() { d.end(p, log) })
	d.procs[role] = p
}

// live runs one task, which asks once, and answers. A process that dies is started again. It checks
// the open requests before and after.
func (d *doomed) live(victim string, killAt int, count string) {
	d.t.Helper()
	for _, role := range []string{"leader", "worker"} {
		if role == victim {
			d.start(role, killAt, count)
		} else {
			d.start(role, 0, "")
		}
	}
	var asked *control.Request
	d.await("the task ends", func() bool {
		for role, p := range d.procs {
			select {
			case <-p.Done():
				d.kills++
				d.start(role, 0, "")
			default:
			}
		}
		fold := control.NewLeader(nil)
		d.journal(fold, journal.Leader)
		if asked != nil {
			if r, ok := fold.Request(asked.Key); !ok || r.Digest != asked.Digest {
				d.t.Fatalf("question %s was open and is not on record any more", asked.ID)
			}
		}
		for _, r := range fold.Pending() {
			asked = r
			d.answer(r, true, "go")
		}
		m, _ := fold.Member("ann")
		return m.Turns["1"] != nil
	})
}

// check verifies the records at the end.
func (d *doomed) check() (unknown bool) {
	fold := control.NewLeader(nil)
	d.journal(fold, journal.Leader)
	own := d.own()
	if len(fold.Requests) != 1 || len(own.Calls) != 1 || len(fold.Unverified)+len(fold.Ignored) != 0 {
		d.t.Fatalf("%d questions, %d calls, unverified %v, ignored %v", len(fold.Requests), len(own.Calls), fold.Unverified, fold.Ignored)
	}
	var audit unverified
	d.journal(&audit, "aa")
	for _, u := range audit { // a member that fetched an answer beside its dead leader has two copies of it
		if len(fold.Vouches("aa", u.Kind, u.Text)) == 0 {
			d.t.Errorf("something real was taken for forged: %+v", u)
		}
	}
	r, c, n := fold.Requests[0], own.Calls[0], d.lines("ran")
	if r.Decided == nil || c.Answer == nil || c.Answer.Leader != uint64(r.Order.Seq) || c.Answer.Reason != "go" {
		d.t.Errorf("decided %+v, taken %+v", r.Decided, c.Answer)
	}
	if n > 1 || n == 0 && !c.Unknown || c.Started == (n == 0) && !c.Unknown {
		d.t.Errorf("ran %d times; the call is %+v", n, c)
	}
	m, _ := fold.Member("ann")
	if failed := m.Turns["1"].Failed; failed != c.Unknown {
		d.t.Errorf("the turn failed: %t; the call's end is unknown: %t", failed, c.Unknown)
	}
	return c.Unknown
}

// unverified collects the audit records of a journal.
type unverified []record.Unverified

func (u *unverified) Apply(r journal.Record) error {
	if r.Kind != record.KindUnverified {
		return nil
	}
	var b record.Unverified
	err := json.Unmarshal(r.Body, &b)
	*u = append(*u, b)
	return err
}

// TestKilledEverywhere kills a leader or a member with SIGKILL between any two operations on the
// files of journals and mailboxes. After a restart the same request is open or decided, the
// decision is the same, no call runs twice, and no real message is taken for a forged one.
func TestKilledEverywhere(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	rng := mrand.New(mrand.NewPCG(testenv.Seed(t), 0))
	total, kills, unknown := 0, 0, 0
	for _, victim := range []string{"leader", "worker"} {
		play := func(killAt int, count string) {
			t.Run(fmt.Sprintf("%s %d", victim, killAt), func(t *testing.T) {
				d := &doomed{files: newFiles(t), procs: map[string]*spawn.Process{}}
				d.assign("echo x >> ran")
				testenv.Must(t, d.l.Close())
				d.live(victim, killAt, count)
				if d.check() {
					unknown++
				}
				kills += d.kills
				for _, p := range d.procs {
					_, _ = spawn.StopTree(context.Background(), p.Identity(), spawn.Grace{Term: time.Millisecond}) // the cleanup checks again
				}
			})
		}
		count := filepath.Join(t.TempDir(), "count")
		play(0, count)
		b, err := os.ReadFile(count)
		steps := len(b)
		if err != nil || steps < 10 {
			t.Fatalf("%d steps: %v", steps, err)
		}
		n := testenv.Scale(3, steps)
		for i := range n {
			at := 1 + i%steps
			if n < steps {
				at = 1 + rng.IntN(steps)
			}
			play(at, "")
			total++
		}
	}
	testenv.Measured(t, "SIGKILL of a leader or a member between two file operations: %d lives, %d kills, %d calls with an unknown end, the same questions and answers, 0 run twice", total, kills, unknown)
}
