package install_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/install"
	"waggle/internal/test/testenv"
)

// prefix is a directory with files, and a record of them.
func prefix(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	record := "waggle-install 1\nversion v1\ndir share/man\ndir share/man/man1\n"
	for _, name := range files {
		write(t, filepath.Join(dir, name), name)
		sum := sha256.Sum256([]byte(name))
		record += "file " + hex.EncodeToString(sum[:]) + " " + name + "\n"
	}
	write(t, filepath.Join(dir, install.RecordName), record)
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testenv.Must(t, os.WriteFile(path, []byte(text), 0o644))
}

// TestRemove: Remove removes the installed files, and keeps files that are not ours or have changed.
func TestRemove(t *testing.T) {
	dir := prefix(t, "bin/waggle", "share/man/man1/waggle.1", "share/man/man1/waggle-up.1", "share/man/man1/waggle-gc.1")
	write(t, filepath.Join(dir, "bin/other"), "not ours")
	write(t, filepath.Join(dir, "share/man/man1/waggle-up.1"), "edited")
	testenv.Must(t, os.Remove(filepath.Join(dir, "share/man/man1/waggle-gc.1")))
	i, err := install.Find(filepath.Join(dir, "bin/waggle"))
	testenv.Must(t, err)
	var states []install.State
	for _, f := range i.Files {
		states = append(states, f.State)
	}
	if d := cmp.Diff([]install.State{install.Same, install.Same, install.Changed, install.Missing}, states); d != "" || i.Version != "v1" {
		t.Error(i.Version, d)
	}
	removed, err := i.Remove()
	testenv.Must(t, err)
	if d := cmp.Diff([]string{filepath.Join(i.Prefix, "share/man/man1/waggle.1"), i.Program()}, removed); d != "" {
		t.Error(d)
	}
	for name, there := range map[string]bool{"bin/waggle": false, "bin/other": true, "share/man/man1/waggle-up.1": true, install.RecordName: false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := install.Open(dir); !errors.Is(err, install.ErrNone) {
		t.Errorf("after the end: %v", err)
	}
}

// TestRemoveTidies: directories that the installation made are removed when they are empty.
func TestRemoveTidies(t *testing.T) {
	dir := prefix(t, "bin/waggle", "share/man/man1/waggle.1")
	i, err := install.Open(dir)
	if err == nil {
		_, err = i.Remove()
	}
	testenv.Must(t, err)
	if _, err := os.Stat(filepath.Join(dir, "share/man")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("share/man: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "bin")); err != nil {
		t.Errorf("bin was there before: %v", err)
	}
}

// TestRecordStaysBelow: a record that names anything outside bin and share is refused.
func TestRecordStaysBelow(t *testing.T) {
	sum := strings.Repeat("0", 64)
	for _, line := range []string{
		"file " + sum + " ../x", "file " + sum + " /etc/passwd", "file " + sum + " bin/../../x", "file " + sum + " etc/x",
		"file " + sum, "file 12 bin/x", "dir ..", "dir /tmp", "remove bin/x", "file " + sum + "  bin/x",
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, install.RecordName), "waggle-install 1\n"+line+"\n")
		if i, err := install.Open(dir); err == nil {
			t.Errorf("%q is read as %+v", line, i)
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, install.RecordName), "waggle-install 2\n")
	if _, err := install.Open(dir); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("a record of the next version: %v", err)
	}
}

// TestLinkIsNotOurs: a link in the place of an installed file is kept, and so is its target.
func TestLinkIsNotOurs(t *testing.T) {
	dir := prefix(t, "bin/waggle")
	elsewhere := filepath.Join(t.TempDir(), "w")
	testenv.Must(t, os.Rename(filepath.Join(dir, "bin/waggle"), elsewhere))
	if err := os.Symlink(elsewhere, filepath.Join(dir, "bin/waggle")); err != nil {
		t.Skip(err)
	}
	i, err := install.Open(dir)
	testenv.Must(t, err)
	removed, err := i.Remove()
	if err != nil || len(removed) > 0 {
		t.Errorf("%v, %v", removed, err)
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Error(err)
	}
}
