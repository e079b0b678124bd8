//go:build unix

package realpath_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/fs/realpath"
	"waggle/internal/test/testenv"
)

// tree makes files, directories (name/) and links (name -> to) below a new root.
func tree(t *testing.T, entries ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	testenv.Tree(t, root, entries...)
	return root
}

func TestReal(t *testing.T) {
	entries := []string{"d/f", "d/e/g", "rel -> d", "abs -> {T}/d", "file -> d/f", "up -> d/e", "gone -> d/new/x", "in/out -> ..",
		"one -> two", "two -> one", "dot -> .", "top -> /", "fdlink -> /proc/self/fd"}
	for i := range 41 {
		entries = append(entries, "n"+string(rune('A'+i))+" -> n"+string(rune('A'+i+1)))
	}
	root := tree(t, append(entries, "n"+string(rune('A'+41)))...)
	testenv.Must(t, syscall.Mkfifo(filepath.Join(root, "fifo"), 0o600))
	for _, c := range []struct {
		path, want string // below root; "" for an error
	}{
		{"", "."}, {"d/f", "d/f"}, {"rel/f", "d/f"}, {"abs/e/g", "d/e/g"}, {"file", "d/f"}, {"abs//./f/", "d/f"},
		{"up/../f", "d/f"}, {"up/../../d", "d"}, {"in/out/d/f", "d/f"}, {"in/out/in/out/in/out/d", "d"}, {"dot/dot/d", "d"},
		{"rel/none", "d/none"}, {"none/a/b", "none/a/b"}, {"none/../rel/f", "d/f"}, {"none/../../none", "../none"}, {"gone", "d/new/x"}, {"gone/y", "d/new/x/y"},
		{"d/f/x", "d/f/x"}, {"fifo", "fifo"}, {"fifo/x", "fifo/x"}, {"top{T}/rel", "d"},
		{"one", ""}, {"one/x", ""}, {"nA", ""}, {"nB", "n" + string(rune('A'+41))}, {"d/\x00", ""},
	} {
		path := strings.ReplaceAll(root+"/"+c.path, "{T}", root)
		got, err := realpath.Real(path)
		switch {
		case c.want == "" && err == nil:
			t.Errorf("%q leads to %s, want an error", c.path, got)
		case c.want != "" && (err != nil || got != filepath.Join(root, c.want)):
			t.Errorf("%q leads to %s, %v, want %s", c.path, got, err, c.want)
		}
	}
	for _, p := range []string{"", "d/f", "./d"} {
		if got, err := realpath.Real(p); err == nil {
			t.Errorf("the relative path %q leads to %s", p, got)
		}
	}
	if _, err := realpath.Real(root + "/one"); !errors.Is(err, realpath.ErrLinks) || !strings.Contains(err.Error(), root+"/one") {
		t.Errorf("a circle: %v", err)
	}
	if _, err := os.Lstat("/proc/self/fd"); err == nil {
		if got, err := realpath.Real(root + "/fdlink/0"); err == nil {
			t.Errorf("/proc/self leads to %s for every process", got)
		}
	}
}

// TestRealWithoutPermission: Real fails when a component cannot be read.
func TestRealWithoutPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root looks everywhere")
	}
	root := tree(t, "shut/f")
	testenv.Must(t, os.Chmod(root+"/shut", 0))
	t.Cleanup(func() { _ = os.Chmod(root+"/shut", 0o700) })
	if got, err := realpath.Real(root + "/shut/f"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestWriteFile(t *testing.T) {
	writeFiles(t)
	realpath.WithoutOpenat2(t, writeFiles)
}

func writeFiles(t *testing.T) {
	root := tree(t, "d/f", "d/once", "link -> d", "d/to -> f", "d/twice", "d/dang -> new")
	testenv.Must(t, os.Link(root+"/d/twice", root+"/d/second"))
	testenv.Must(t, syscall.Mkfifo(root+"/d/fifo", 0o600))
	for _, c := range []struct {
		path string
		err  error // nil: written
	}{
		{root + "/d/f", nil}, {root + "/d/made", nil},
		{root + "/link/f", realpath.ErrLink}, {root + "/link/none", realpath.ErrLink}, {root + "/d/to", realpath.ErrLink}, {root + "/d/dang", realpath.ErrLink},
		{root + "/d/twice", realpath.ErrKind}, {root + "/d/fifo", realpath.ErrKind}, {"/dev/null", realpath.ErrKind},
		{root + "/d", syscall.EISDIR}, {"/", syscall.EISDIR}, {root + "/none/f", fs.ErrNotExist}, {root + "/d/f/x", syscall.ENOTDIR}, {"d/f", nil},
	} {
		err := realpath.WriteFile(c.path, []byte("new"), 0o644)
		var at *fs.PathError
		switch {
		case c.path == "d/f":
			if err == nil {
				t.Error("a relative path was written")
			}
		case c.err == nil:
			if got, rerr := os.ReadFile(c.path); err != nil || rerr != nil || string(got) != "new" {
				t.Errorf("%s: %q, %v, %v", c.path, got, rerr, err)
			}
		case !errors.Is(err, c.err) || !errors.As(err, &at) || at.Path != c.path:
			t.Errorf("%s: %v, want %v", c.path, err, c.err)
		}
	}
	if got, err := os.ReadFile(root + "/d/second"); err != nil || string(got) != "old" {
		t.Errorf("the second name of a file holds %q, %v", got, err)
	}
	if _, err := os.Lstat(root + "/d/new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the target of a dangling link: %v", err)
	}
}

