//go:build unix

package journal_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"waggle/journal/journaltest"
)

// TestCertainStrange: what lies at the path of certain.json and is none makes no journal unusable. It is
// neither followed nor opened nor deleted, and the next append puts the file in its place.
func TestCertainStrange(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path, other string) error{
		"a link":           func(path, other string) error { return os.Symlink(other, path) },
		"a dangling link":  func(path, other string) error { return os.Symlink(other+".none", path) },
		"a link to itself": func(path, _ string) error { return os.Symlink(path, path) },
		"a FIFO":           func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory":      func(path, other string) error { return os.MkdirAll(filepath.Join(path, "in it"), 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSample(t, 4)
			living, _ := open(t, s.dir, quick)
			other := filepath.Join(t.TempDir(), "other")
			write(t, other, []byte("of somebody else\n"))
			path := certainPath(s.dir)
			must(t, os.Remove(path))
			must(t, put(path, other))
			strange, err := os.Lstat(path)
			must(t, err)
			refresh(t, living)
			if err := s.dir.CheckCertain("leader"); err == nil {
				t.Error("nothing is said of it")
			}
			j, _ := open(t, s.dir, quick)
			journaltest.Append(t, j, someone, journaltest.Note(1))
			if seq := notAhead(t, s.dir); seq != int(j.Seq()) {
				t.Errorf("seq %d is certain of %d", seq, j.Seq())
			}
			if got := string(read(t, other)); got != "of somebody else\n" {
				t.Errorf("the other file is %q", got)
			}
			kept, err := filepath.Glob(path + "-*")
			must(t, err)
			if len(kept) != 1 {
				t.Fatalf("kept %v", kept)
			}
			if st, err := os.Lstat(kept[0]); err != nil || !os.SameFile(st, strange) {
				t.Errorf("%v, %v", st, err)
			}
			must(t, os.Truncate(segment(s.dir, 1), int64(s.ends[2])))
			if _, err := refused(t, s.dir); err == nil {
				t.Error("a cut is not found")
			}
		})
	}
}
