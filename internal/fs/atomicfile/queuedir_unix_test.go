//go:build unix

package atomicfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/fs/atomicfile"
)

// TestQueueElsewhere: with Options.Queue a lock leaves no file beside the locked one; its queue
// file is in that private directory under a name made from the real path.
func TestQueueElsewhere(t *testing.T) {
	t.Parallel()
	p, queue := newFile(t, "first\n"), filepath.Join(t.TempDir(), "run", "locks")
	o := atomicfile.Options{Queue: queue}
	must(t, appendLine(p, "second", o))
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(filepath.Dir(p), link))
	must(t, appendLine(filepath.Join(link, filepath.Base(p)), "third", o))
	holds(t, p, "first\nsecond\nthird\n")
	beside, err := os.ReadDir(filepath.Dir(p))
	if must(t, err); len(beside) != 1 {
		t.Errorf("beside the file: %v", beside)
	}
	fi, err := os.Stat(queue)
	if must(t, err); fi.Mode().Perm() != 0o700 {
		t.Errorf("the directory has the mode %v", fi.Mode())
	}
	files, err := os.ReadDir(queue)
	if must(t, err); len(files) != 1 || len(files[0].Name()) != 64+len(".flk") {
		t.Errorf("queue files: %v", files)
	}
	// A queue directory that others may enter, or that is not a directory, is not used; the edit
	// works without it.
	must(t, os.WriteFile(queue+"-file", nil, 0o600))
	must(t, appendLine(p, "fourth", atomicfile.Options{Queue: queue + "-file"}))
	must(t, os.Chmod(queue, 0o755))
	must(t, appendLine(p, "fifth", o))
	if fi, err := os.Stat(queue); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	clean(t, p)
}

// TestOldAndNewQueue: a program that queues beside the file, as older versions do, and one that
// queues elsewhere lose no change of each other: the lock directory excludes them.
func TestOldAndNewQueue(t *testing.T) {
	t.Parallel()
	p := newFile(t, "first\n")
	queue := filepath.Join(t.TempDir(), "locks")
	const each = 150
	errs := make(chan error, 4)
	for i := range 4 {
		cmd := command("append", "", each-1, p, atomicfile.TierAuto)
		if i%2 == 0 {
			cmd.Env = append(cmd.Env, "WAGGLE_ATOMICFILE_QUEUE="+queue)
		}
		go func() {
			out, err := cmd.Output()
			if n := strings.Count(string(out), "acked"); err != nil || n != each {
				err = fmt.Errorf("%d of %d written: %v: %s", n, each, err, out)
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(content(t, p), "\n"); n != 1+4*each {
		t.Errorf("%d lines, want %d", n, 1+4*each)
	}
}