func TestReadFile(t *testing.T) {
	readFiles(t)
	realpath.WithoutOpenat2(t, readFiles)
}

func readFiles(t *testing.T) {
	root := tree(t, "d/f", "link -> d", "d/to -> f", "d/twice")
	testenv.Must(t, os.Link(root+"/d/twice", root+"/d/second"))
	testenv.Must(t, syscall.Mkfifo(root+"/d/fifo", 0o600))
	for _, c := range []struct {
		path  string
		limit int64
		err   string // "": it is read
	}{
		{root + "/d/f", 3, ""}, {root + "/d/second", 10, ""}, {root + "/d/f", 2, realpath.ErrSize.Error()},
		{root + "/link/f", 9, realpath.ErrLink.Error()}, {root + "/d/to", 9, realpath.ErrLink.Error()},
		{root + "/d/fifo", 9, "no regular file"}, {"/dev/null", 9, "no regular file"}, {root + "/d", 9, "no regular file"}, {"/", 9, "is a directory"},
		{root + "/none", 9, "no such file"}, {"d/f", 9, "not absolute"},
	} {
		got, err := realpath.ReadFile(c.path, c.limit)
		var at *fs.PathError
		switch {
		case c.err == "" && (err != nil || string(got) != "old"):
			t.Errorf("%s: %q, %v", c.path, got, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !errors.As(err, &at) || at.Path != c.path || got != nil):
			t.Errorf("%s: %q, %v, want %s", c.path, got, err, c.err)
		}
	}
	if _, err := realpath.ReadFile(root+"/none", 9); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestSwappedDirectory: a directory is replaced by a link between the request and the write, and
// also during the write; no file is written outside.
func TestSwappedDirectory(t *testing.T) {
	swapDirectory(t)
	realpath.WithoutOpenat2(t, swapDirectory)
}

func swapDirectory(t *testing.T) {
	root := tree(t, "in/d/", "in/kept/", "out/d/")
	link := root + "/in/link"
	testenv.Must(t, os.Symlink(root+"/out/d", link))
	real, err := realpath.Real(root + "/in/d/f")
	testenv.Must(t, err)
	const rounds = 1000
	turn := make(chan bool)
	swapped := make(chan error)
	go func() { // it swaps without pause, so that a swap falls into a write
		var err error
		for asLink := range turn {
			from, to := root+"/in/d", root+"/in/kept/d"
			if !asLink {
				from, to = root+"/in/kept/d", root+"/in/d"
				err = errors.Join(err, os.Rename(root+"/in/d", link))
			}
			err = errors.Join(err, os.Rename(from, to))
			if asLink {
				err = errors.Join(err, os.Rename(link, root+"/in/d"))
			}
			swapped <- err
		}
		close(swapped)
	}()
	written, refused := 0, 0
	for i := range rounds {
		turn <- i%2 == 0 // a directory, then a link, then a directory
		switch err := realpath.WriteFile(real, []byte("x"), 0o644); {
		case err == nil:
			written++
		case errors.Is(err, realpath.ErrLink), errors.Is(err, fs.ErrNotExist),
			errors.Is(err, syscall.ENOTDIR): // a link that was a directory again at the second look
			refused++
		default:
			t.Fatalf("round %d: %v", i, err)
		}
		if err := <-swapped; err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		if i%2 == 0 { // now it is a link for sure
			if err := realpath.WriteFile(real, []byte("x"), 0o644); !errors.Is(err, realpath.ErrLink) {
				t.Fatalf("round %d: written through a link: %v", i, err)
			}
		}
		if got, err := os.ReadDir(root + "/out/d"); err != nil || len(got) != 0 {
			t.Fatalf("round %d: %v lie outside, %v", i, got, err)
		}
	}
	close(turn)
	<-swapped
	testenv.Measured(t, "a directory swapped for a link out while a file in it was written, %d times: %d written inside, %d refused, 0 outside", rounds, written, refused)
}
