package spawn_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
)

// The pids in the marks of another namespace mean other processes here: no process of a container
// is an orphan.
func TestOrphansOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	unshare := testenv.Require(t, "unshare")
	if err := exec.Command(unshare, "-rpf", "--mount-proc", "true").Run(); err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	owner := fmt.Sprintf("namespace-%d/ann", os.Getpid())
	argv, env := spawntest.Helper(t, spawntest.ModeBlock)
	env = append(env, "WAGGLE_COMMAND=2.1.1", spawn.MemberMark(owner))
	dir := t.TempDir()
	out, in := dir+"/out.log", dir+"/in.log"
	spawntest.Start(t, processBackend, spawn.Spec{Argv: argv, Env: env, Log: out})
	// kill-child: the namespace ends with the process that we end.
	spawntest.Start(t, processBackend, spawn.Spec{Argv: append([]string{unshare, "-rpf", "--kill-child", "--mount-proc"}, argv...), Env: env, Log: in})
	spawntest.Ready(t, in, 1)
	here := spawntest.Ready(t, out, 1)[spawntest.ModeBlock]
	found, err := spawn.Orphans()
	testenv.Must(t, err)
	found = slices.DeleteFunc(found, func(m spawn.Marked) bool { return m.Owner != owner })
	seen := false
	for _, m := range found {
		exe, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", m.ID.PID))
		testenv.Must(t, err)
		seen = seen || m.ID.PID == here
		if m.ID.PID != here && string(exe[:len(argv[0])]) == argv[0] {
			t.Errorf("%+v is in another namespace", m)
		}
	}
	if !seen {
		t.Error("the one of this namespace was not found")
	}
}

// A marked process below a process without the mark is foreign as long as that one runs. It is ours
// when that one has ended, or is recorded.
func TestMarkedBelowAnother(t *testing.T) {
	t.Parallel()
	owner := fmt.Sprintf("foreign-%d/ann", os.Getpid())
	// An unmarked shell that starts a marked one, which starts a third.
	cmd := exec.Command("/bin/sh", "-c", spawn.MemberMark(owner)+` sh -c 'sleep 300 & echo $! $$; wait' & wait`)
	out, err := cmd.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	testenv.Must(t, err)
	var ids []spawn.Identity
	for _, f := range strings.Fields(line) {
		pid, err := strconv.Atoi(f)
		testenv.Must(t, err)
		id := identify(t, pid)
		ids = append(ids, id)
		t.Cleanup(func() { kill(t, id) })
	}
	shell := identify(t, cmd.Process.Pid)
	look := func() (found []spawn.Marked) {
		t.Helper()
		spawntest.Await(t, "both are there", func() bool {
			if found, err = spawn.AllMarked(); err != nil {
				t.Fatal(err)
			}
			found = slices.DeleteFunc(found, func(m spawn.Marked) bool { return m.Owner != owner })
			return len(found) == 2 && slices.ContainsFunc(found, func(m spawn.Marked) bool { return slices.Equal(m.Argv, []string{"sleep", "300"}) })
		})
		return found
	}
	for _, m := range look() {
		if m.Foreign != shell || m.Ours() || m.Ours(ids...) && m.ID == ids[1] {
			t.Errorf("%d %q lives below %+v, ours: %v", m.ID.PID, m.Argv, m.Foreign, m.Ours())
		}
		if !m.Ours(shell) {
			t.Errorf("%d is not ours below a process on record", m.ID.PID)
		}
	}
	testenv.Must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for _, m := range look() {
		if !m.Ours() {
			t.Errorf("%d %q is not ours after its parent %+v has ended", m.ID.PID, m.Argv, m.Foreign)
		}
	}
}

