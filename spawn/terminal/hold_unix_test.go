//go:build unix

package terminal_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/testenv"
	"waggle/spawn"
	"waggle/spawn/terminal"
)

// TestStarterDies: a holder waits for the process that promised it a hand-over, and ends
// when that is killed before it kept the promise.
func TestStarterDies(t *testing.T) {
	t.Parallel()
	starter := exec.Command("sleep", "600")
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := spawn.Identify(starter.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]any{"starter": id})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "1.start.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
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
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait() // killed
	err = <-ended
	if err == nil || !strings.Contains(err.Error(), "is dead") {
		t.Errorf("%v, want that the starter is dead", err)
	}
	testenv.Within(t, "the wait for a dead starter", time.Since(began), 10*time.Second)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the promise is left: %v", err)
	}
}
