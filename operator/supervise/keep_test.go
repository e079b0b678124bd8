package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// kept is a team that this process keeps up.
type kept struct {
	t      *testing.T
	op     operator.Operator
	s      *operator.State
	said   *operatortest.Heard
	cancel context.CancelFunc
	ended  chan struct{}
	how    string
	err    error
}

// keep brings a team up, and ends it with the test unless it has ended.
func keep(t *testing.T, op operator.Operator, text string, lo supervise.LeadOptions) *kept {
	t.Helper()
	f := parse(t, op, text)
	testenv.Must(t, os.WriteFile(f.Path, f.Data, 0o600))
	k := &kept{t: t, op: op, said: &operatortest.Heard{}}
	s, err := supervise.Of(op).Prepare(t.Context(), f, false, k.said.Note)
	testenv.Must(t, err)
	k.s = s
	k.lead(f, lo)
	return k
}

// lead begins to keep it up, and returns when it is.
func (k *kept) lead(f *teamfile.File, lo supervise.LeadOptions) {
	k.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(k.t.Context()))
	up := make(chan bool, 1)
	k.cancel, k.ended = cancel, make(chan struct{})
	lo.Note, lo.Up = k.said.Note, func(*operator.State) { up <- true }
	if lo.Grace == 0 {
		lo.Grace = time.Millisecond
	}
	go func() {
		defer close(k.ended)
		k.how, k.err = supervise.Of(k.op).Keep(ctx, k.s, f, lo)
	}()
	k.t.Cleanup(func() { cancel(); <-k.ended })
	select {
	case <-up:
	case <-k.ended:
		k.t.Fatalf("%s, %v: %+v", k.how, k.err, k.said.All())
	}
}

// over waits for its end.
func (k *kept) over(how string) {
	k.t.Helper()
	<-k.ended
	if k.how != how || k.err != nil {
		k.t.Errorf("it ended as %q with %v, not as %s", k.how, k.err, how)
	}
}

// TestKeep: a team that is kept up has its members on record, does its tasks, and ends with
// its process when that has a terminal.
func TestKeep(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	k := keep(t, op, "team: api\nmembers: [{name: ann, agent: puppet, backend: in-process, mode: plan}]\ntasks: [{subject: A, owner: ann, instructions: say hello}]\n", supervise.LeadOptions{})
	testenv.Eventually(t, "the task is done", func() bool { return k.said.Of("completed", `"A"`) == 1 })
	s, err := op.Open(t.Context(), "api", operator.Act)
	testenv.Must(t, err)
	m, _ := s.Lead.Member("ann")
	if l := s.Lead.Led; l == nil || !l.Up || l.Detached || l.ID.PID != os.Getpid() || m.Mode != policy.ModePlan {
		t.Errorf("led %+v, mode %s", l, m.Mode)
	}
	if k.said.Of("started", "in-process") != 1 || k.said.Of("ready", "mode plan") != 1 {
		t.Errorf("told %+v", k.said.All())
	}
	k.cancel()
	k.over(supervise.LedEnded)
	if _, err := op.Open(t.Context(), "api", operator.Act); operator.KindOf(err) != operator.NotFound {
		t.Errorf("it is there: %v", err)
	}
	if k.said.Of("ending", "1 members are asked to end") != 1 {
		t.Errorf("told %+v", k.said.All())
	}
}

