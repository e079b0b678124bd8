package spawn_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
)

// The pids in the marks of another namespace mean other processes here: no process of a container
// is an orphan.
func TestOrphansOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	unshare := testenv.Require(t, "unshare")
	if err := exec.Command(unshare, "-rpf", "--mount-proc", "true").Run(); err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	owner := fmt.Sprintf("namespace-%d/ann", os.Getpid())
	argv, env := spawntest.Helper(t, spawntest.ModeBlock)
	env = append(env, "WAGGLE_COMMAND=2.1.1", spawn.MemberMark(owner))
	dir := t.TempDir()
	out, in := dir+"/out.log", dir+"/in.log"
	spawntest.Start(t, processBackend, spawn.Spec{Argv: argv, Env: env, Log: out})
	// kill-child: the namespace ends with the process that we end.
	spawntest.Start(t, processBackend, spawn.Spec{Argv: append([]string{unshare, "-rpf", "--kill-child", "--mount-proc"}, argv...), Env: env, Log: in})
	spawntest.Ready(t, in, 1)
	here := spawntest.Ready(t, out, 1)[spawntest.ModeBlock]
	found, err := spawn.Orphans(func(m spawn.Marked) bool { return m.Owner == owner })
	must(t, err)
	seen := false
	for _, m := range found {
		exe, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", m.ID.PID))
		must(t, err)
		seen = seen || m.ID.PID == here
		if m.ID.PID != here && string(exe[:len(argv[0])]) == argv[0] {
			t.Errorf("%+v is in another namespace", m)
		}
	}
	if !seen {
		t.Error("the one of this namespace was not found")
	}
}
