//go:build unix

package spawn_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
	must(t, err)
	cmd = exec.Command(exe)
	cmd.Env = append(testenv.Race(), scenarioEnv+"="+name)
	cmd.Stderr = os.Stderr
	if in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, in, json.NewDecoder(r)
}

// A process survives a starter that is killed, continues to write its log, and can be ended by any
// process that has its identity.
func TestSurvivesStarter(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "go")
	spec := spawntest.Spec(t, spawntest.ModeFollow, file)
	cmd, in, out := scenario(t, "starter")
	must(t, json.NewEncoder(in).Encode([]spawn.Spec{spec}))
	var ids []spawn.Identity
	if err := out.Decode(&ids); err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	id := ids[0]
	defer spawntest.End(t, id)
	spawntest.Ready(t, spec.Log, 1)
	must(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Fatal("the starter was not killed")
	}
	if !id.Alive() {
		t.Fatal("the process ended with its starter")
	}
	must(t, os.WriteFile(file, nil, 0o600))
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
		must(t, os.WriteFile(victim, []byte("keep"), 0o640))
		must(t, plant(victim, spec.Log))
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
	must(t, testenv.Executable(tool, nil))
	must(t, os.WriteFile(filepath.Join(dir, "text"), nil, 0o600))
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