// TestOrdersPrecedeStart: Prepare puts the tasks on the board. Who keeps the team up orders them in the file's words, and the
// orders are in the mailboxes before the members' processes run.
func TestOrdersPrecedeStart(t *testing.T) {
	t.Parallel()
	op, found := fresh(t), make(chan int, 1)
	op.Backends = append(op.Backends, &elsewhere{in: spawn.InProcess(func(ctx context.Context, _ spawn.Spec, _ io.Writer) spawn.Exit {
		box, err := op.Boxes("api").Open("ann", mailbox.Options{})
		if err != nil {
			t.Error(err)
			return spawn.Exit{}
		}
		entries, err := box.Entries(ctx)
		if err != nil {
			t.Error(err)
		}
		found <- len(entries)
		return spawn.Exit{}
	})})
	f := parse(t, op, "team: api\nmembers: [{name: ann, agent: puppet, backend: elsewhere, restart: never}]\ntasks: [{subject: A, owner: ann, instructions: say a}, {subject: B, owner: ann, instructions: say b}]\n")
	s, err := supervise.Of(op).Prepare(t.Context(), f, false, func(operator.Note) {})
	testenv.Must(t, err)
	if list, err := board.Of(op).Tasks(t.Context(), "api", true); err != nil || len(list.Tasks) != 2 || len(s.Lead.Assignments()) != 0 {
		t.Errorf("after Prepare: %+v, %v, orders %+v", list, err, s.Lead.Assignments())
	}
	k := &kept{t: t, op: op, said: &operatortest.Heard{}, s: s}
	k.lead(f, supervise.LeadOptions{})
	if n := <-found; n != 2 {
		t.Errorf("%d entries in the mailbox at the start, not 2", n)
	}
	orders := s.Lead.Assignments()
	if len(orders) != 2 {
		t.Errorf("orders %+v", orders)
	}
	for _, o := range orders {
		if o.Commanded.Task.Words != record.WordsOfFile {
			t.Errorf("the words of %s are on record as %q's", o.Commanded.Task.Subject, o.Commanded.Task.Words)
		}
	}
	k.cancel()
	k.over(supervise.LedEnded)
}

// TestRaiseIsRefused: Prepare and Run make nothing for a name that a team has, or with a backend that does
// not exist.
func TestRaiseIsRefused(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	bare, f := op, parse(t, op, "team: api\nmembers: [{name: ann, agent: puppet, backend: tmux}]\ntasks: [{subject: A, owner: ann, instructions: x}]\n")
	bare.Environ = []string{"PATH=/nowhere"}
	for name, raise := range map[string]func() error{
		"up": func() error {
			_, err := supervise.Of(bare).Prepare(t.Context(), f, false, func(operator.Note) {})
			return err
		},
		"run": func() error {
			rep, err := supervise.Of(bare).Run(t.Context(), f, supervise.RunOptions{})
			if rep != nil {
				t.Errorf("a report of no run: %+v", rep)
			}
			return err
		},
	} {
		if err := raise(); operator.KindOf(err) != operator.Failed || !strings.Contains(err.Error(), "tmux") {
			t.Errorf("%s without a multiplexer: %v", name, err)
		}
		if _, err := op.Open(t.Context(), "api", operator.Act); operator.KindOf(err) != operator.NotFound {
			t.Errorf("%s: a team was left: %v", name, err)
		}
	}
	k := keep(t, op, head, supervise.LeadOptions{})
	if _, err := supervise.Of(op).Prepare(t.Context(), parse(t, op, head), false, func(operator.Note) {}); operator.KindOf(err) != operator.Locked {
		t.Errorf("a team that is up: %v", err)
	}
	k.cancel()
	k.over(supervise.LedEnded)
}

