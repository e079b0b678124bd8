//go:build unix

package task_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/task"
)

// TestStateHeld: a process that can write a member's directory does not choose the file to which
// the member's status is written, and does not block a reader of the status.
func TestStateHeld(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	secret := filepath.Join(elsewhere, "task-status.json")
	testenv.Must(t, os.WriteFile(secret, []byte("secret"), 0o644))
	for what, tc := range map[string]struct {
		put     func(dir, path string) error
		refused bool
	}{
		"a link":           {func(_, p string) error { return os.Symlink(secret, p) }, true},
		"a link to none":   {func(_, p string) error { return os.Symlink(filepath.Join(elsewhere, "new"), p) }, true},
		"a pipe":           {func(_, p string) error { return syscall.Mkfifo(p, 0o600) }, true},
		"a directory":      {func(_, p string) error { return os.Mkdir(p, 0o700) }, true},
		"a second name":    {func(_, p string) error { return os.Link(secret, p) }, false}, // the name alone is replaced
		"a linked parent":  {func(d, _ string) error { return errors.Join(os.Remove(d), os.Symlink(elsewhere, d)) }, true},
		"a file as parent": {func(d, _ string) error { return errors.Join(os.Remove(d), os.WriteFile(d, nil, 0o600)) }, true},
		"a pipe as parent": {func(d, _ string) error { return errors.Join(os.Remove(d), syscall.Mkfifo(d, 0o600)) }, true},
	} {
		dir := filepath.Join(t.TempDir(), "ann")
		path := filepath.Join(dir, "task-status.json")
		testenv.Must(t, errors.Join(os.Mkdir(dir, 0o700), tc.put(dir, path)))
		before, err := os.Lstat(path)
		if err := task.WriteState(dir, task.State{Status: task.MemberIdle}); (err != nil) != tc.refused {
			t.Errorf("%s: %v", what, err)
		}
		if after, aerr := os.Lstat(path); tc.refused && err == nil && (aerr != nil || !os.SameFile(before, after)) {
			t.Errorf("%s was replaced: %v", what, aerr)
		}
		done := make(chan error, 1)
		go func() { _, err := task.ReadState(dir); done <- err }()
		select {
		case err := <-done:
			if strings.HasPrefix(what, "a pipe") && err == nil {
				t.Errorf("%s was read", what)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s keeps its reader waiting", what)
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
		t.Errorf("the secret is %q %v", b, err)
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) != 1 {
		t.Errorf("written elsewhere: %v %v", left, err)
	}
}

// TestStateRace: while a member's directory is exchanged with a link, and its status with one, again
// and again, every write lands in the directory or is an error: nothing is written where the links
// lead.
func TestStateRace(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir, elsewhere := filepath.Join(base, "ann"), filepath.Join(base, "elsewhere")
	secret := filepath.Join(elsewhere, "task-status.json")
	testenv.Must(t, errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(elsewhere, 0o700), os.WriteFile(secret, []byte("secret"), 0o600)))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer sync.OnceFunc(func() { close(stop) })()
	wg.Go(func() {
		path := filepath.Join(dir, "task-status.json")
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			// A call fails here when WriteState has replaced its file first.
			_ = os.Rename(dir, dir+".held")
			_ = os.Symlink(elsewhere, dir)
			_ = os.Remove(dir)
			_ = os.Rename(dir+".held", dir)
			_ = os.Remove(path)
			_ = os.Symlink(secret, path)
			_ = os.Remove(path)
		}
	})
	written := 0
	for range testenv.Scale(300, 10_000) {
		if task.WriteState(dir, task.State{Status: task.MemberIdle}) == nil {
			written++
		}
		if left, err := os.ReadDir(elsewhere); err != nil || len(left) != 1 {
			t.Fatalf("written elsewhere: %v %v", left, err)
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
		t.Errorf("the secret is %q %v", b, err)
	}
	if written == 0 {
		t.Log("no write got through on this machine")
	}
}
