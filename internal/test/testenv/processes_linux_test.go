package testenv_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
)

// TestEndAll: what runs below a directory is found by an argument, by an argument behind "=", and by its
// working directory, and is gone afterwards with what it started; a process elsewhere, or in a directory
// whose name only begins the same, runs on.
func TestEndAll(t *testing.T) {
	sh := testenv.Require(t, "sh")
	base := t.TempDir()
	dir, beside := filepath.Join(base, "state"), filepath.Join(base, "state2")
	for _, d := range []string{dir, beside} {
		testenv.Must(t, os.MkdirAll(filepath.Join(d, "sub"), 0o700))
	}
	start := func(cwd string, args ...string) *exec.Cmd {
		cmd := exec.Command(sh, append([]string{"-c", "read line; :"}, args...)...)
		cmd.Dir = cwd
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		testenv.Must(t, err)
		t.Cleanup(func() { _, _ = in.Close(), cmd.Wait() }) // it was killed, or reads the end
		return cmd
	}
	found := []*exec.Cmd{start(base, filepath.Join(dir, "sub", "file")), start(base, "--state="+dir), start(filepath.Join(dir, "sub"))}
	other := start(beside, filepath.Join(beside, "file"))
	list := testenv.Processes(dir)
	for _, cmd := range found {
		if !slices.ContainsFunc(list, func(p testenv.Process) bool { return p.PID == cmd.Process.Pid }) {
			t.Errorf("%q is not in %v", cmd.Args, list)
		}
	}
	if len(list) != len(found) {
		t.Errorf("found %v", list)
	}
	testenv.EndAll(t, dir)
	if left := testenv.Processes(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	for _, cmd := range found {
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("%q: %v", cmd.Args, err)
		}
	}
	if left := testenv.Processes(beside); len(left) != 1 || left[0].PID != other.Process.Pid {
		t.Errorf("beside: %v", left)
	}
}

// TestOverdue: a test that waits for a process is stopped waiting, and fails.
func TestOverdue(t *testing.T) {
	sh := testenv.Require(t, "sh")
	dir := t.TempDir()
	failed := make(chan string, 1)
	cmd := exec.Command(sh, "-c", "(while :; do sleep 0.05; done) & wait")
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	testenv.Must(t, err)
	testenv.Overdue(errorsTo{t, failed}, 50*time.Millisecond, dir)
	_, _ = io.ReadAll(out) // until the last process that holds it has ended
	if err := cmd.Wait(); err == nil {
		t.Error("the process ended by itself")
	}
	if got := <-failed; !strings.Contains(got, "not over after 50ms") {
		t.Errorf("%q", got)
	}
}

// errorsTo is a testing.TB whose failure is what a test looks at.
type errorsTo struct {
	testing.TB
	failed chan string
}

func (e errorsTo) Errorf(format string, args ...any) { e.failed <- fmt.Sprintf(format, args...) }