// TestSpawn: Spawn reports a member whose process ends before it is ready as an error, and neither the
// member nor its task stays.
func TestSpawn(t *testing.T) {
	t.Parallel()
	op, broken := fresh(t), &elsewhere{in: exits(3)}
	op.Backends = append(op.Backends, broken)
	k := keep(t, op, head, supervise.LeadOptions{})
	su := supervise.Of(op)
	bob := teamfile.FileMember{Name: "bob", Agent: "exec", Backend: "elsewhere", Cwd: t.TempDir()}
	_, err := su.Spawn(t.Context(), "api", supervise.NewMember{FileMember: bob, Prompt: "Do it\nwell"}, &supervise.LeadOptions{})
	if operator.KindOf(err) != operator.Died || !strings.Contains(err.Error(), "its process ended before it was ready: exit status 3") {
		t.Errorf("a member whose process ends: %v", err)
	}
	s, err := op.Open(t.Context(), "api", operator.Act)
	testenv.Must(t, err)
	if m, ok := s.Lead.Member("bob"); ok && m.Left == nil {
		t.Errorf("bob stayed: %+v", m)
	}
	list, err := board.Of(op).Tasks(t.Context(), "api", true)
	if err != nil || len(list.Tasks) != 0 {
		t.Errorf("its task stayed: %+v, %v", list, err)
	}
	if _, err := su.Spawn(t.Context(), "web", supervise.NewMember{FileMember: bob}, &supervise.LeadOptions{}); operator.KindOf(err) != operator.NotFound {
		t.Errorf("in no team: %v", err)
	}
	ann := bob
	ann.Name = "ann"
	if _, err := su.Spawn(t.Context(), "api", supervise.NewMember{FileMember: ann}, &supervise.LeadOptions{}); operator.KindOf(err) != operator.Refused {
		t.Errorf("of a name that is taken: %v", err)
	}
	k.cancel()
	k.over(supervise.LedEnded)
}

// TestSpawnLeavesNothing: a spawn that fails for lack of randomness, at whichever step, leaves no member, no entry in the
// registry and no task.
func TestSpawnLeavesNothing(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	k := keep(t, op, head, supervise.LeadOptions{})
	bob := teamfile.FileMember{Name: "bob", Agent: "exec", Backend: operator.BackendProcess, Cwd: t.TempDir(), Mode: policy.ModeDontAsk}
	for n, failed := 1, true; failed; n++ {
		short := op
		short.Minter.Rand = &failing{Reader: op.Minter.Rand, at: n}
		_, err := supervise.Of(short).Spawn(t.Context(), "api", supervise.NewMember{FileMember: bob, Prompt: "Do it"}, nil)
		if failed = err != nil; !failed {
			if n < 4 {
				t.Errorf("it succeeded when read %d failed", n)
			}
			break
		}
		s, oerr := op.Open(t.Context(), "api", operator.Act)
		if oerr != nil {
			t.Fatal(oerr)
		}
		if m, ok := s.Lead.Member("bob"); ok && m.Left == nil {
			t.Errorf("read %d failed (%v), and bob stayed", n, err)
		}
		reg, oerr := team.Open(op.Root, "api", team.Options{})
		if oerr != nil {
			t.Fatal(oerr)
		}
		testenv.Eventually(t, fmt.Sprintf("read %d failed (%v), and bob is not in the registry", n, err), func() bool {
			cfg, oerr := reg.Load(t.Context()) // who leads takes it out
			m, ok := cfg.Member("bob")
			return oerr == nil && (!ok || m.Gone())
		})
		if list, oerr := board.Of(op).Tasks(t.Context(), "api", true); oerr != nil || len(list.Tasks) != 0 {
			t.Errorf("read %d failed (%v), and its task stayed: %+v, %v", n, err, list, oerr)
		}
	}
	k.cancel()
	k.over(supervise.LedEnded)
}

// failing fails at one read.
type failing struct {
	io.Reader
	at, n int
}

func (f *failing) Read(p []byte) (int, error) {
	if f.n++; f.n == f.at {
		return 0, errors.New("no randomness")
	}
	return f.Reader.Read(p)
}

// TestSpawnedAfterRebuild: Spawn reports the pid of a new member also if another writer made the fold
// be built anew meanwhile.
func TestSpawnedAfterRebuild(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	k := keep(t, op, head, supervise.LeadOptions{})
	s, err := op.Open(t.Context(), "api", operator.Act)
	testenv.Must(t, err)
	m, ok := s.Lead.Member("ann")
	if !ok || m.Process == nil {
		t.Fatalf("ann does not run: %+v", m)
	}
	before := *m // as ann joined
	before.Process = nil
	if pid, err := supervise.StartedPID(s, &before); err != nil || pid != m.Process.ID.PID {
		t.Errorf("pid %d, %v, want %d", pid, err, m.Process.ID.PID)
	}
	k.cancel()
	k.over(supervise.LedEnded)
}

