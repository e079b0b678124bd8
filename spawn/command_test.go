//go:build unix

package spawn_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waggle/internal/caught"
	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
)

// output collects what a command writes.
type output struct{ testenv.Buffer }

// ready waits for n helpers and returns who they are.
func (o *output) ready(t *testing.T, n int) map[spawntest.Mode]spawn.Identity {
	t.Helper()
	ids := map[spawntest.Mode]spawn.Identity{}
	spawntest.Await(t, "helpers to be ready", func() bool {
		return len(spawntest.ReadyIn([]byte(o.String()))) >= n
	})
	for mode, pid := range spawntest.ReadyIn([]byte(o.String())) {
		id := identify(t, pid)
		t.Cleanup(func() { kill(t, id) })
		ids[mode] = id
	}
	return ids
}

func helper(t *testing.T, out io.Writer, mode spawntest.Mode, args ...string) spawn.Command {
	t.Helper()
	argv, env := spawntest.Helper(t, mode, args...)
	return spawn.Command{Argv: argv, Env: env, Output: out, Grace: patient}
}

func runs(t *testing.T, c spawn.Command, want spawn.Exit) {
	t.Helper()
	got, err := c.Run(t.Context())
	if err != nil || got != want {
		t.Errorf("run %q: %+v, %v; want %+v", c.Env, got, err, want)
	}
}

// running starts c and returns a function that cancels its context and returns
// how it ended.
func running(t *testing.T, c spawn.Command) (cancel func() (spawn.Exit, error)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	type result struct {
		exit spawn.Exit
		err  error
	}
	done := make(chan result, 1)
	go func() {
		exit, err := c.Run(ctx)
		done <- result{exit, err}
	}()
	t.Cleanup(stop)
	return func() (spawn.Exit, error) {
		stop()
		select {
		case r := <-done:
			return r.exit, r.err
		case <-time.After(20 * time.Second):
			t.Error("Run did not return")
			return spawn.Exit{}, nil
		}
	}
}

func cancelled(t *testing.T, cancel func() (spawn.Exit, error)) {
	t.Helper()
	if _, err := cancel(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRunExit(t *testing.T) {
	t.Parallel()
	runs(t, helper(t, nil, spawntest.ModeExit, "0"), spawn.Exit{})
	runs(t, helper(t, nil, spawntest.ModeExit, "9"), spawn.Exit{Code: 9})
	var out bytes.Buffer
	runs(t, helper(t, &out, spawntest.ModeExit, "0"), spawn.Exit{})
	if out.Len() != 0 {
		t.Errorf("output %q", &out)
	}
}

func TestRunExactly(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := helper(t, &out, spawntest.ModeReport, "$HOME; *", "")
	c.Dir = t.TempDir()
	runs(t, c, spawn.Exit{})
	for _, want := range []string{"on stderr\n", `"Args":["$HOME; *",""]`, `"Env":["WAGGLE_SPAWNTEST=report"]`, filepath.Base(c.Dir)} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, &out)
		}
	}
}

// No variable of this process's environment is inherited, also when Env is empty.
func TestEmptyEnvironment(t *testing.T) {
	t.Parallel()
	env, err := exec.LookPath("env")
	if err != nil {
		t.Skip(err)
	}
	var out bytes.Buffer
	runs(t, spawn.Command{Argv: []string{env}, Output: &out}, spawn.Exit{})
	spec := spawn.Spec{Argv: []string{env}, Log: filepath.Join(t.TempDir(), "log")}
	spawntest.Wait(t, spawntest.Start(t, processBackend, spec))
	log, err := os.ReadFile(spec.Log)
	if err != nil || len(log)+out.Len() > 0 {
		t.Errorf("environment of a command %q, of a process %q, %v", &out, log, err)
	}
}

// All of the output arrives, far more than a pipe holds; output to a file is not copied.
func TestRunOutput(t *testing.T) {
	t.Parallel()
	const n = 3<<20 + 17
	var out bytes.Buffer
	runs(t, helper(t, &out, spawntest.ModeFlood, "3145745"), spawn.Exit{})
	if out.Len() != n {
		t.Errorf("%d bytes of %d", out.Len(), n)
	}
	runs(t, helper(t, nil, spawntest.ModeFlood, "3145745"), spawn.Exit{})

	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	testenv.Must(t, err)
	defer f.Close()
	runs(t, helper(t, f, spawntest.ModeFlood, "3145745"), spawn.Exit{})
	if fi, err := f.Stat(); err != nil || fi.Size() != n {
		t.Errorf("file of %d bytes, %v", fi.Size(), err)
	}
}

