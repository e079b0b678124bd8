package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// TestClearedEnvironment: after a kill -9 of a worker, gc, stop and down find and end a
// process that cleared its environment and left the worker's process group. The process is
// also ended before the member starts again.
func TestClearedEnvironment(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	dir := delegated(t)
	for name, end := range map[string][]string{"down": {"down", "--grace", "1s"}, "stop": {"stop", "m0", "--force"}, "gc": {"gc", "--yes"}, "restart": nil} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t, "waggle")
			team := "clear-" + name
			restart := "never"
			if name == "restart" {
				restart = "{policy: on-failure, most: 5, backoff: 100ms}"
			}
			file := h.write("clear.yaml", "team: "+team+"\npolicy: {allow: [\"Bash\"]}\nmembers:\n  - {name: m0, agent: exec, backend: process, restart: "+restart+"}\n"+
				"tasks:\n  - {subject: leaves, owner: m0, instructions: \"env -i setsid sh -c 'echo $$ >left; exec sleep 600' </dev/null >/dev/null 2>&1 & while ! test -s left; do sleep 0.05; done; sleep 600\"}\n")
			h.ends(team)
			h.must("up", file, "--detach", "--quiet")
			var left spawn.Identity
			testenv.Eventually(t, "something is left behind", func() bool {
				b, err := os.ReadFile(filepath.Join(h.work, "left"))
				pid, perr := strconv.Atoi(strings.TrimSpace(string(b)))
				if err != nil || perr != nil {
					return false
				}
				left, err = spawn.Identify(pid)
				return err == nil
			})
			t.Cleanup(func() {
				if left.Alive() {
					_ = syscall.Kill(left.PID, syscall.SIGKILL)
				}
			})
			worker := h.status(team).Members[0].PID
			groups := filepath.Join(dir, "waggle-"+filepath.Base(h.stateOf(team))+"-*") // other runs may have left theirs
			testenv.Must(t, syscall.Kill(worker, syscall.SIGKILL))
			testenv.Eventually(t, "the worker dies", func() bool { return syscall.Kill(worker, 0) != nil })
			if name != "restart" && name != "gc" && !left.Alive() {
				t.Fatal("it died with its worker, and proves nothing")
			}
			if name != "restart" {
				h.waggle(append(end, "--team", team)...) // the processes that it leaves are checked below
			}
			testenv.Eventually(t, "what was left behind ends", func() bool { return !left.Alive() })
			if name == "restart" { // the next worker is in its control group before it is ended
				testenv.Eventually(t, "the member is back", func() bool {
					pid := h.status(team).Members[0].PID
					procs, _ := filepath.Glob(filepath.Join(groups, "cgroup.procs"))
					if pid == worker || len(procs) != 1 {
						return false
					}
					b, err := os.ReadFile(procs[0])
					return err == nil && slices.Contains(strings.Fields(string(b)), strconv.Itoa(pid))
				})
			}
			h.waggle("down", "--team", team, "--grace", "1s")
			if found, err := filepath.Glob(groups); err != nil || len(found) > 0 {
				t.Errorf("control groups are left: %q %v", found, err)
			}
		})
	}
}