// TestDetachIsRefused: a process that cannot hand over its team returns the reason, and goes on.
func TestDetachIsRefused(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	su := supervise.Of(op)
	if _, err := su.Detach(t.Context(), "api"); operator.KindOf(err) != operator.NotFound {
		t.Errorf("no team: %v", err)
	}
	k := keep(t, op, head, supervise.LeadOptions{})
	if _, err := su.Detach(t.Context(), "api"); operator.KindOf(err) != operator.Refused || !strings.Contains(err.Error(), "ann lives inside the process that leads") {
		t.Errorf("with a member inside: %v", err)
	}
	if err := su.LeaveTerminal(t.Context(), k.s); operator.KindOf(err) != operator.Refused {
		t.Errorf("with a member inside: %v", err)
	}
	s, err := op.Open(t.Context(), "api", operator.Act)
	testenv.Must(t, err)
	if err := su.TakeLead(t.Context(), s); operator.KindOf(err) != operator.Locked || !strings.Contains(err.Error(), "is led in another terminal, by process") {
		t.Errorf("from a terminal: %v", err)
	}
	k.cancel()
	k.over(supervise.LedEnded)
}

// TestDetach: a process that leads hands over a team whose members live without it. The next process
// that leads finds the team as it was, and a detached process leaves the members when it ends.
func TestDetach(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	op.Backends = append(op.Backends, &elsewhere{in: exits(3)})
	k := keep(t, op, "team: api\nmembers: [{name: ann, agent: puppet, backend: elsewhere, restart: never}]\n", supervise.LeadOptions{})
	su := supervise.Of(op)
	testenv.Must(t, su.LeaveTerminal(t.Context(), k.s))
	k.over(supervise.LedDetached)
	if _, err := su.Detach(t.Context(), "api"); operator.KindOf(err) != operator.NotFound || !strings.Contains(err.Error(), "no process leads team api") {
		t.Errorf("nobody leads: %v", err)
	}
	s, err := op.Open(t.Context(), "api", operator.Act)
	testenv.Must(t, err)
	if err := su.TakeLead(t.Context(), s); err != nil {
		t.Errorf("nobody leads: %v", err)
	}
	k.s = s
	k.lead(nil, supervise.LeadOptions{Detached: true})
	if s, err := su.Detach(t.Context(), "api"); err != nil || !s.Lead.Led.Detached {
		t.Errorf("it is detached: %v", err)
	}
	k.cancel()
	k.over(supervise.LedLeft)
	if s, err = op.Open(t.Context(), "api", operator.Act); err != nil || s.Lead.Ended != nil {
		t.Fatalf("the team did not stay: %v", err)
	}
	testenv.Must(t, su.Abandon(t.Context(), s, time.Millisecond, func(operator.Note) {}))
	if _, err := op.Open(t.Context(), "api", operator.Act); operator.KindOf(err) != operator.NotFound {
		t.Errorf("it was abandoned: %v", err)
	}
}

// TestKeepWhole: if a member does not come up, Keep fails with Whole; without Whole the team is up,
// and a note reports the trouble.
func TestKeepWhole(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		op := fresh(t)
		op.Backends = append(op.Backends, &elsewhere{in: exits(3)})
		f := parse(t, op, "team: api\nmembers: [{name: ann, agent: puppet, backend: elsewhere, restart: never}]\n")
		s, err := supervise.Of(op).Prepare(t.Context(), f, false, func(operator.Note) {})
		testenv.Must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		said, absent := &operatortest.Heard{}, error(nil)
		how, err := supervise.Of(op).Keep(ctx, s, f, supervise.LeadOptions{Whole: whole, Grace: time.Millisecond, Note: said.Note, Up: func(s *operator.State) {
			absent = supervise.Absent(s)
			cancel()
		}})
		cancel()
		if whole && (operator.KindOf(err) != operator.Died || !strings.Contains(err.Error(), "ann did not start")) {
			t.Errorf("whole: %q, %v", how, err)
		}
		if !whole && (err != nil || said.Of("trouble", "ann did not start") != 1 || operator.KindOf(absent) != operator.Died || absent.Error() != "did not start: ann") {
			t.Errorf("not whole: %q, %v, absent %v, told %+v", how, err, absent, said.All())
		}
	}
}