func TestRunStdin(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	runs(t, helper(t, &out, spawntest.ModeCat), spawn.Exit{})
	if out.Len() != 0 {
		t.Errorf("cat of nothing: %q", &out)
	}
	in := strings.Repeat("0123456789\n", 100_000)
	c := helper(t, &out, spawntest.ModeCat)
	c.Stdin = strings.NewReader(in)
	runs(t, c, spawn.Exit{})
	if out.String() != in {
		t.Errorf("cat of %d bytes gave %d", len(in), out.Len())
	}
	// A command that does not read it.
	c = helper(t, nil, spawntest.ModeExit, "4")
	c.Stdin = strings.NewReader(in)
	runs(t, c, spawn.Exit{Code: 4})
	// An input that never ends.
	r, w := io.Pipe()
	c.Stdin = r
	runs(t, c, spawn.Exit{Code: 4})
	w.Close()
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

// A writer that fails ends the command, which would otherwise block on a full pipe.
func TestRunOutputFails(t *testing.T) {
	t.Parallel()
	got, err := helper(t, full{}, spawntest.ModeFlood, "1000000000").Run(t.Context())
	if !errors.Is(err, errFull) || got != (spawn.Exit{Code: -1, Signal: "broken pipe"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

type falling struct{}

func (falling) Write([]byte) (int, error) { panic("out of ink") }

// A panic of the output writer ends the run, not the program.
func TestRunOutputPanics(t *testing.T) {
	t.Parallel()
	if _, err := helper(t, falling{}, spawntest.ModeFlood, "1000").Run(t.Context()); caught.Of(err) == nil {
		t.Errorf("%v", err)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	good := helper(t, nil, spawntest.ModeExit, "0")
	for says, change := range map[string]func(*spawn.Command){ // each names the directory too
		"no program":                     func(c *spawn.Command) { c.Argv = nil },
		"no such file":                   func(c *spawn.Command) { c.Argv = []string{c.Argv[0] + ".none"} },
		"in the PATH of the new process": func(c *spawn.Command) { c.Argv, c.Env = []string{"sh"}, []string{"PATH=/none"} },
		"working directory: ":            func(c *spawn.Command) { c.Dir = "/none" },
		"is not a directory":             func(c *spawn.Command) { c.Dir = c.Argv[0] },
	} {
		c := good
		change(&c)
		if got, err := c.Run(t.Context()); err == nil || got.Code != -1 || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), c.Dir) {
			t.Errorf("%s: %+v, %v", says, got, err)
		}
	}
	c := good
	c.Argv = []string{"no-such-program"}
	if _, err := c.Run(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing program: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := good.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestRunCancel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode  spawntest.Mode
		grace spawn.Grace
		want  spawn.Exit
		last  string
	}{
		{spawntest.ModeBlock, patient, spawn.Exit{Code: -1, Signal: "terminated"}, ""},
		{spawntest.ModePolite, patient, spawn.Exit{Code: 3}, "bye\n"},
		{spawntest.ModeStubborn, impatient, spawn.Exit{Code: -1, Signal: "killed"}, ""},
	} {
		var out output
		cmd := helper(t, &out, c.mode)
		cmd.Grace = c.grace
		cancel := running(t, cmd)
		id := out.ready(t, 1)[c.mode]
		got, err := cancel()
		if got != c.want || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %+v, %v", c.mode, got, err)
		}
		dead(t, id)
		if !strings.HasSuffix(out.String(), c.last) {
			t.Errorf("%s: output %q", c.mode, out.String())
		}
	}
}

// A grandchild that keeps the pipe and ignores SIGTERM is waited for, and ended
// with the context. The status is that of the child, which had ended before.
func TestRunGrandchild(t *testing.T) {
	t.Parallel()
	var out output
	c := helper(t, &out, spawntest.ModeParent, "stubborn")
	c.Grace = impatient
	cancel := running(t, c)
	id := out.ready(t, 1)[spawntest.ModeStubborn]
	spawntest.Await(t, "the parent to end", func() bool {
		ppid, err := spawn.Parent(id.PID)
		return err == nil && ppid != id.PGID
	})
	alive(t, id)
	got, err := cancel()
	if got != (spawn.Exit{}) || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", got, err)
	}
	dead(t, id)

	// A process without the pipe is waited for as well: it is in the group.
	out = output{}
	c = helper(t, &out, spawntest.ModeParent, "block,silent")
	cancel = running(t, c)
	id = out.ready(t, 1)[spawntest.ModeBlock]
	cancelled(t, cancel)
	dead(t, id)
}

func TestRunLinger(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"", ",silent"} {
		var out output
		c := helper(t, &out, spawntest.ModeParent, "block"+flags)
		c.Linger = 100 * time.Millisecond
		runs(t, c, spawn.Exit{})
		for mode, pid := range spawntest.ReadyIn([]byte(out.String())) {
			if _, err := spawn.Identify(pid); !errors.Is(err, spawn.ErrGone) {
				spawntest.Await(t, string(mode)+" to be gone", func() bool {
					id, err := spawn.Identify(pid)
					return err != nil || !id.Alive()
				})
			}
		}
	}
	// Linger does not cut a command short.
	var out output
	c := helper(t, &out, spawntest.ModeBlock)
	c.Linger = time.Millisecond
	cancel := running(t, c)
	alive(t, out.ready(t, 1)[spawntest.ModeBlock])
	if got, err := cancel(); got.Signal != "terminated" || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A process of another session is not the command's any more unless Reap says
// so, but it cannot hold Run by the pipe it kept.
func TestRunOtherSession(t *testing.T) {
	t.Parallel()
	var out output
	cancel := running(t, helper(t, &out, spawntest.ModeParent, "block,stay,setsid"))
	id := out.ready(t, 2)[spawntest.ModeBlock]
	cancelled(t, cancel)
	alive(t, id)

	// While its parents live it is found without a mark.
	for _, child := range []spawntest.Mode{spawntest.ModeBlock, spawntest.ModeStubborn} {
		out := output{}
		c := helper(t, &out, spawntest.ModeParent, string(child)+",stay,setsid,clean")
		c.Reap = true
		if child == spawntest.ModeStubborn {
			c.Grace.Term = 200 * time.Millisecond
		}
		cancel = running(t, c)
		id = out.ready(t, 2)[child]
		cancelled(t, cancel)
		dead(t, id)
	}
}

func TestRunConcurrently(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 20 {
		var out bytes.Buffer
		c := helper(t, &out, spawntest.ModeFlood, "200000")
		wg.Go(func() {
			if got, err := c.Run(t.Context()); err != nil || got.Code != 0 || out.Len() != 200000 {
				t.Errorf("%+v, %v, %d bytes", got, err, out.Len())
			}
		})
	}
	wg.Wait()
}

// slowWriter takes its time for each piece, longer than the command lives.
type slowWriter struct{ got atomic.Int64 }

func (w *slowWriter) Write(b []byte) (int, error) {
	time.Sleep(300 * time.Millisecond) // real clock: the command's, which has ended by then
	w.got.Add(int64(len(b)))
	return len(b), nil
}

// TestRunWaitsForOutput: Run returns when the output was written, not when its command
// has ended.
func TestRunWaitsForOutput(t *testing.T) {
	t.Parallel()
	for _, linger := range []time.Duration{0, time.Millisecond} { // for ever; over before the output is
		var w slowWriter
		exit, err := spawn.Command{Argv: []string{"/bin/sh", "-c", "echo hello"}, Output: &w, Linger: linger}.Run(t.Context())
		if got := w.got.Load(); got != 6 || exit.Code != 0 || err != nil {
			t.Errorf("linger %s: %d bytes of 6 when Run returned: %+v, %v", linger, got, exit, err)
		}
	}
}

// TestRunErrors: stderr goes to a file of its own, and stays out of the output.
func TestRunErrors(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "errors"))
	testenv.Must(t, err)
	defer f.Close()
	var out strings.Builder
	_, err = spawn.Command{Argv: []string{"/bin/sh", "-c", "echo a; echo b >&2"}, Output: &out, Errors: f}.Run(t.Context())
	testenv.Must(t, err)
	if errs, err := os.ReadFile(f.Name()); err != nil || string(errs) != "b\n" || out.String() != "a\n" {
		t.Errorf("output %q, errors %q, %v", out.String(), errs, err)
	}
}
