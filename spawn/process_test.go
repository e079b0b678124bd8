//go:build unix

package spawn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
)

func init() { scenarios["starter"] = starter }

// starter is a scenario: it starts the specs on its stdin, writes the identities,
// and waits to be killed.
func starter() error {
	var specs []spawn.Spec
	if err := json.NewDecoder(os.Stdin).Decode(&specs); err != nil {
		return err
	}
	var ids []spawn.Identity
	for _, spec := range specs {
		p, err := processBackend.Start(context.Background(), spec)
		if err != nil {
			return err
		}
		ids = append(ids, p.Identity())
	}
	if err := json.NewEncoder(os.Stdout).Encode(ids); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// scenario starts one of the scenarios, with pipes to talk to it.
func scenario(t *testing.T, name string) (cmd *exec.Cmd, in io.WriteCloser, out *json.Decoder) {
	t.Helper()
	exe, err := os.Executable()
	testenv.Must(t, err)
	cmd = exec.Command(exe)
	cmd.Env = append(testenv.Race(), scenarioEnv+"="+name)
	cmd.Stderr = os.Stderr
	if in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r, err := cmd.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, cmd.Start())
	return cmd, in, json.NewDecoder(r)
}

// A process survives a starter that is killed, continues to write its log, and can be ended by any
// process that has its identity.
func TestSurvivesStarter(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "go")
	spec := spawntest.Spec(t, spawntest.ModeFollow, file)
	cmd, in, out := scenario(t, "starter")
	testenv.Must(t, json.NewEncoder(in).Encode([]spawn.Spec{spec}))
	var ids []spawn.Identity
	if err := out.Decode(&ids); err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	id := ids[0]
	defer spawntest.End(t, id)
	spawntest.Ready(t, spec.Log, 1)
	testenv.Must(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Fatal("the starter was not killed")
	}
	if !id.Alive() {
		t.Fatal("the process ended with its starter")
	}
	testenv.Must(t, os.WriteFile(file, nil, 0o600))
	spawntest.Await(t, "the log to go on", func() bool {
		b, err := os.ReadFile(spec.Log)
		return err == nil && strings.HasSuffix(string(b), "seen\n")
	})
	if rung, err := spawn.Stop(t.Context(), id, spawn.Grace{}); err != nil || rung != spawn.RungTerm {
		t.Errorf("stop: %q, %v", rung, err)
	}
	if id.Alive() {
		t.Error("alive after Stop")
	}
}

// A file that an agent put in place of its log is refused and not changed.
func TestPlantedLog(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(victim, log string) error{
		"symlink":  os.Symlink,
		"hardlink": os.Link,
		"fifo":     func(_, log string) error { return syscall.Mkfifo(log, 0o600) },
		"dangling": func(_, log string) error { return os.Symlink(log+".none", log) },
	} {
		spec := spawntest.Spec(t, spawntest.ModeReport)
		victim := filepath.Join(t.TempDir(), "victim")
		testenv.Must(t, os.WriteFile(victim, []byte("keep"), 0o640))
		testenv.Must(t, plant(victim, spec.Log))
		if p, err := processBackend.Start(t.Context(), spec); err == nil {
			t.Errorf("%s: started", name)
			spawntest.Wait(t, p)
		}
		b, err := os.ReadFile(victim)
		if err != nil || string(b) != "keep" {
			t.Errorf("%s: target holds %q, %v", name, b, err)
		}
		if fi, err := os.Stat(victim); err != nil || fi.Mode() != 0o640 {
			t.Errorf("%s: target has mode %v, %v", name, fi.Mode(), err)
		}
		if _, err := os.Stat(spec.Log + ".none"); err == nil {
			t.Errorf("%s: a file was made elsewhere", name)
		}
	}
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "tool")
	testenv.Must(t, testenv.Executable(tool, nil))
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "text"), nil, 0o600))
	t.Chdir(dir)
	for _, c := range []struct {
		name, want string
		env        []string
	}{
		{"tool", tool, []string{"PATH=/none:" + dir}},
		{"tool", tool, []string{"PATH=/none", "PATH=" + dir}},
		{"tool", "", []string{"PATH=" + dir, "PATH=/none"}},
		{"tool", "", []string{"PATH=.:" + filepath.Base(dir) + "::"}},
		{"tool", "", []string{"PATH=../" + filepath.Base(dir)}},
		{"tool", "", nil},
		{"text", "", []string{"PATH=" + dir}},
		{"./tool", "./tool", nil},
		{"/x/tool", "/x/tool", nil},
	} {
		got, err := spawn.LookPath(c.name, c.env)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("LookPath(%q, %q) = %q, %v; want %q", c.name, c.env, got, err, c.want)
		}
	}
}

// hasState waits until a process has a state.
func hasState(t *testing.T, id spawn.Identity, want spawn.State) {
	t.Helper()
	var got spawn.State
	var err error
	testenv.Eventually(t, fmt.Sprintf("the process is %q", want), func() bool { got, err = id.State(); return got == want && err == nil },
		func() string { return fmt.Sprintf("it is %q, %v", got, err) })
}

// State distinguishes a stopped process from one that runs and from one that is gone; a stopped
// process is alive.
func TestLife(t *testing.T) {
	t.Parallel()
	cmd := helperCmd(t, spawntest.ModeBlock)
	id := start(t, cmd)
	hasState(t, id, spawn.Running)
	for _, step := range []struct {
		signal syscall.Signal
		want   spawn.State
	}{{syscall.SIGSTOP, spawn.Stopped}, {syscall.SIGCONT, spawn.Running}, {syscall.SIGSTOP, spawn.Stopped}, {syscall.SIGKILL, spawn.Gone}} {
		testenv.Must(t, cmd.Process.Signal(step.signal))
		hasState(t, id, step.want)
		if id.Alive() != (step.want != spawn.Gone) {
			t.Errorf("after %s alive is %v", step.signal, id.Alive())
		}
	}
	_ = cmd.Wait()
	hasState(t, id, spawn.Gone)
}

