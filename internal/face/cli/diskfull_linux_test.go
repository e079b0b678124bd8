package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/test/testenv"
)

// newSmall is a home whose STATE and wire tree are on a file system of a few megabytes. It skips the test where none may
// be mounted.
func newSmall(t *testing.T, size, team string) (h *homeTree, dir string) {
	t.Helper()
	h = newHome(t, "waggle")
	dir = filepath.Join(h.dir, "full")
	testenv.Must(t, os.Mkdir(dir, 0o700))
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=0700,size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		testenv.Missing(t, "mount", fmt.Errorf("no small file system: %w: %s", err, out))
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Errorf("unmount %s: %v", dir, err)
			}
		}
	})
	testenv.Must(t, os.Mkdir(filepath.Join(dir, "root"), 0o700))
	h.env = []string{"WAGGLE_ROOT=" + filepath.Join(dir, "root"), "WAGGLE_STATE=" + filepath.Join(dir, "s")}
	h.ends(team)
	return h, dir
}

// fill leaves so many pages of a file system, and returns what empties it again.
func fill(t *testing.T, dir string, pages int) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	testenv.Must(t, err)
	page := bytes.Repeat([]byte{1}, os.Getpagesize())
	for err == nil {
		_, err = f.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	st, err := f.Stat()
	testenv.Must(t, err)
	testenv.Must(t, errors.Join(f.Truncate(max(0, st.Size()-int64(pages*len(page)))), f.Close()))
	return func() {
		testenv.Must(t, os.Remove(path))
	}
}

// TestDiskFull: the disk of STATE and of the wire tree is full, up to a few pages, while
// tasks, words and answers are given. No process of the team ends for that. Each task and
// word that a command has taken is done once. When there is room again the team goes on
// without a command.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	h, full := newSmall(t, "24m", "full")
	h.must("up", h.write("full.yaml", "team: full\npolicy: {allow: [Bash]}\nmembers: [{name: ann, agent: exec}, {name: bob, agent: exec}]\n"), "--detach", "--quiet")
	leads := h.status("full").Leader.PID
	acked := map[string]bool{}
	said := map[string]bool{}
	noticed := 0
	rounds := testenv.Scale(8, 60)
	for i := range rounds {
		empty := fill(t, full, i)
		for j := range 2 {
			id := fmt.Sprintf("%d-%d", i, j)
			_, _, code := h.waggle("task", "add", "work "+id, "--owner", []string{"ann", "bob"}[j], "--instructions", "echo "+id+" >> "+filepath.Join(h.work, "ran"), "--team", "full")
			acked[id] = code == 0
			_, _, code = h.waggle("send", "ann", "word "+id+".", "--team", "full")
			said[id] = code == 0
		}
		stdout, stderr, code := h.waggle("status", "full")
		if code != 0 {
			t.Errorf("status with %d pages: code %d\n%s", i, code, stderr)
		}
		if strings.Contains(stdout, "nothing can be recorded") {
			noticed++
		}
		empty()
	}
	count := func() map[string]int {
		b, _ := os.ReadFile(filepath.Join(h.work, "ran"))
		n := map[string]int{}
		for _, id := range strings.Fields(string(b)) {
			n[id]++
		}
		return n
	}
	waits := ""
	testenv.Eventually(t, "all that was taken is done", func() bool {
		n := count()
		for id, ok := range acked {
			if ok && n[id] == 0 {
				waits = "the task of " + id + " has not run"
				return false
			}
		}
		return true
	}, func() string { return waits })
	done, taken := 0, 0
	for _, ok := range acked {
		if ok {
			taken++
		}
	}
	for id, n := range count() {
		if done++; n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
	log := h.must("log", "leader@full", "--kind", "said")
	for id, ok := range said {
		n := 0
		for line := range strings.Lines(log) {
			if strings.Contains(line, "word "+id+".") {
				n++
			}
		}
		if ok && n != 1 || n > 1 {
			t.Errorf("word %s is on record %d times, said %v", id, n, ok)
		}
	}
	st := h.status("full")
	if st.Leader.PID != leads || !st.Leader.Led || st.Notice != "" {
		t.Errorf("leader %+v, notice %q; it was %d", st.Leader, st.Notice, leads)
	}
	for _, m := range st.Members {
		if m.State != "idle" && m.State != "working" {
			t.Errorf("%s is %s: %s", m.Name, m.State, m.Why)
		}
	}
	if noticed == 0 {
		t.Error("status never said so")
	}
	h.must("audit", "verify", "full")
	h.must("down", "full")
	testenv.Measured(t, "%d rounds with a full disk: %d of %d tasks taken, all of them done once; %d done in all; status said it %d times", rounds, taken, 2*rounds, done, noticed)
}
