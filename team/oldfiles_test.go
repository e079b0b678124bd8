package team_test

import (
	"os"
	"path/filepath"
	"testing"

	"waggle/team"
)

// The files of an earlier member of a name are moved whole, a link as a link, and an empty
// directory is not moved.
func TestPutFilesAway(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	kept := filepath.Join(t.TempDir(), "archive")
	create(t, r, team.Config{Name: "api"})
	tm := openTeam(t, r, "api", options())
	tm = tm.KeepIn(kept)
	away := func(want string) {
		t.Helper()
		if want != "" {
			want = filepath.Join(kept, want)
		}
		if got, err := tm.PutFilesAway("w"); got != want || err != nil {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
	}
	dir := r.MemberDir("api", "w")
	away("")
	must(t, os.MkdirAll(filepath.Join(dir, "artifacts"), 0o700))
	away("")
	write(t, filepath.Join(dir, "artifacts", "a", "report.md"), "old")
	write(t, filepath.Join(dir, "output.log"), "old log")
	away("w-20261120T120000.123Z")
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	if got := read(t, filepath.Join(kept, "w-20261120T120000.123Z", "artifacts", "a", "report.md")); got != "old" {
		t.Errorf("archived %q", got)
	}
	precious := t.TempDir()
	write(t, filepath.Join(precious, "file"), "mine")
	if err := os.Symlink(precious, dir); err != nil {
		t.Skip(err)
	}
	away("w-20261120T120000.123Z-2")
	if got := read(t, filepath.Join(precious, "file")); got != "mine" {
		t.Errorf("what a link showed is %q", got)
	}
}