// No call ends a process that another program started.
func TestTheirsIsNotEnded(t *testing.T) {
	t.Parallel()
	cmd := helperCmd(t, spawntest.ModeBlock)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	id := start(t, cmd)
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	id.Theirs = true
	refuses(t, id)
	hasState(t, id, spawn.Running)
	gone := spawn.Identity{PID: os.Getpid(), PGID: os.Getpid(), Start: "1", Boot: id.Boot, Theirs: true}
	if rung, err := spawn.StopTree(t.Context(), gone, spawn.Grace{}); rung != spawn.RungGone || err != nil {
		t.Errorf("one that is gone: %q, %v", rung, err)
	}
}

// TestGroupOf: a process that leads a group is the group; when it is gone there is none. A start
// that is no number is an error, and not a group that is gone: nobody may act on it.
func TestGroupOf(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	testenv.Must(t, cmd.Start())
	id, err := spawn.Identify(cmd.Process.Pid)
	if err != nil {
		t.Error(err)
	}
	group, err := spawn.GroupOf(id)
	if err != nil || len(group) != 1 || group[0] != id {
		t.Errorf("%v, %v; want %v", group, err, id)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	if group, err := spawn.GroupOf(id); err != nil || len(group) != 0 {
		t.Errorf("gone: %v, %v", group, err)
	}
	id.Start = "soon"
	if group, err := spawn.GroupOf(id); err == nil || len(group) != 0 || !strings.Contains(err.Error(), "start time of process") {
		t.Errorf("a start that is none: %v, %v", group, err)
	}
}

// TestOpenLog: a process that can write a log's directory does not choose which file OpenLog opens,
// nor which directory.
func TestOpenLog(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	secret := filepath.Join(elsewhere, "output.log")
	testenv.Must(t, os.WriteFile(secret, []byte("secret"), 0o644))
	for what, put := range map[string]func(path string) error{
		"a link":           func(p string) error { return os.Symlink(secret, p) },
		"a second name":    func(p string) error { return os.Link(secret, p) },
		"a pipe":           func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"a directory":      func(p string) error { return os.Mkdir(p, 0o700) },
		"a linked parent":  func(p string) error { return linkParent(p, elsewhere) },
		"a file as parent": func(p string) error { return linkParent(p, secret) },
	} {
		dir := filepath.Join(t.TempDir(), "ann")
		path := filepath.Join(dir, "output.log")
		testenv.Must(t, os.Mkdir(dir, 0o700))
		testenv.Must(t, put(path))
		if f, err := spawn.OpenLog(path); err == nil {
			t.Errorf("%s was opened", what)
			f.Close()
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
		t.Errorf("%q, %v", b, err)
	}
	path := filepath.Join(t.TempDir(), "output.log")
	for range 2 {
		f, err := spawn.OpenLog(path)
		testenv.Must(t, err)
		if _, err := f.WriteString("x"); err != nil {
			t.Error(err)
		}
		f.Close()
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "xx" {
		t.Errorf("%q, %v", b, err)
	}
}

// linkParent replaces the directory of a path by a link.
func linkParent(path, to string) error {
	dir := filepath.Dir(path)
	if err := os.Remove(dir); err != nil {
		return err
	}
	return os.Symlink(to, dir)
}

// A process's usage includes its descendants; a member inside a process has the usage of that
// process without them; a process that does not run uses nothing.
func TestUsage(t *testing.T) {
	t.Parallel()
	parent, child := family(t, spawntest.ModeBlock, ",stay,setsid")
	inside, err := spawn.Inside()
	testenv.Must(t, err)
	used, err := spawn.UsageOf(parent.Identity(), child, inside, withStart(t, child, 1), spawn.Identity{})
	testenv.Must(t, err)
	for i, n := range []int{2, 1, 1, 0, 0} {
		if u := used[i]; u.Processes != n || (u.RSS > 1<<20) != (n > 0) {
			t.Errorf("%d: %+v, want %d processes", i, u, n)
		}
	}
	if used[0].RSS <= used[1].RSS || used[3] != (spawn.Usage{}) {
		t.Errorf("%+v", used)
	}
}

// The usage of ended children still counts.
func TestUsageTime(t *testing.T) {
	t.Parallel()
	self := identify(t, os.Getpid())
	cpu := func() time.Duration {
		used, err := spawn.UsageOf(self)
		testenv.Must(t, err)
		return used[0].CPU
	}
	before := cpu()
	cmd := exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
	testenv.Must(t, cmd.Run())
	spent := cmd.ProcessState.UserTime()
	if grew := cpu() - before; grew < spent-20*time.Millisecond {
		t.Errorf("a child used %v, it grew by %v", spent, grew)
	}
}

// TestUsageCost: one call of UsageOf serves all members of a status.
func TestUsageCost(t *testing.T) {
	t.Parallel()
	self := identify(t, os.Getpid())
	ids := make([]spawn.Identity, 30)
	for i := range ids {
		ids[i] = self
	}
	n := testenv.Scale(3, 200)
	began := time.Now()
	for range n {
		if _, err := spawn.UsageOf(ids...); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Measured(t, "what 30 members use, %d times: %v each", n, (time.Since(began) / time.Duration(n)).Round(time.Microsecond))
}
