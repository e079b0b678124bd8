package journal_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/journal/journaltest"
)

// TestGone: a journal whose directory is removed while it is open is broken, and
// its directory is not made again.
func TestGone(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"leader", "."} {
		d := newDir(t)
		j, _ := open(t, d, quick)
		reader, _ := open(t, d, quick)
		journaltest.Append(t, j, someone, journaltest.Note(1))
		refresh(t, reader)
		testenv.Must(t, os.RemoveAll(filepath.Join(d.Path, what)))
		_, err := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { return []journal.Draft{journaltest.Note(2)}, nil })
		breakAt(t, err, "00000001.jsonl", 2, 2)
		breakAt(t, reader.Refresh(t.Context()), "00000001.jsonl", 2, 2)
		if _, err := os.Lstat(filepath.Join(d.Path, "leader")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it is there again: %v", err)
		}
	}
}

// TestReplaced: a journal is broken when another file takes the place of the one that was read, or
// the file is shorter.
func TestReplaced(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s sample, path string) error{
		"shorter": func(s sample, path string) error { return os.Truncate(path, int64(s.ends[3])) },
		"a piece shorter": func(s sample, path string) error {
			return os.Truncate(path, int64(len(s.bytes)-1))
		},
		"emptied": func(_ sample, path string) error { return os.Truncate(path, 0) },
		"removed": func(_ sample, path string) error { return os.Remove(path) },
		"by an older copy": func(s sample, path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, s.bytes[:s.ends[3]], 0o600))
		},
		"by other lines": func(s sample, path string) error {
			b := slices.Concat(s.bytes[:len(s.bytes)-len(s.lines[len(s.lines)-1])],
				journal.Line(journal.Seq(len(s.lines)), s.recs[len(s.recs)-1].Prev, someone, "other", `{"some":"other line, which is longer"}`))
			return os.WriteFile(path, b, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSample(t, 6)
			j, fold := open(t, s.dir, quick)
			testenv.Must(t, change(s, segment(s.dir, 1)))
			err := j.Refresh(t.Context())
			if !errors.As(err, new(*journal.BrokenError)) {
				t.Fatalf("Refresh = %v", err)
			}
			if _, aerr := j.Append(t.Context(), someone, func() ([]journal.Draft, error) { t.Error("asked"); return nil, nil }); !errors.As(aerr, new(*journal.BrokenError)) {
				t.Fatalf("Append = %v", aerr)
			}
			same(t, "the fold", fold.Records, s.recs)
		})
	}
}

// TestNames lists the journals, and no other files.
func TestNames(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	if names, err := d.Names(); err != nil || names != nil {
		t.Errorf("Names = %v, %v", names, err)
	}
	for _, n := range []journal.Name{"leader", "0a1b"} {
		j, err := d.Open(n, nil, quick)
		testenv.Must(t, err)
		journaltest.Append(t, j, someone, journaltest.Note(1))
	}
	write(t, filepath.Join(d.Path, "file"), nil)
	testenv.Must(t, os.Mkdir(filepath.Join(d.Path, "Not one"), 0o700))
	if names, err := d.Names(); err != nil || !slices.Equal(names, []journal.Name{"0a1b", "leader"}) {
		t.Errorf("Names = %v, %v", names, err)
	}
}

// TestNameLimits: a journal's name is not a path: Open and Salvage refuse names that leave the
// directory. The longest name has 64 bytes.
func TestNameLimits(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	_, err := d.Open("member-1", nil, quick)
	testenv.Must(t, err)
	look := func(r journal.Record) { t.Errorf("read %+v", r) }
	for _, name := range []string{"", ".", "..", `a\b`, "../member-1", "-a", "A", "a/b", "a.b", strings.Repeat("a", 65)} {
		if err := d.Salvage(journal.Name(name), look); err == nil || !strings.Contains(err.Error(), "is not a journal name") {
			t.Errorf("Salvage of %q: %v", name, err)
		}
		if _, err := d.Open(journal.Name(name), nil, quick); err == nil || !strings.Contains(err.Error(), "is not a journal name") {
			t.Errorf("Open of %q: %v", name, err)
		}
	}
	long := journal.Name(strings.Repeat("a", 64))
	if err := d.Salvage(long, look); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a name of 64 bytes: %v", err)
	}
	if _, err := d.Open(long, nil, quick); err != nil {
		t.Errorf("a name of 64 bytes: %v", err)
	}
}

// TestLocked: an append that cannot take the lock fails and does not call propose.
func TestLocked(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	o := quick
	o.Deadline = 1
	j, _ := open(t, d, o)
	journaltest.Append(t, j, someone, journaltest.Note(1))
	release, err := atomicfile.Flock(context.Background(), filepath.Join(d.Path, "leader", "lock"), atomicfile.Options{})
	testenv.Must(t, err)
	_, err = j.Append(t.Context(), someone, func() ([]journal.Draft, error) { t.Error("asked"); return nil, nil })
	if !errors.As(err, new(*atomicfile.LockedError)) {
		t.Errorf("Append = %v", err)
	}
	refresh(t, j)
	testenv.Must(t, release())
	journaltest.Append(t, j, someone, journaltest.Note(2))
}

// TestFileInTheWay: a file where the journals of a team should be is an error of every call, and no
// journal that is empty or broken.
func TestFileInTheWay(t *testing.T) {
	way := filepath.Join(t.TempDir(), "journal")
	write(t, way, nil)
	d := journal.Dir{Path: way, UID: uid}
	_, names := d.Names()
	_, opened := d.Open(journal.Leader, nil, quick)
	_, found := d.FindBreak(journal.Leader, &redo{}, quick)
	_, checked := d.CheckSnapshot(journal.Leader, &tally{}, quick)
	for what, err := range map[string]error{"Names": names, "Open": opened, "FindBreak": found, "CheckSnapshot": checked,
		"Salvage": d.Salvage(journal.Leader, func(journal.Record) {})} {
		if err == nil || errors.As(err, new(*journal.BrokenError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestUnreadable: a directory that cannot be listed is an error, and not a break.
func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	d := newDir(t)
	open(t, d, quick)
	dir := filepath.Join(d.Path, "leader")
	testenv.Must(t, os.MkdirAll(dir, 0o700))
	testenv.Must(t, os.Chmod(dir, 0o300))
	defer os.Chmod(dir, 0o700)
	if _, err := d.Open(journal.Leader, nil, quick); !errors.Is(err, os.ErrPermission) || errors.As(err, new(*journal.BrokenError)) {
		t.Error(err)
	}
}
