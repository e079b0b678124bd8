//go:build unix

package team_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/team"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	r, _ := newTeam(t)
	if got := r.Check("api"); got != nil {
		t.Errorf("a team of our own: %q", got)
	}
	if got := (team.Root{Path: filepath.Join(r.Path, "none")}).Check("api"); got != nil {
		t.Errorf("nothing there: %q", got)
	}
	open := func(path string, mode os.FileMode) {
		testenv.Must(t, os.Chmod(path, mode))
	}
	// The real client's modes are no problem: others can read, not write.
	open(r.TeamDir("api"), 0o755)
	open(r.ConfigPath("api"), 0o644)
	if got := r.Check("api"); got != nil {
		t.Errorf("0755 and 0644: %q", got)
	}
	paths := []string{r.Path, filepath.Dir(r.TeamDir("api")), r.TeamDir("api"), r.ConfigPath("api"), r.InboxesDir("api"), filepath.Join(r.InboxesDir("api"), "team-lead.json"), r.TasksDir("api")}
	for i, path := range paths {
		info, err := os.Stat(path)
		testenv.Must(t, err)
		open(path, info.Mode().Perm()|[]os.FileMode{0o020, 0o002}[i%2])
		if got := r.Check("api"); len(got) != 1 || !strings.HasPrefix(got[0], path+" has mode ") {
			t.Errorf("%s: %q", path, got)
		}
		open(path, info.Mode().Perm())
	}
	testenv.Must(t, os.Symlink("/nowhere", filepath.Join(r.InboxesDir("api"), "x.json")))
	if got := r.Check("api"); len(got) != 1 || !strings.HasSuffix(got[0], "x.json is a symbolic link") {
		t.Errorf("%q", got)
	}
}

func TestModesDoNotDependOnTheUmask(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	r, tm := newTeam(t)
	write(t, filepath.Join(r.InboxesDir("api"), "w.json"), "[1, 2, 3, 4, 5, 6, 7]")
	add(t, tm, team.Member{Name: "w"}, false)
	add(t, tm, team.Member{Name: "v"}, false)
	for _, line := range tree(t, r.Path) {
		if !strings.HasPrefix(line, "0700 ") && !strings.HasPrefix(line, "0600 ") {
			t.Errorf("open to others: %s", line)
		}
	}
}

func TestFIFOsDoNotBlock(t *testing.T) {
	t.Parallel()
	r, tm := newTeam(t)
	fifo := func(path string) {
		_ = os.Remove(path)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip("no FIFOs: ", err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fifo(filepath.Join(r.InboxesDir("api"), "w.json"))
		if _, _, err := tm.Add(t.Context(), team.Member{Name: "w"}, false); err == nil {
			t.Error("a FIFO became a mailbox")
		}
		fifo(r.ConfigPath("api"))
		_, errOpen := team.Open(r, "api", options())
		_, errLoad := tm.Load(t.Context())
		if errOpen == nil || errLoad == nil {
			t.Error("a FIFO was read")
		}
		if names, err := r.Names(); err != nil || slices.Contains(names, "api") {
			t.Errorf("%q %v", names, err)
		}
		if errors.As(errLoad, new(*team.NotFoundError)) {
			t.Errorf("not gone: %v", errLoad)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("blocked")
	}
}
