//go:build unix

package spawn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
)

// Graces for processes that end by SIGTERM, and for those that do not.
var (
	patient   = spawn.Grace{Term: 10 * time.Second, Kill: 10 * time.Second}
	impatient = spawn.Grace{Term: 50 * time.Millisecond, Kill: 10 * time.Second}
)

// family starts a helper with one below it and returns both.
func family(t *testing.T, child spawntest.Mode, flags string) (*spawn.Process, spawn.Identity) {
	t.Helper()
	spec := spawntest.Spec(t, spawntest.ModeParent, string(child)+flags)
	p := spawntest.Start(t, processBackend, spec)
	n := 1
	if strings.Contains(flags, "stay") {
		n = 2
	}
	id := identify(t, spawntest.Ready(t, spec.Log, n)[child])
	t.Cleanup(func() { kill(t, id) })
	if n == 1 {
		spawntest.Wait(t, p)
	}
	return p, id
}

// ready starts a helper and waits until it is ready.
func ready(t *testing.T, mode spawntest.Mode) *spawn.Process {
	t.Helper()
	spec := spawntest.Spec(t, mode)
	p := spawntest.Start(t, processBackend, spec)
	spawntest.Ready(t, spec.Log, 1)
	return p
}

// kill ends one process, whatever its group.
func kill(t *testing.T, id spawn.Identity) {
	t.Helper()
	if id.Alive() {
		if err := syscall.Kill(id.PID, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		spawntest.Await(t, fmt.Sprintf("%d to end", id.PID), func() bool { return !id.Alive() })
	}
}

func stops(t *testing.T, id spawn.Identity, g spawn.Grace, want string) {
	t.Helper()
	if rung, err := spawn.Stop(t.Context(), id, g); rung != want || err != nil {
		t.Errorf("stop %+v: %q, %v; want %q", id, rung, err, want)
	}
}

func alive(t *testing.T, ids ...spawn.Identity) {
	t.Helper()
	for _, id := range ids {
		if !id.Alive() {
			t.Errorf("%+v was ended", id)
		}
	}
}

func dead(t *testing.T, ids ...spawn.Identity) {
	t.Helper()
	for _, id := range ids {
		if id.Alive() {
			t.Errorf("%+v still runs", id)
		}
	}
}

func TestStopPolite(t *testing.T) {
	t.Parallel()
	p := ready(t, spawntest.ModePolite)
	stops(t, p.Identity(), patient, spawn.RungTerm)
	if got := spawntest.Wait(t, p); got != (spawn.Exit{Code: 3}) {
		t.Errorf("exit %+v", got)
	}
}

// A stopped process gets the SIGTERM too: it is continued.
func TestStopContinues(t *testing.T) {
	t.Parallel()
	p := ready(t, spawntest.ModePolite)
	testenv.Must(t, syscall.Kill(p.Identity().PID, syscall.SIGSTOP))
	alive(t, p.Identity())
	stops(t, p.Identity(), patient, spawn.RungTerm)
}

// The group is ended when its leader ends by SIGTERM and a member does not, and when the leader was
// reaped long before.
func TestStopGroup(t *testing.T) {
	t.Parallel()
	p, child := family(t, spawntest.ModeStubborn, ",stay")
	stops(t, p.Identity(), impatient, spawn.RungKill)
	dead(t, p.Identity(), child)

	p, child = family(t, spawntest.ModeStubborn, "")
	alive(t, child)
	dead(t, p.Identity())
	stops(t, p.Identity(), impatient, spawn.RungKill)
	dead(t, child)
	stops(t, p.Identity(), patient, spawn.RungGone)

	p, child = family(t, spawntest.ModeBlock, "")
	stops(t, p.Identity(), patient, spawn.RungTerm)
	dead(t, child)
}

// A zombie that its parent does not reap counts as gone.
func TestStopZombie(t *testing.T) {
	t.Parallel()
	cmd := helperCmd(t, spawntest.ModeBlock)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	id := start(t, cmd)
	stops(t, id, patient, spawn.RungTerm)
	stops(t, id, patient, spawn.RungGone)
	if err := cmd.Wait(); err == nil {
		t.Error("ended without a signal")
	}
}

// A process that differs from the recorded one is never signalled: an earlier holder of the pid, a
// later one, one of another boot or session.
func TestStopRecycled(t *testing.T) {
	t.Parallel()
	p, child := family(t, spawntest.ModeBlock, ",stay")
	id := p.Identity()
	for name, other := range map[string]spawn.Identity{
		"earlier": withStart(t, id, -1),
		"zero":    {PID: id.PID, PGID: id.PGID, SID: id.SID, Start: "0", Boot: id.Boot},
		"later":   withStart(t, id, +1),
		"none":    {PID: id.PID, PGID: id.PGID, SID: id.SID, Boot: id.Boot},
		"boot":    {PID: id.PID, PGID: id.PGID, SID: id.SID, Start: id.Start, Boot: "another"},
	} {
		t.Run(name, func(t *testing.T) {
			stops(t, other, impatient, spawn.RungGone)
			if rung, err := spawn.StopTree(t.Context(), other, impatient); rung != spawn.RungGone || err != nil {
				t.Errorf("stop tree: %q, %v", rung, err)
			}
			alive(t, id, child)
		})
	}

	// The leader is gone, so only the members can be compared.
	p, child = family(t, spawntest.ModeBlock, "")
	id = p.Identity()
	session := id
	session.SID++
	stops(t, session, impatient, spawn.RungGone)
	alive(t, child)
	refuses(t, withStart(t, id, 1<<20)) // the member is older than that
	alive(t, child)
	member := id
	member.PID = child.PID // a process that was not the leader, and ended
	stops(t, withStart(t, member, -1), impatient, spawn.RungGone)
	alive(t, child)
	stops(t, id, patient, spawn.RungTerm)
}

func withStart(t *testing.T, id spawn.Identity, by int64) spawn.Identity {
	t.Helper()
	n, err := strconv.ParseInt(id.Start, 10, 64)
	testenv.Must(t, err)
	id.Start = strconv.FormatInt(n+by, 10)
	return id
}

// A process in the group of another one does not make that group ours: it is ended with its
// descendants, and no other process, also when it has a group of its own by now.
func TestStopMember(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{",stay", ",stay,setsid"} {
		p, child := family(t, spawntest.ModeBlock, flags)
		child.PGID = p.Identity().PGID // where it was when it was recorded
		stops(t, child, patient, spawn.RungTerm)
		dead(t, child)
		alive(t, p.Identity())
	}
	p, child := family(t, spawntest.ModeStubborn, ",stay")
	stops(t, child, impatient, spawn.RungKill)
	dead(t, child)
	alive(t, p.Identity())
}

func TestStopRefusesNumbers(t *testing.T) {
	t.Parallel()
	for _, id := range []spawn.Identity{
		{}, {PID: 1, PGID: 1}, {PID: 1, PGID: 4711}, {PID: 4711, PGID: 1}, {PID: 4711},
		{PID: 4711, PGID: -1}, {PID: -1, PGID: 4711}, {PID: 4711, PGID: -4711},
	} {
		id.Start, id.Boot = "1", "never" // no signal would be sent anyway
		refuses(t, id)
	}
}

// In processes of its own, so that a broken guard could only end these: this process, its parent
// and its grandparent, each the leader of its own group.
func TestStopRefusesOwn(t *testing.T) {
	t.Parallel()
	const generation = "WAGGLE_SPAWN_GENERATION"
	n, _ := strconv.Atoi(os.Getenv(generation))
	if n < 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStopRefusesOwn$")
		cmd.Env = append(os.Environ(), fmt.Sprint(generation, "=", n+1))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("generation %d: %v\n%s", n+1, err, out)
		}
		return
	}
	self := identify(t, os.Getpid())
	up, err := spawn.Ancestors(self.PID)
	if err != nil || len(up) < 3 {
		t.Fatalf("ancestors %+v, %v", up, err)
	}
	for _, id := range []spawn.Identity{self, up[0], up[1]} {
		if id.PID != id.PGID {
			t.Fatalf("%+v does not lead a group", id)
		}
		refuses(t, id)
	}
	// A child of this process that stayed in its group.
	cmd := helperCmd(t, spawntest.ModeBlock)
	child := start(t, cmd)
	refuses(t, child)
	alive(t, child)
	kill(t, child)
	if err := cmd.Wait(); err == nil {
		t.Error("the child was not killed")
	}
}

