package home_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/home"
)

// TestMend: a path of a directory of the state that is not a directory is set aside, whole;
// directories stay, also behind a link; missing directories are made again.
func TestMend(t *testing.T) {
	d := open(t, home.Home{Path: filepath.Join(t.TempDir(), "state")}, "file:///a", "api", "uid", time.Now())
	elsewhere := t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(d.Path, "set-aside"), []byte("x"), 0o600),
		os.WriteFile(filepath.Join(d.Path, "tools"), nil, 0o600),
		os.Symlink("/nowhere", filepath.Join(d.Path, "started")),
		os.Symlink(elsewhere, filepath.Join(d.Path, "worktrees")),
		os.Remove(d.Processes()),
	} {
		if err != nil {
			t.Skip(err) // links need a right on some systems
		}
	}
	d.Mend(time.Now())
	for _, name := range []string{"tools", "started"} {
		if _, err := os.Lstat(filepath.Join(d.Path, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	kept, err := os.ReadDir(d.Quarantine())
	if err != nil || len(kept) != 2 {
		t.Errorf("set aside %v, %v", kept, err)
	}
	if beside, _ := filepath.Glob(d.Quarantine() + "-*"); len(beside) != 1 {
		t.Errorf("what had the place of set-aside is in %v", beside)
	}
	if to, err := os.Readlink(d.Worktrees()); err != nil || to != elsewhere {
		t.Errorf("worktrees: %q %v", to, err)
	}
	if info, err := os.Stat(d.Processes()); err != nil || !info.IsDir() {
		t.Errorf("processes: %v", err)
	}
}
