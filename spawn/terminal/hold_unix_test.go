//go:build unix

package terminal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/terminal"
)

// promised starts a process, and writes its promise of a hand-over.
func promised(t *testing.T) (starter *exec.Cmd, path string) {
	t.Helper()
	starter = exec.Command("sleep", "600")
	must(t, starter.Start())
	t.Cleanup(func() { _, _ = starter.Process.Kill(), starter.Wait() })
	id, err := spawn.Identify(starter.Process.Pid)
	must(t, err)
	data, err := json.Marshal(map[string]any{"starter": id})
	must(t, err)
	path = filepath.Join(t.TempDir(), "1.start.json")
	must(t, os.WriteFile(path, data, 0o600))
	return starter, path
}

// TestStarterDiesInTmux: a pane that was dressed to stay closes when its starter dies before it handed the process over: nobody
// else knows of it. A pane that is marked as another holder's stays.
func TestStarterDiesInTmux(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("new-session", "-d", "--", "sleep", "600")
	exe, err := os.Executable()
	must(t, err)
	starter, path := promised(t)
	open := func(path, other string) (pane string) {
		f := strings.Fields(s.run("new-window", "-d", "-P", "-F", "#{pane_id} #{pane_pid}", "--", exe, "hold", path))
		pid, err := strconv.Atoi(f[1])
		must(t, err)
		id, err := spawn.Identify(pid)
		must(t, err)
		s.run("set-option", "-p", "-t", f[0], "remain-on-exit", "on", ";", "set-option", "-p", "-t", f[0], "@waggle-holder", fmt.Sprintf("%d.%s%s", pid, id.Start, other))
		return f[0]
	}
	data, err := os.ReadFile(path)
	must(t, err)
	second := filepath.Join(t.TempDir(), "2.start.json")
	must(t, os.WriteFile(second, data, 0o600))
	ours, others := open(path, ""), open(second, "0")
	must(t, starter.Process.Kill())
	_ = starter.Wait() // killed
	shown := func() string { return s.run("list-panes", "-a", "-F", "#{pane_id} #{pane_dead}") }
	testenv.Eventually(t, "the end of our pane, and of the holder in the other", func() bool {
		panes := strings.Fields(strings.ReplaceAll(shown(), " ", "="))
		return !slices.ContainsFunc(panes, func(p string) bool { return strings.HasPrefix(p, ours+"=") }) && slices.Contains(panes, others+"=1")
	}, shown)
}

// TestStarterDies: a holder waits for the process that promised it a hand-over, and ends
// when that is killed before it kept the promise.
func TestStarterDies(t *testing.T) {
	t.Parallel()
	starter, path := promised(t)
	ended := make(chan error, 1)
	go func() {
		_, err := terminal.Hold(context.Background(), path, nil, nil)
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Fatalf("it did not wait for a starter that lives: %v", err)
	case <-time.After(200 * time.Millisecond): // real clock: it has looked often meanwhile
	}
	began := time.Now()
	must(t, starter.Process.Kill())
	_ = starter.Wait() // killed
	err := <-ended
	if err == nil || !strings.Contains(err.Error(), "is dead") {
		t.Errorf("%v, want that the starter is dead", err)
	}
	testenv.Within(t, "the wait for a dead starter", time.Since(began), 10*time.Second)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the promise is left: %v", err)
	}
}
