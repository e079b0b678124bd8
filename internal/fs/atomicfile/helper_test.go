package atomicfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
)

var tiers = []atomicfile.Tier{atomicfile.TierExchange, atomicfile.TierRename}

// eachTier runs f for the tiers this system has.
func eachTier(t *testing.T, f func(t *testing.T, tier atomicfile.Tier)) {
	for _, tier := range tiers {
		t.Run(tier.String(), func(t *testing.T) {
			if tier == atomicfile.TierExchange && !canExchange(t) {
				t.Skip("this file system cannot exchange names")
			}
			f(t, tier)
		})
	}
}

func canExchange(t *testing.T) bool {
	p := newFile(t, "x")
	err := appendLine(p, "y", atomicfile.Options{Tier: atomicfile.TierExchange})
	if err != nil && !strings.Contains(err.Error(), "cannot exchange") {
		t.Fatal(err)
	}
	return err == nil
}

func newFile(t testing.TB, content string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // errors name the resolved path
	must(t, err)
	p := filepath.Join(dir, "a.json")
	must(t, os.WriteFile(p, []byte(content), 0o600))
	return p
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

// holds checks what is in a file.
func holds(t testing.TB, path, want string) {
	t.Helper()
	if got := content(t, path); got != want {
		t.Errorf("%s: %q, want %q", path, got, want)
	}
}

// mustTry takes a flock that nobody has.
func mustTry(t testing.TB, path string, o atomicfile.Options) (release func() error) {
	t.Helper()
	release, held, err := atomicfile.TryFlock(path, o)
	if err != nil || !held {
		t.Fatalf("held %v, err %v", held, err)
	}
	return release
}

// appendLine adds a line to path.
func appendLine(path, line string, o atomicfile.Options) error {
	return atomicfile.Edit(context.Background(), path, o, func(v atomicfile.View) ([]atomicfile.Splice, error) {
		return []atomicfile.Splice{{Offset: v.Size(), Insert: []byte(line + "\n")}}, nil
	})
}

// at returns options that call f once, at the first occurrence of step.
func at(o atomicfile.Options, step string, f func()) atomicfile.Options {
	done := false
	o.Hook = func(s string) {
		if s == step && !done {
			done = true
			f()
		}
	}
	return o
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clean fails the test if anything but the file and its flock is left in its
// directory.
func clean(t testing.TB, path string) {
	t.Helper()
	names, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	base := filepath.Base(path)
	for _, e := range names {
		if !slices.Contains([]string{base, "." + base + ".flk"}, e.Name()) {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

// foreignAppend behaves like a program that uses proper-lockfile and nothing of this package:
// mkdir, stale by mtime, rmdir and one mkdir, read, temp, rename, rmdir.
func foreignAppend(path, line string, stale time.Duration) error {
	lock := path + ".lock"
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) { // real clock: another program holds the lock
		err := os.Mkdir(lock, 0o777)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || time.Now().After(end) {
			return fmt.Errorf("foreign lock: %w", err)
		}
		if fi, err := os.Lstat(lock); err == nil && time.Since(fi.ModTime()) > stale { // real clock: another program's rule, which only breaks what is older
			_ = os.Remove(lock)
		}
	}
	defer os.Remove(lock)
	return unlockedAppend(path, line)
}

// unlockedAppend is jq > tmp && mv.
func unlockedAppend(path, line string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(path), "foreign.tmp."+line)
	if err := os.WriteFile(tmp, append(b, line+"\n"...), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