func TestStopContext(t *testing.T) {
	t.Parallel()
	p := ready(t, spawntest.ModeStubborn)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	hour := spawn.Grace{Term: time.Hour, Kill: time.Hour}
	if rung, err := spawn.Stop(ctx, p.Identity(), hour); rung != "" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop: %q, %v", rung, err)
	}
	alive(t, p.Identity())

	p = ready(t, spawntest.ModeBlock)
	if rung, err := spawn.Stop(ctx, p.Identity(), hour); rung != "" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop after the end of ctx: %q, %v", rung, err)
	}
	alive(t, p.Identity())
}

// A descendant in a session of its own outlives Stop and does not outlive
// StopTree, however its parents end.
func TestStopTree(t *testing.T) {
	t.Parallel()
	p, child := family(t, spawntest.ModeBlock, ",stay,setsid")
	stops(t, p.Identity(), patient, spawn.RungTerm)
	alive(t, child)

	for _, c := range []struct {
		child spawntest.Mode
		flags string
		g     spawn.Grace
		want  string
	}{
		{spawntest.ModeBlock, ",stay,setsid", patient, spawn.RungTerm},
		{spawntest.ModeBlock, ",stay,setsid,stubborn", impatient, spawn.RungKill},
		{spawntest.ModeBlock, ",stay", patient, spawn.RungTerm},
		{spawntest.ModeStubborn, ",stay,setsid", spawn.Grace{Term: 10 * time.Second, Kill: 200 * time.Millisecond}, spawn.RungKill},
	} {
		p, child := family(t, c.child, c.flags)
		var apart []int
		c.g.Apart = func(id spawn.Identity) { apart = append(apart, id.PID) }
		rung, err := spawn.StopTree(t.Context(), p.Identity(), c.g)
		if rung != c.want || err != nil {
			t.Errorf("%s%s: %q, %v; want %q", c.child, c.flags, rung, err, c.want)
		}
		if left := strings.Contains(c.flags, "setsid"); slices.Contains(apart, child.PID) != left || len(apart) > 1 {
			t.Errorf("%s%s: apart from its group were %v; its child is %d", c.child, c.flags, apart, child.PID)
		}
		dead(t, p.Identity(), child)
	}
}

