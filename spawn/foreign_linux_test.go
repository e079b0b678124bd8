package spawn_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"waggle/spawn"
	"waggle/spawn/spawntest"
)

// A marked process below a process without the mark is foreign as long as that one runs. It is ours
// when that one has ended, or is recorded.
func TestMarkedBelowAnother(t *testing.T) {
	t.Parallel()
	owner := fmt.Sprintf("foreign-%d/ann", os.Getpid())
	// An unmarked shell that starts a marked one, which starts a third.
	cmd := exec.Command("/bin/sh", "-c", spawn.MemberMark(owner)+` sh -c 'sleep 300 & echo $! $$; wait' & wait`)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	var ids []spawn.Identity
	for _, f := range strings.Fields(line) {
		pid, err := strconv.Atoi(f)
		must(t, err)
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
	must(t, cmd.Process.Kill())
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
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	must(t, err)
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
