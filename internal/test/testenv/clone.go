package testenv

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Clone copies the work tree at from to the directory to: the files that git tracks and those that it
// would track, with the changes that are not committed. Links are left out.
func Clone(t testing.TB, from, to string) {
	t.Helper()
	git := Require(t, "git")
	out, err := exec.Command(git, "-C", from, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		Missing(t, "git", err) // it was unpacked, not cloned
	}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		Must(t, copyFile(filepath.Join(from, name), filepath.Join(to, name)))
	}
}

// copyFile copies a regular file; another, or one that is deleted, is left out.
func copyFile(from, to string) error {
	st, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !st.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, st.Mode().Perm())
}
