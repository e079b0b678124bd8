//go:build unix

package mailbox_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
)

// nodeLock runs Node, which takes a lock and prints a line; free makes it release the lock.
func nodeLock(t *testing.T, path, retries string) (said string, pid int, free func() error) {
	t.Helper()
	cmd := nodeScript(t, "holder.js", path, retries)
	in, err := cmd.StdinPipe()
	testenv.Must(t, err)
	out, err := cmd.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	testenv.Must(t, err)
	return strings.TrimSpace(line), cmd.Process.Pid, func() error {
		in.Close()
		return cmd.Wait()
	}
}

func old(t *testing.T, path string) {
	t.Helper()
	past := time.Now().Add(-11 * time.Second)
	testenv.Must(t, os.Chtimes(path, past, past))
}

// npm's proper-lockfile and this package exclude each other, and each takes over locks that the
// other abandoned.
func TestNodeLockInterop(t *testing.T) {
	t.Parallel()
	requireTool(t, "node")
	b := openBox(t, t.TempDir(), mailbox.Options{Deadline: 200 * time.Millisecond})
	testenv.Must(t, b.Append(t.Context(), text("first")))
	lock := b.Path() + ".lock"

	t.Run("held by node", func(t *testing.T) {
		said, _, free := nodeLock(t, b.Path(), "0")
		if said != "locked" {
			t.Fatal(said)
		}
		err := b.Append(t.Context(), text("no"))
		var locked *mailbox.LockedError
		if !errors.As(err, &locked) || locked.Holder != "another program" || locked.Waited < 200*time.Millisecond {
			t.Errorf("got %v", err)
		}
		wantTexts(t, entriesOf(t, b), "first")
		testenv.Must(t, free()) // node fails here if its lock was touched
		testenv.Must(t, b.Append(t.Context(), text("second")))
	})
	t.Run("held by us", func(t *testing.T) {
		release, err := atomicfile.Lock(t.Context(), b.Path(), atomicfile.Options{})
		testenv.Must(t, err)
		said, _, free := nodeLock(t, b.Path(), "2")
		if said != "ELOCKED" {
			t.Errorf("node said %q", said)
		}
		testenv.Must(t, free())
		testenv.Must(t, release())
		said, _, free = nodeLock(t, b.Path(), "0")
		if said != "locked" {
			t.Errorf("node said %q", said)
		}
		testenv.Must(t, free())
	})
	t.Run("abandoned by node", func(t *testing.T) {
		said, pid, free := nodeLock(t, b.Path(), "0")
		if said != "locked" {
			t.Fatal(said)
		}
		testenv.Must(t, syscall.Kill(pid, syscall.SIGKILL))
		_ = free()
		var locked *mailbox.LockedError
		if err := b.Append(t.Context(), text("no")); !errors.As(err, &locked) {
			t.Errorf("a fresh lock of node was broken: %v", err)
		}
		old(t, lock)
		testenv.Must(t, b.Append(t.Context(), text("third")))
	})
	t.Run("abandoned by us", func(t *testing.T) {
		cmd := child{Dir: filepath.Dir(b.Path()), Sender: "go", Count: 1, What: syscall.SIGKILL, Step: "locked"}.command()
		if err := cmd.Run(); err == nil {
			t.Fatal("lived on")
		}
		if said, _, free := nodeLock(t, b.Path(), "0"); said != "ELOCKED" {
			t.Errorf("a fresh lock: node said %q", said)
		} else {
			testenv.Must(t, free())
		}
		old(t, lock)
		said, _, free := nodeLock(t, b.Path(), "0")
		if said != "locked" {
			t.Errorf("an abandoned lock: node said %q", said)
		}
		testenv.Must(t, free())
		testenv.Must(t, b.Append(t.Context(), text("fourth")))
	})
	wantTexts(t, entriesOf(t, b), "first", "second", "third", "fourth")
}
