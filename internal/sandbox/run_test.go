//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/sandbox"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

func TestRunExit(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct {
		argv []string
		want spawn.Exit
		err  error
	}{
		{[]string{"true"}, spawn.Exit{}, nil},
		{[]string{"sh", "-c", "exit 3"}, spawn.Exit{Code: 3}, nil},
		{[]string{"sh", "-c", "exit 137"}, spawn.Exit{Code: 137}, nil},
		{[]string{"sh", "-c", "kill -9 $$"}, spawn.Exit{Code: -1, Signal: "killed"}, nil},
		{[]string{"sh", "-c", "kill -TERM $$"}, spawn.Exit{Code: -1, Signal: "terminated"}, nil},
	} {
		got := w.inside(tc.argv...)
		if got.Exit != tc.want || !errors.Is(got.Err, tc.err) {
			t.Errorf("%q: %v, want %+v and %v", tc.argv, got, tc.want, tc.err)
		}
	}
}

// A command that does not exist is an error, as without a sandbox.
func TestRunNotFound(t *testing.T) {
	w := newWorld(t)
	got := w.inside("there-is-no-such-program")
	if got.Err == nil || errors.Is(got.Err, sandbox.ErrSetup) || got.Exit != (spawn.Exit{Code: -1}) || !strings.Contains(got.Err.Error(), "there-is-no-such-program") {
		t.Errorf("%v", got)
	}
}