// An orphan that was given to a subreaper above this program is ours. A child of that subreaper
// that another program started there cannot be distinguished from one.
func TestMarkedBelowASubreaper(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	// Below: this test again, without being a subreaper itself.
	if os.Getenv("WAGGLE_BELOW") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBelowASubreaper$", "-test.v")
		cmd.Env = append(os.Environ(), "WAGGLE_BELOW=1", "WAGGLE_SPAWN_ISOLATED=")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestBelowASubreaper") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestBelowASubreaper is run by TestMarkedBelowASubreaper.
func TestBelowASubreaper(t *testing.T) {
	t.Parallel()
	if os.Getenv("WAGGLE_BELOW") == "" {
		t.Skip("only below a subreaper")
	}
	owner := fmt.Sprintf("below-%d/ann", os.Getpid())
	cmd := exec.Command("/bin/sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!")
	cmd.Env = append(os.Environ(), spawn.MemberMark(owner))
	out, err := cmd.Output()
	testenv.Must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	testenv.Must(t, err)
	id := identify(t, pid)
	t.Cleanup(func() { kill(t, id) })
	if parent, err := spawn.Parent(pid); err != nil || parent != os.Getppid() {
		t.Fatalf("its parent is %d, %v; want the subreaper %d", parent, err, os.Getppid())
	}
	var found []spawn.Marked
	spawntest.Await(t, "it is found", func() bool {
		if found, err = spawn.AllMarked(); err != nil {
			t.Fatal(err)
		}
		found = slices.DeleteFunc(found, func(m spawn.Marked) bool { return m.Owner != owner })
		return len(found) == 1
	})
	if !found[0].Ours() {
		t.Errorf("%+v", found[0])
	}
}

// isolated runs the test that calls it in a process of its own, since there is no
// way back from being a subreaper. It returns true there.
func isolated(t *testing.T) bool {
	t.Helper()
	const env = "WAGGLE_SPAWN_ISOLATED"
	if os.Getenv(env) != "" {
		testenv.Must(t, spawn.Subreaper())
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), env+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// orphan starts a helper, in a session of its own, whose parent ends.
func orphan(t *testing.T, mode spawntest.Mode) spawn.Identity {
	t.Helper()
	spec := spawntest.Spec(t, spawntest.ModeParent, string(mode)+",setsid")
	spawntest.Wait(t, spawntest.Start(t, processBackend, spec))
	id := identify(t, spawntest.Ready(t, spec.Log, 1)[mode])
	t.Cleanup(func() { kill(t, id) })
	return id
}

func reaps(t *testing.T, want int) {
	t.Helper()
	if n, err := spawn.ReapOrphans(); n != want || err != nil {
		t.Errorf("reaped %d, %v; want %d", n, err, want)
	}
}

// Orphans become children of the subreaper, have it among their ancestors, and are reaped by it; a
// child that will be waited for is not.
func TestReapOrphans(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	waited := helperCmd(t, spawntest.ModeExit, "7")
	child := start(t, waited)
	released := helperCmd(t, spawntest.ModeExit, "7")
	dropped := start(t, released)
	testenv.Must(t, released.Process.Release())
	spawntest.Await(t, "the children to be zombies", func() bool { return !child.Alive() && !dropped.Alive() })
	reaps(t, 1) // the process that can be waited for no longer

	id := orphan(t, spawntest.ModeBlock)
	self := identify(t, os.Getpid())
	if up, err := spawn.Ancestors(id.PID); err != nil || !slices.Contains(up, self) {
		t.Errorf("ancestors of an orphan: %+v, %v", up, err)
	}
	reaps(t, 0)
	alive(t, id)
	kill(t, id)
	if _, err := spawn.Identify(id.PID); err != nil {
		t.Errorf("the orphan was reaped by somebody else: %v", err)
	}
	reaps(t, 1)
	if _, err := spawn.Identify(id.PID); !errors.Is(err, spawn.ErrGone) {
		t.Errorf("reaped, but %v", err)
	}

	reaps(t, 0)
	var status *exec.ExitError
	if err := waited.Wait(); !errors.As(err, &status) || status.ExitCode() != 7 {
		t.Errorf("the status was stolen: %v", err)
	}
}

// TestReapOrphansCost: while no child has ended, the table of processes is not read.
func TestReapOrphansCost(t *testing.T) {
	if !isolated(t) {
		return
	}
	child := helperCmd(t, spawntest.ModeBlock)
	start(t, child)
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	if n := testing.AllocsPerRun(20, func() { reaps(t, 0) }); n > 10 {
		t.Errorf("a look that finds nothing makes %v allocations: it reads the table of processes", n)
	}
}

// No command loses its status while orphans are reaped all the time.
func TestReapOrphansBesideCommands(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := spawn.ReapOrphans(); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for i := range 30 {
		cmd := helperCmd(t, spawntest.ModeExit, fmt.Sprint(i))
		err := cmd.Run()
		if i > 0 && !errors.As(err, new(*exec.ExitError)) || i == 0 && err != nil || cmd.ProcessState.ExitCode() != i {
			t.Errorf("exit %d: %v", i, err)
		}
	}
	close(stop)
	<-done
}

// Reap ends the daemons of its own command and reaps them: not those of another
// command that runs at the same time, nor orphans of other origin.
func TestRunReap(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	stranger := orphan(t, spawntest.ModeBlock)

	var other output
	c := helper(t, &other, spawntest.ModeParent, "block,setsid")
	cancelOther := running(t, c) // without Reap: it waits for the pipe
	neighbour := other.ready(t, 1)[spawntest.ModeBlock]

	var held output
	c = helper(t, &held, spawntest.ModeParent, "block,stay,setsid")
	c.Reap = true
	cancelHeld := running(t, c)
	held.ready(t, 2)

	for _, child := range []string{"block,setsid", "stubborn,setsid,silent", "parent,setsid block,setsid"} {
		var out output
		c := helper(t, &out, spawntest.ModeParent, strings.Fields(child)...)
		c.Grace = impatient
		c.Reap = true
		runs(t, c, spawn.Exit{})
		for mode, pid := range spawntest.ReadyIn([]byte(out.String())) {
			if _, err := spawn.Identify(pid); !errors.Is(err, spawn.ErrGone) {
				t.Errorf("%s: %s %d is left: %v", child, mode, pid, err)
			}
		}
		below, err := spawn.Descendants(os.Getpid())
		if err != nil || len(below) != 4 {
			t.Errorf("%s: %d processes left, not 4: %+v, %v", child, len(below), below, err)
		}
	}
	alive(t, stranger, neighbour)
	cancelled(t, cancelHeld)
	cancelled(t, cancelOther)
	alive(t, stranger, neighbour)
}
