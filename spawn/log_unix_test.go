//go:build unix

package spawn_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"waggle/spawn"
)

// TestOpenLog: a process that can write a log's directory does not choose which file OpenLog opens,
// nor which directory.
func TestOpenLog(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	secret := filepath.Join(elsewhere, "output.log")
	must(t, os.WriteFile(secret, []byte("secret"), 0o644))
	for what, put := range map[string]func(path string) error{
		"a link":           func(p string) error { return os.Symlink(secret, p) },
		"a second name":    func(p string) error { return os.Link(secret, p) },
		"a pipe":           func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"a directory":      func(p string) error { return os.Mkdir(p, 0o700) },
		"a linked parent":  func(p string) error { return linkParent(p, elsewhere) },
		"a file as parent": func(p string) error { return linkParent(p, secret) },
	} {
		dir := filepath.Join(t.TempDir(), "ann")
		path := filepath.Join(dir, "output.log")
		must(t, os.Mkdir(dir, 0o700))
		must(t, put(path))
		if f, err := spawn.OpenLog(path); err == nil {
			t.Errorf("%s was opened", what)
			f.Close()
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
		t.Errorf("%q, %v", b, err)
	}
	path := filepath.Join(t.TempDir(), "output.log")
	for range 2 {
		f, err := spawn.OpenLog(path)
		must(t, err)
		if _, err := f.WriteString("x"); err != nil {
			t.Error(err)
		}
		f.Close()
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "xx" {
		t.Errorf("%q, %v", b, err)
	}
}

// linkParent replaces the directory of a path by a link.
func linkParent(path, to string) error {
	dir := filepath.Dir(path)
	if err := os.Remove(dir); err != nil {
		return err
	}
	return os.Symlink(to, dir)
}
