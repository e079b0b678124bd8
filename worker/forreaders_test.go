//go:build unix

package worker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/worker"
)

// TestKeepPlan: KeepPlan writes a plan once, and refuses a link or a pipe that the member's commands
// may have left in its place: nothing is written at the target of the link, and the pipe blocks no
// process.
func TestKeepPlan(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ann")
	path, err := worker.KeepPlan(dir, "a plan")
	testenv.Must(t, err)
	if again, err := worker.KeepPlan(dir, "a plan"); err != nil || again != path {
		t.Errorf("%s %v", again, err)
	}
	if b, err := os.ReadFile(path); string(b) != "a plan" {
		t.Errorf("%q %v", b, err)
	}
	name := filepath.Base(path)
	for what, put := range map[string]func(dir, elsewhere string) error{
		"a link as directory": func(d, e string) error { return os.Symlink(e, filepath.Join(d, "plans")) },
		"a linked parent":     func(d, e string) error { return errors.Join(os.Remove(d), os.Symlink(e, d)) },
		"a link": func(d, e string) error {
			return errors.Join(os.Mkdir(filepath.Join(d, "plans"), 0o700), os.Symlink(filepath.Join(e, "new"), filepath.Join(d, "plans", name)))
		},
		"a pipe": func(d, _ string) error {
			return errors.Join(os.Mkdir(filepath.Join(d, "plans"), 0o700), syscall.Mkfifo(filepath.Join(d, "plans", name), 0o600))
		},
	} {
		dir, elsewhere := filepath.Join(t.TempDir(), "ann"), t.TempDir()
		testenv.Must(t, errors.Join(os.Mkdir(dir, 0o700), put(dir, elsewhere)))
		if path, err := worker.KeepPlan(dir, "a plan"); err == nil {
			t.Errorf("%s: %s", what, path)
		}
		if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
			t.Errorf("%s: written elsewhere: %v %v", what, left, err)
		}
	}
	if _, err := worker.KeepPlan(filepath.Join(string(filepath.Separator), strings.Repeat("x", 300)), "a plan"); err == nil {
		t.Error("no directory, and no error")
	}
}