func TestStopConcurrently(t *testing.T) {
	t.Parallel()
	p, child := family(t, spawntest.ModeStubborn, ",stay")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := spawn.Stop(t.Context(), p.Identity(), impatient); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	dead(t, p.Identity(), child)
}

// Fifty processes of a starter that was killed are all ended by those who read
// their records.
func TestOrphansOfKilledStarter(t *testing.T) {
	t.Parallel()
	const n = 50
	cmd, in, out := scenario(t, "starter")
	specs := make([]spawn.Spec, n)
	for i := range specs {
		specs[i] = spawntest.Spec(t, spawntest.ModeBlock)
	}
	testenv.Must(t, json.NewEncoder(in).Encode(specs))
	var ids []spawn.Identity
	testenv.Must(t, out.Decode(&ids))
	testenv.Must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	alive(t, ids...)
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Go(func() { stops(t, id, patient, spawn.RungTerm) })
	}
	wg.Wait()
	dead(t, ids...)
	if len(ids) != n {
		t.Errorf("%d of %d were started", len(ids), n)
	}
}

// TestStopByInput: the end of the input comes before SIGTERM. When it is enough no signal is sent;
// when it is not, or is not possible, the signals follow. A stopped process would not read it.
func TestStopByInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		mode    spawntest.Mode
		stopped bool
		input   func(id spawn.Identity) error
		rung    string
		told    int
	}{
		{"enough", spawntest.ModeStubborn, false, func(id spawn.Identity) error { return syscall.Kill(id.PID, syscall.SIGKILL) }, spawn.RungInput, 1},
		{"not enough", spawntest.ModeBlock, false, func(spawn.Identity) error { return nil }, spawn.RungTerm, 1},
		{"cannot be said", spawntest.ModeBlock, false, func(spawn.Identity) error { return errors.New("no terminal") }, spawn.RungTerm, 1},
		{"nor helps SIGTERM", spawntest.ModeStubborn, false, func(spawn.Identity) error { return nil }, spawn.RungKill, 1},
		{"stopped", spawntest.ModeBlock, true, func(spawn.Identity) error { return nil }, spawn.RungTerm, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := ready(t, c.mode)
			if c.stopped {
				testenv.Must(t, syscall.Kill(p.Identity().PID, syscall.SIGSTOP))
				spawntest.Await(t, "it is stopped", func() bool { l, _ := p.Identity().State(); return l == spawn.Stopped })
			}
			// The rung that is to end it has a minute; those before it have a moment.
			told, input, term := 0, 300*time.Millisecond, time.Minute
			switch c.rung {
			case spawn.RungInput:
				input = time.Minute
			case spawn.RungKill:
				term = 300 * time.Millisecond
			}
			g := spawn.Grace{InputWait: input, Term: term, Input: func(context.Context) error {
				told++
				return c.input(p.Identity())
			}}
			rung, err := spawn.StopTree(t.Context(), p.Identity(), g)
			if err != nil || rung != c.rung || told != c.told {
				t.Errorf("ended by %q, %v, told %d times; want %q, %d times", rung, err, told, c.rung, c.told)
			}
			if p.Identity().Alive() {
				t.Error("it runs")
			}
		})
	}
}

