//go:build unix

package cli_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/protocol"
)

// TestEndKeepsItsTime: stop and down end members, in the full run within the grace and ten seconds,
// although these refuse and have children in other sessions that ignore SIGTERM,
// although another program holds the locks of mailboxes, registry and task list, and
// with no more than 28 descriptors. Only a step that needs such a lock may stay undone, and
// the command reports it.
func TestEndKeepsItsTime(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	const child = `for i in 1 2; do setsid sh -c 'trap "" TERM HUP; echo $$ >> left; while :; do sleep 0.2; done' </dev/null >/dev/null 2>&1 & done; wait`
	testenv.Require(t, "setsid")
	for _, led := range testenv.Rows(t, []bool{true, false}, 1) {
		t.Run(fmt.Sprintf("led %v", led), func(t *testing.T) {
			t.Parallel()
			h := newHome(t, "waggle")
			h.ends("timed")
			h.write("child.sh", child)
			h.must("up", h.write("timed.yaml", "team: timed\npolicy: {allow: [Bash]}\nmembers: [{name: ann, agent: exec, backend: process}, {name: bob, agent: exec, backend: process}, {name: cid, agent: exec, backend: process}]\n"), "--detach", "--quiet")
			for _, m := range []string{"ann", "bob", "cid"} {
				h.must("task", "add", "work of "+m, "--owner", m, "--instructions", "sh child.sh", "--team", "timed")
			}
			var left []string
			testenv.Eventually(t, "all have children", func() bool {
				b, err := os.ReadFile(filepath.Join(h.work, "left"))
				left = strings.Fields(string(b))
				return err == nil && len(left) == 6
			})
			if !led {
				l := h.status("timed").Leader
				testenv.Must(t, syscall.Kill(l.PID, syscall.SIGKILL))
				testenv.Eventually(t, "the leader is dead", func() bool { return errors.Is(syscall.Kill(l.PID, 0), syscall.ESRCH) || zombie(l.PID) })
			}
			o := h.operator()
			release := hold(t, filepath.Join(o.Root.InboxesDir("timed"), "team-lead.json.lock"), filepath.Join(o.Root.InboxesDir("timed"), "bob.json.lock"),
				filepath.Join(o.Root.TeamDir("timed"), "config.json.lock"), filepath.Join(o.Root.TasksDir(protocol.TeamName("timed")), ".lock.lock"))
			defer release()
			h.prefix = []string{"/bin/sh", "-c", `ulimit -n 28; exec "$@"`, "sh"}
			limit := 11 * time.Second
			if !testenv.Soak() {
				limit = 25 * time.Second // other tests run beside this one
			}
			for _, args := range [][]string{{"stop", "bob", "--team", "timed", "--grace", "1s"}, {"down", "timed", "--grace", "1s"}} {
				began := time.Now()
				_, said, code := h.waggle(args...)
				took := time.Since(began)
				testenv.Within(t, fmt.Sprintf("%q", args), took, limit)
				if args[0] == "stop" && code != 6 && code != 4 {
					t.Errorf("stop: code %d\n%s", code, said)
				}
				if args[0] == "down" && code != 0 && code != 4 && code != 6 && !strings.Contains(said, "is locked by another program") {
					t.Errorf("down: code %d\n%s", code, said)
				}
				testenv.Measured(t, "%s, led %v, with held locks, 28 descriptors, and children in other sessions: %s", args[0], led, took.Round(10*time.Millisecond))
			}
			for _, pid := range left {
				var n int
				if _, err := fmt.Sscan(pid, &n); err != nil {
					t.Fatal(err)
				}
				if !errors.Is(syscall.Kill(n, 0), syscall.ESRCH) && !zombie(n) {
					t.Errorf("process %d runs on", n)
				}
			}
			release()
			h.prefix = nil
			h.must("team", "list") // nothing in the way of the next command
		})
	}
}

// hold holds locks as other programs do, with a directory that is touched.
func hold(t *testing.T, locks ...string) (release func()) {
	t.Helper()
	done, ended := make(chan struct{}), make(chan struct{})
	taken := map[string]bool{}
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			for _, l := range locks {
				if taken[l] {
					_ = os.Chtimes(l, time.Now(), time.Now())
				} else {
					taken[l] = os.Mkdir(l, 0o700) == nil
				}
			}
			select {
			case <-done:
				for l := range taken {
					_ = os.Remove(l)
				}
				return
			case <-tick.C:
			}
		}
	}()
	once := false
	return func() {
		if !once {
			once = true
			close(done)
			<-ended
		}
	}
}

// zombie reports a process that has ended, with all its threads, and that nobody has waited for: until then
// it holds its locks.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err != nil || strings.Contains(string(b), ") Z ") && len(threads) == 1
}