// TestKeepRestarts: a member whose process dies is started again as its policy says, and is
// given up after too many deaths.
func TestKeepRestarts(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	op.Backends = append(op.Backends, &elsewhere{in: exits(3)})
	k := keep(t, op, "team: api\nmembers: [{name: ann, agent: puppet, backend: elsewhere, restart: {policy: on-failure, most: 2, within: 10m, backoff: 1ms}}]\n", supervise.LeadOptions{})
	testenv.Eventually(t, "it is given up", func() bool {
		return k.said.Of("died", "GIVEN UP after 2 deaths") == 1 || k.said.Of("died", "GIVEN UP after 3 deaths") == 1
	})
	if k.said.Of("restarted", "pid") == 0 {
		t.Errorf("told %+v", k.said.All())
	}
	k.cancel()
	k.over(supervise.LedEnded)
}

// TestPlanResume: PlanResume reports what a resume of a team would find, and changes nothing. Then the
// team is led again, from the accepted copy of its file.
func TestPlanResume(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	su := supervise.Of(op)
	f := parse(t, op, "team: api\nmembers: [{name: ann, agent: puppet, backend: in-process}, {name: bob, agent: puppet, backend: in-process}]\n"+
		"tasks: [{subject: A, owner: ann, instructions: run make}, {subject: B, owner: bob, instructions: say hello, after: [A]}]\n")
	testenv.Must(t, os.WriteFile(f.Path, f.Data, 0o600))
	s, err := su.Prepare(t.Context(), f, false, func(operator.Note) {})
	testenv.Must(t, err)
	s.Settled()
	l, err := process.Of(op).LeadAs(t.Context(), s, op.Passing(s))
	testenv.Must(t, err)
	testenv.Must(t, errors.Join(su.AssignAll(t.Context(), s, f, l), l.Pass(t.Context()), l.Close(), s.Journal.Refresh(t.Context())))
	_, p, err := su.PlanResume(t.Context(), "api")
	testenv.Must(t, err)
	if p.Led || p.PID != 0 || p.Starts() != 2 || p.Tasks != 2 || p.Undelivered == 0 || p.Changed || p.File != f.Path || len(p.Pending)+len(p.Unknown)+len(p.Leftover) != 0 {
		t.Errorf("%+v", p)
	}
	for _, m := range p.Members {
		if m.Action != supervise.ResumeStart || m.Why != "it had not come up" {
			t.Errorf("%+v", m)
		}
	}
	if c, err := su.FileChange(s); err != nil || c.Now == nil || c.Broken != nil || string(c.Data) != string(c.Accepted.Data) {
		t.Errorf("nothing has changed: %+v, %v", c, err)
	}
	text := strings.Replace(string(f.Data), "run make", "run make test", 1)
	testenv.Must(t, os.WriteFile(f.Path, []byte(text), 0o600))
	if c, err := su.FileChange(s); err != nil || string(c.Data) != text || c.Now == nil || c.Now.Tasks[0].Instructions == c.Accepted.Tasks[0].Instructions || c.Broken != nil {
		t.Errorf("it has changed: %+v, %v", c, err)
	}
	if _, p, err := su.PlanResume(t.Context(), "api"); err != nil || !p.Changed {
		t.Errorf("it has changed: %+v, %v", p, err)
	}
	testenv.Must(t, os.WriteFile(f.Path, []byte("members: 7\n"), 0o600))
	if c, err := su.FileChange(s); err != nil || c.Broken == nil || c.Now != nil {
		t.Errorf("it is none any more: %+v, %v", c, err)
	}
	testenv.Must(t, os.Remove(f.Path))
	if _, err := su.FileChange(s); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is gone: %v", err)
	}
	k := &kept{t: t, op: op, s: s, said: &operatortest.Heard{}}
	k.lead(nil, supervise.LeadOptions{})
	testenv.Eventually(t, "ann asks", func() bool { return k.said.Of("asked", "Bash") == 1 })
	_, p, err = su.PlanResume(t.Context(), "api")
	if err != nil || !p.Led || p.PID != os.Getpid() || p.Starts() != 0 || len(p.Pending) != 1 || p.Members[0].Action != supervise.ResumeTake {
		t.Errorf("%+v, %v", p, err)
	}
	if err := su.Restart(t.Context(), s, supervise.LeadOptions{}); err != nil {
		t.Errorf("all run: %v", err)
	}
	k.cancel()
	k.over(supervise.LedEnded)
	if _, _, err := su.PlanResume(t.Context(), "api"); operator.KindOf(err) != operator.NotFound {
		t.Errorf("it has ended: %v", err)
	}
}