func TestHarder(t *testing.T) {
	t.Parallel()
	rungs := []string{"", spawn.RungGone, spawn.RungInput, spawn.RungTerm, spawn.RungKill}
	for i, a := range rungs {
		for j, b := range rungs {
			if got, want := spawn.Harder(a, b), rungs[max(i, j)]; got != want {
				t.Errorf("the harder of %q and %q is %q", a, b, got)
			}
		}
	}
}

// waiting waits for the end of a process beside the test.
func waiting(t *testing.T, id spawn.Identity) <-chan error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	seen := make(chan error, 1)
	go func() {
		defer cancel()
		err := spawn.WaitGone(ctx, id)
		if err == nil && id.Alive() {
			err = errors.New("it was told of while it ran")
		}
		seen <- err
	}()
	return seen
}

// The end of a process is seen by everybody who waits for it, soon, and not before
// it has come.
func TestWaitGone(t *testing.T) {
	t.Parallel()
	p := spawntest.Start(t, processBackend, spawntest.Spec(t, spawntest.ModeBlock))
	id := p.Identity()
	var waits []<-chan error
	for range 5 {
		waits = append(waits, waiting(t, id))
	}
	for _, w := range waits {
		select {
		case err := <-w:
			t.Fatalf("while it runs: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	kill(t, id)
	for _, w := range waits { // each ends by itself after a minute at the latest
		if err := <-w; err != nil {
			t.Error(err)
		}
	}
	if err := spawn.WaitGone(t.Context(), id); err != nil {
		t.Errorf("when it was gone already: %v", err)
	}
}

// A process that is not the parent notices the end too, also while the zombie is not reaped: a
// zombie does not run.
func TestWaitGoneZombie(t *testing.T) {
	t.Parallel()
	parent, child := family(t, spawntest.ModeBlock, ",stay")
	w := waiting(t, child)
	kill(t, child)
	if err := <-w; err != nil {
		t.Error(err)
	}
	if !parent.Identity().Alive() {
		t.Error("its parent ended too")
	}
}

// A later process with the same pid is not waited for.
func TestWaitGoneRecycled(t *testing.T) {
	t.Parallel()
	p := spawntest.Start(t, processBackend, spawntest.Spec(t, spawntest.ModeBlock))
	before := withStart(t, p.Identity(), -1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := spawn.WaitGone(ctx, before); err != nil {
		t.Error(err)
	}
	alive(t, p.Identity())
}

func TestWaitGoneContext(t *testing.T) {
	t.Parallel()
	p := spawntest.Start(t, processBackend, spawntest.Spec(t, spawntest.ModeBlock))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := spawn.WaitGone(ctx, p.Identity()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// WaitGone leaves no descriptor open, however it ends.
func TestWaitGoneCloses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts the entries of /proc/self/fd")
	}
	p := spawntest.Start(t, processBackend, spawntest.Spec(t, spawntest.ModeBlock))
	round := func() {
		var wg sync.WaitGroup
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			wg.Go(func() {
				defer cancel()
				_ = spawn.WaitGone(ctx, p.Identity())
			})
		}
		wg.Wait()
	}
	open := func() int {
		fds, err := filepath.Glob("/proc/self/fd/*")
		testenv.Must(t, err)
		n := 0
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && to == "anon_inode:[pidfd]" {
				n++
			}
		}
		return n
	}
	round()
	before := open()
	for range 5 {
		round()
	}
	if after := open(); after > before {
		t.Errorf("%d pidfds are open after the waits, %d before", after, before)
	}
}
