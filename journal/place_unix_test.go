//go:build unix

package journal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/journal/journaltest"
)

// TestPrivate: only the owner may read the files and directories of a journal.
func TestPrivate(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	d := newDir(t)
	o := quick
	o.Segment, o.SnapshotAfter = 100, 1
	j := openFold(t, d, &tally{}, o)
	journaltest.Append(t, j, someone, journaltest.Note(1))
	journaltest.Append(t, j, someone, journal.Draft{Kind: "large", Body: strings.Repeat("x", 10000)})
	openFold(t, d, &tally{}, o)
	seen := 0
	testenv.Must(t, filepath.WalkDir(d.Path, func(path string, e fs.DirEntry, err error) error {
		testenv.Must(t, err)
		st, err := e.Info()
		testenv.Must(t, err)
		seen++
		if want := fs.FileMode(0o600); st.Mode().IsRegular() && st.Mode() != want {
			t.Errorf("%s is %v", path, st.Mode())
		} else if st.IsDir() && st.Mode().Perm() != 0o700 {
			t.Errorf("%s is %v", path, st.Mode())
		}
		return nil
	}))
	if seen != 9 { // journal, leader, lock, certain.json, two segments, bodies and one in it, snapshot
		t.Errorf("%d files", seen)
	}
}

// TestUntrusted refuses links, pipes, and what others can write.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	link := func(path string) error {
		return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
	}
	for name, tt := range map[string]struct {
		file   string
		change func(path string) error
	}{
		"segment link":        {"00000001.jsonl", link},
		"segment pipe":        {"00000001.jsonl", func(p string) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o600)) }},
		"segment directory":   {"00000001.jsonl", func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }},
		"segment for all":     {"00000001.jsonl", func(p string) error { return os.Chmod(p, 0o602) }},
		"segment for group":   {"00000001.jsonl", func(p string) error { return os.Chmod(p, 0o620) }},
		"directory link":      {".", link},
		"directory for all":   {".", func(p string) error { return os.Chmod(p, 0o777) }},
		"directory is a pipe": {".", func(p string) error { return errors.Join(os.RemoveAll(p), syscall.Mkfifo(p, 0o600)) }},
	} {
		t.Run(name, func(t *testing.T) {
			d, j := noted(t, 1)
			testenv.Must(t, tt.change(filepath.Join(d.Path, "leader", tt.file)))
			folded, err := refused(t, d)
			if !errors.As(err, new(*journal.BrokenError)) || len(folded) != 0 {
				t.Fatalf("Open = %v, %d records", err, len(folded))
			}
			if tt.file == "." {
				return
			}
			if err := j.Refresh(t.Context()); !errors.As(err, new(*journal.BrokenError)) {
				t.Errorf("Refresh = %v", err)
			}
		})
	}
}

// TestUntrustedNew: an append follows no link that was put at a file's path. A link at the lock's
// path is set aside and the lock is made again.
func TestUntrustedNew(t *testing.T) {
	t.Parallel()
	o := quick
	o.Segment = 100
	for _, name := range []string{"00000001.jsonl", "00000002.jsonl", "lock"} {
		d := newDir(t)
		j, _ := open(t, d, o)
		if name == "00000002.jsonl" {
			journaltest.Append(t, j, someone, journaltest.Note(1))
		} else {
			testenv.Must(t, os.MkdirAll(filepath.Join(d.Path, "leader"), 0o700))
		}
		target := filepath.Join(t.TempDir(), "target")
		testenv.Must(t, os.Symlink(target, filepath.Join(d.Path, "leader", name)))
		_, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{journaltest.Note(1)}, nil })
		if name == "lock" { // a file that is not regular cannot be locked, so it is set aside
			kept, _ := filepath.Glob(filepath.Join(d.Path, "leader", "lock-*"))
			if to, lerr := os.Readlink(strings.Join(kept, "")); err != nil || lerr != nil || to != target {
				t.Errorf("%s: %v; set aside %v, %v", name, err, kept, lerr)
			}
		} else if !errors.As(err, new(*journal.BrokenError)) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: written through: %v", name, err)
		}
	}
}

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
			testenv.Must(t, os.Remove(path))
			testenv.Must(t, put(path, other))
			strange, err := os.Lstat(path)
			testenv.Must(t, err)
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
			testenv.Must(t, err)
			if len(kept) != 1 {
				t.Fatalf("kept %v", kept)
			}
			if st, err := os.Lstat(kept[0]); err != nil || !os.SameFile(st, strange) {
				t.Errorf("%v, %v", st, err)
			}
			testenv.Must(t, os.Truncate(segment(s.dir, 1), int64(s.ends[2])))
			if _, err := refused(t, s.dir); err == nil {
				t.Error("a cut is not found")
			}
		})
	}
}

// TestBreakStaysInOpenDirectory: a broken journal whose lines are whole again is not read
// on before a pause is over, nor while others may write its directory.
func TestBreakStaysInOpenDirectory(t *testing.T) {
	t.Parallel()
	now := fixed()
	o := journal.Options{Now: func() time.Time { return now }, Sync: noSync}
	d := newDir(t)
	dir := filepath.Join(d.Path, "leader")
	var fold redo
	j := openFold(t, d, &fold, o)
	journaltest.Append(t, j, someone, journaltest.Note(1))
	var mine redo
	reader := openFold(t, d, &mine, o)
	whole := read(t, segment(d, 1))
	write(t, segment(d, 1), flipped(whole, 40))
	broken := func(when string) {
		t.Helper()
		if _, ok := errors.AsType[*journal.BrokenError](reader.Refresh(t.Context())); !ok {
			t.Errorf("%s: it is read", when)
		}
		now = now.Add(time.Minute)
	}
	if err := reader.Refresh(t.Context()); err == nil {
		t.Fatal("a byte is another, and it is read")
	}
	write(t, segment(d, 1), whole)
	broken("the pause is not over")
	testenv.Must(t, os.Chmod(dir, 0o777))
	broken("others may write its directory")
	testenv.Must(t, os.Chmod(dir, 0o700))
	if err := reader.Refresh(t.Context()); err != nil || len(mine.Records) != 1 {
		t.Errorf("whole again: %d records, %v", len(mine.Records), err)
	}
}