// An operation that a member may do works as outside.
func TestRunWorks(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct{ name, script, want string }{
		{"write in the checkout", "echo hi > new.txt && cat new.txt", "hi"},
		{"write an artifact", "echo hi > " + w.Task + "/artifacts/a && cat " + w.Task + "/artifacts/a", "hi"},
		{"write to TMPDIR", "echo hi > $TMPDIR/x && cat /tmp/x", "hi"},
		{"read elsewhere", "cat " + w.Home + "/notes.txt", "notes"},
		{"devices", "head -c 3 /dev/urandom | wc -c; echo x > /dev/null; echo y >/dev/stderr", "3"},
		{"shared memory", "echo z > /dev/shm/z && cat /dev/shm/z", "z"},
		{"rename across directories", "mkdir a b && echo q > a/f && mv a/f b/f && cat b/f", "q"},
		{"pipes and jobs", "(sleep 0.01; echo later) & wait; echo done", "done"},
		{"loopback inside", "ls /sys/class/net", "lo"},
		{"stdin is empty", "cat; echo end", "end"},
	} {
		if got := w.inside("sh", "-c", tc.script); got.Exit.Code != 0 || !strings.Contains(got.Out, tc.want) {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
	if _, err := os.Stat(filepath.Join(w.Work, "new.txt")); err != nil {
		t.Errorf("what was written is not there: %v", err)
	}
}

// A command gets SIGTERM and time to end; a command that ignores it is killed.
func TestRunEnds(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct{ name, script, out string }{
		{"listens", `trap 'echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.05; done`, "cleaned"},
		{"does not", `trap '' TERM; echo ready; while :; do sleep 0.05; done`, "ready"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		out := &testenv.Buffer{}
		go func() {
			for !strings.Contains(out.String(), "ready") && ctx.Err() == nil {
				time.Sleep(time.Millisecond) // real clock: the command writes when it is ready
			}
			cancel()
		}()
		_, err := w.sb.Run(ctx, spawn.Command{Argv: []string{"sh", "-c", tc.script}, Dir: w.Work, Env: append(testenv.Race(), "PATH=/usr/bin:/bin"), Output: out,
			Grace: spawn.Grace{Term: 500 * time.Millisecond}})
		cancel()
		if !errors.Is(err, context.Canceled) || !strings.Contains(out.String(), tc.out) {
			t.Errorf("%s: %v, output %q", tc.name, err, out.String())
		}
	}
}

// A command can neither end nor stop the relay, by no signal to its process or to one of its threads.
func TestRunKillsRelay(t *testing.T) {
	w := newWorld(t)
	got := w.inside("sh", "-c", `for p in 1 -1 $PPID $(ls /proc/1/task); do
	for s in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 19 20 21 22 24 25 26 29 30 31 34 64; do
		trap '' $s
		kill -$s $p 2>/dev/null
	done
done
echo lives; exit 5`)
	if got.Err != nil || got.Exit.Code != 5 || !strings.HasSuffix(got.Out, "lives\n") {
		t.Errorf("%v", got)
	}
}

// A relay that somebody outside kills ends the command with it, which is "killed" and has no exit status.
func TestRunRelayKilled(t *testing.T) {
	w := newWorld(t)
	first := make(chan int, 1)
	out := &testenv.Buffer{}
	go func() {
		of := <-first
		testenv.WaitFor(time.Minute, func() bool { return strings.Contains(out.String(), "ready") })
		relay, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", of, of))
		pid, aerr := strconv.Atoi(strings.TrimSpace(string(relay)))
		if err = errors.Join(err, aerr); err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Error(err)
		}
	}()
	exit, err := w.sb.Run(t.Context(), spawn.Command{Argv: []string{"sh", "-c", "echo ready; sleep 20"}, Dir: w.Work, Env: append(testenv.Race(), "PATH=/usr/bin:/bin"), Output: out,
		Started: func(id spawn.Identity) { first <- id.PID }})
	if err != nil || exit != (spawn.Exit{Code: -1, Signal: "killed"}) {
		t.Errorf("%+v, %v", exit, err)
	}
}

// Processes that a command has started and left are reaped when they end, while the command runs.
func TestRunReaps(t *testing.T) {
	w := newWorld(t)
	got := w.inside("sh", "-c", `for i in 1 2 3 4 5 6 7 8; do (sh -c 'kill -9 $$' & ) ; done
for try in $(seq 100); do grep -qs '^State:.Z' /proc/[0-9]*/status || { echo none; exit 5; }; sleep 0.1; done`)
	if got.Err != nil || got.Exit.Code != 5 || !strings.HasSuffix(got.Out, "none\n") {
		t.Errorf("%v", got)
	}
}

func TestRunSetup(t *testing.T) {
	w := newWorld(t)
	w.sb.Profile.Writable = append(w.sb.Profile.Writable, w.Base+"/is-not-there")
	if got := w.inside("true"); !errors.Is(got.Err, sandbox.ErrSetup) {
		t.Errorf("a writable directory is missing: %v", got)
	}
}

// A path that is to be hidden may vanish while the sandbox is built: the sandbox is built again, a few
// times.
func TestRunBuildsAgain(t *testing.T) {
	for _, tc := range []struct {
		name   string
		failed int
		ran    bool
	}{{"once", 1, true}, {"seven times", 7, true}, {"always", 99, false}} {
		w := newWorld(t)
		count := filepath.Join(w.Base, "builds")
		bwrap := filepath.Join(w.Base, "bwrap")
		testenv.Must(t, testenv.Executable(bwrap, fmt.Appendf(nil, "#!/bin/sh\necho x >> %s\n[ $(wc -l < %s) -gt %d ] || { echo no $(wc -l < %s); exit 1; }\nexec %s \"$@\"\n", count, count, tc.failed, count, w.sb.Kit.Bwrap)))
		w.sb.Kit.Bwrap = bwrap
		got := w.inside("echo", "yes")
		want := "yes\n"
		if !tc.ran {
			want = "no 8\n" // of the last one
		}
		if got.Out != want {
			t.Errorf("%s: output %q, want %q", tc.name, got.Out, want)
		}
		if ran := got.Err == nil && got.Exit.Code == 0; ran != tc.ran || !ran && !errors.Is(got.Err, sandbox.ErrSetup) {
			t.Errorf("%s: %v", tc.name, got)
		}
		testenv.Must(t, os.Remove(count))
		if points, err := w.sb.Test(t.Context(), w.Work); passed(points) != tc.ran || (err == nil) != tc.ran {
			t.Errorf("%s: self-test: %v, %v", tc.name, points, err)
		}
	}
}

// A caller that keeps the process itself has separate pipes, and gets the Exit.
func TestRunPrepare(t *testing.T) {
	w := newWorld(t)
	r, err := w.sb.Prepare(spawn.Command{Argv: []string{"sh", "-c", "read -r a; echo out $a; echo err >&2; exit 5"}, Dir: w.Work, Env: append(testenv.Race(), "PATH=/usr/bin:/bin")})
	testenv.Must(t, err)
	var out, errs strings.Builder
	cmd := exec.Command(r.Argv[0], r.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = r.Env, w.Work, strings.NewReader("x\n"), &out, &errs
	runErr := cmd.Run()
	exit, err := r.Close()
	if err != nil || exit == nil || exit.Code != 5 || out.String() != "out x\n" || errs.String() != "err\n" {
		t.Errorf("%v %v %v: %q %q", runErr, exit, err, &out, &errs)
	}
	// A Prepared that is never started is closed too.
	r, err = w.sb.Prepare(spawn.Command{Argv: []string{"true"}, Dir: w.Work})
	testenv.Must(t, err)
	if _, err := r.Close(); !errors.Is(err, sandbox.ErrSetup) {
		t.Errorf("never started: %v", err)
	}
	if left, _ := filepath.Glob(w.sb.Kit.Dir + "/d*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