// TestNotFromAFile: a team that was not brought up from a file has none.
func TestNotFromAFile(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	s := created(t, op)
	if _, err := supervise.Of(op).Accepted(s); operator.KindOf(err) != operator.Failed || !strings.Contains(err.Error(), "was not brought up from a team file") {
		t.Error(err)
	}
	if _, err := supervise.Of(op).FileChange(s); operator.KindOf(err) != operator.Failed {
		t.Error(err)
	}
	if _, _, err := supervise.Of(op).PlanResume(t.Context(), "api"); operator.KindOf(err) != operator.Failed {
		t.Error(err)
	}
	if err := supervise.Absent(s); err != nil {
		t.Errorf("a team without members: %v", err)
	}
}

// TestEndedByForce: a forced end asks no member, and the process that leads reports the end.
func TestEndedByForce(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	k := keep(t, op, head, supervise.LeadOptions{})
	d, err := process.Of(op).Down(t.Context(), "api", process.StopOptions{Force: true})
	if err != nil || d.State != "ended" || len(d.Members) != 1 || !d.Members[0].Forced || d.Kind() != 0 {
		t.Fatalf("%+v, %v", d, err)
	}
	k.over(supervise.LedEnded)
	if k.said.Of("ending", "1 members by signal") != 1 {
		t.Errorf("told %+v", k.said.All())
	}
}

// TestTakeLead: TakeLead ends a process that leads in the background, and refuses one in another
// terminal, which hands over after Detach.
func TestTakeLead(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	s := created(t, op)
	other := operatortest.Process(t)
	leads := func(id spawn.Identity, detached bool) {
		t.Helper()
		operatortest.Append(t, op, s, journal.Draft{Kind: record.KindLeading, Must: true, Body: record.LeadingProcess{ID: id, Detached: detached}})
	}
	leads(other, false)
	release, held, err := s.Dir.TryLead()
	if err != nil || !held {
		t.Fatal(err)
	}
	defer func() { _ = release() }()
	if err := supervise.Of(op).TakeLead(t.Context(), s); operator.KindOf(err) != operator.Locked || !other.Alive() {
		t.Fatalf("in another terminal: %v", err)
	}
	detached, done := make(chan error), make(chan bool)
	go func() {
		defer close(done)
		_, err := supervise.Of(op).Detach(t.Context(), "api")
		detached <- err
	}()
	testenv.Eventually(t, "it is told to hand over", func() bool {
		testenv.Must(t, s.Journal.Refresh(t.Context()))
		return s.Lead.Detached
	})
	next := operatortest.Process(t)
	leads(next, true)
	if err := <-detached; err != nil {
		t.Errorf("handed over: %v", err)
	}
	<-done
	if err := supervise.Of(op).TakeLead(t.Context(), s); err != nil || next.Alive() || !other.Alive() {
		t.Errorf("in the background: %v", err)
	}
}
