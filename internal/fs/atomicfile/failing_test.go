package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"waggle/internal/fs/atomicfile"
)

// TestFailOps: each operation that a test makes fail returns an error with its path, and changes
// nothing, except a write, of which half is done. Without a test it is the plain operation.
func TestFailOps(t *testing.T) {
	no := errors.New("no")
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	names := func() (all []string) {
		ents, err := os.ReadDir(dir)
		must(t, err)
		for _, e := range ents {
			all = append(all, e.Name())
		}
		return all
	}
	must(t, os.WriteFile(path("old"), []byte("1234"), 0o600))
	f, err := os.OpenFile(path("old"), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	opened := func(f *os.File, err error) error {
		if err == nil {
			f.Close()
		}
		return err
	}
	cases := []struct {
		op   atomicfile.Op
		path string
		do   func() error
		left []string // names when it works
	}{
		{atomicfile.OpOpen, path("old"), func() error { return opened(atomicfile.OpenFile(path("old"), os.O_RDONLY, 0)) }, []string{"old"}},
		{atomicfile.OpCreate, path("new"), func() error { return opened(atomicfile.OpenFile(path("new"), os.O_CREATE|os.O_WRONLY, 0o600)) }, []string{"new", "old"}},
		{atomicfile.OpMkdir, path("sub"), func() error { return atomicfile.Mkdir(path("sub"), 0o700) }, []string{"new", "old", "sub"}},
		{atomicfile.OpRename, path("moved"), func() error { return atomicfile.Rename(path("new"), path("moved")) }, []string{"moved", "old", "sub"}},
		{atomicfile.OpSync, path("old"), func() error { return atomicfile.Flush(f) }, []string{"moved", "old", "sub"}},
		{atomicfile.OpTruncate, path("old"), func() error { return atomicfile.Truncate(f, 3) }, []string{"moved", "old", "sub"}},
	}
	for _, c := range cases {
		before := names()
		undo := atomicfile.FailOps(func(op atomicfile.Op, p string) error {
			if op == c.op && p == c.path {
				return no
			}
			return nil
		})
		err := c.do()
		undo()
		var at *fs.PathError
		if !errors.Is(err, no) || !errors.As(err, &at) || at.Op != string(c.op) || at.Path != c.path || !slices.Equal(names(), before) {
			t.Errorf("%s of %s: %v, left %v", c.op, c.path, err, names())
		}
		if st, err := f.Stat(); err != nil || st.Size() != 4 {
			t.Errorf("%s: the file has %d bytes, %v", c.op, st.Size(), err)
		}
		if err := c.do(); err != nil || !slices.Equal(names(), c.left) {
			t.Errorf("%s works: %v, left %v", c.op, err, names())
		}
	}
	if st, err := f.Stat(); err != nil || st.Size() != 3 {
		t.Errorf("cut to %d bytes, %v", st.Size(), err)
	}
	undo := atomicfile.FailOps(func(op atomicfile.Op, _ string) error {
		if op == atomicfile.OpWrite {
			return no
		}
		return nil
	})
	n, err := atomicfile.Write(f, []byte("abcd"))
	undo()
	if n != 2 || !errors.Is(err, no) {
		t.Errorf("a write that fails wrote %d bytes, %v", n, err)
	}
	if n, err := atomicfile.Write(f, []byte("x")); n != 1 || err != nil {
		t.Errorf("wrote %d bytes, %v", n, err)
	}
}

// TestStatDir: a missing path is an error with its path, and a file is no directory.
func TestStatDir(t *testing.T) {
	dir := t.TempDir()
	none := filepath.Join(dir, "none")
	var at *fs.PathError
	if _, err := atomicfile.StatDir(none); !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &at) || at.Path != none {
		t.Errorf("nothing there: %v", err)
	}
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for name, isDir := range map[string]bool{"sub": true, "file": false} {
		if mode, err := atomicfile.StatDir(filepath.Join(dir, name)); err != nil || mode.IsDir() != isDir {
			t.Errorf("%s: %v, %v", name, mode, err)
		}
	}
}

// TestSameDir: a lock directory is recognised by its inode and time of birth; if one of the two births
// is unknown, by the time of its last change.
func TestSameDir(t *testing.T) {
	for _, c := range []struct {
		a, b [3]int64
		want bool
	}{
		{[3]int64{1, 5, 9}, [3]int64{1, 5, 9}, true},
		{[3]int64{1, 5, 9}, [3]int64{2, 5, 9}, false},
		{[3]int64{1, 5, 9}, [3]int64{1, 6, 9}, false},
		{[3]int64{1, 5, 9}, [3]int64{1, 5, 8}, true}, // it was renewed
		{[3]int64{1, 0, 9}, [3]int64{1, 5, 9}, true},
		{[3]int64{1, 0, 9}, [3]int64{1, 5, 8}, false},
		{[3]int64{1, 0, 9}, [3]int64{1, 0, 9}, true},
		{[3]int64{1, 0, 9}, [3]int64{1, 0, 8}, false},
	} {
		if atomicfile.SameDir(c.a, c.b) != c.want || atomicfile.SameDir(c.b, c.a) != c.want {
			t.Errorf("%v and %v: want %v", c.a, c.b, c.want)
		}
	}
}
