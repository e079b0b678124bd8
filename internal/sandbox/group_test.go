package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/sandbox"
	"waggle/internal/sandbox/relay"
	"waggle/internal/test/testenv"
)

// Delegated takes a plain directory for no control group, and leaves nothing behind.
func TestDelegatedTries(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own")
	testenv.Must(t, os.Mkdir(own, 0o755))
	testenv.Must(t, os.WriteFile(own+"/cgroup.subtree_control", []byte("memory pids\n"), 0o644))
	if g := sandbox.Delegated(own); g != (sandbox.Groups{}) {
		t.Errorf("a plain directory became %+v", g)
	}
	if left, _ := filepath.Glob(own + "/waggle-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A limit that cannot be set here is reported, and is never shown as set.
func TestLimitGaps(t *testing.T) {
	limits := relay.Limits{Processes: 10, GroupMemory: 1 << 20, GroupCPU: 50}
	for _, tc := range []struct {
		groups sandbox.Groups
		uid    int
		want   int
	}{{sandbox.Groups{}, 0, 3}, {sandbox.Groups{}, 1000, 2}, {sandbox.Groups{Memory: "/m", Processes: "/p"}, 0, 1}, {sandbox.Groups{Memory: "/m", Processes: "/m", CPU: "/m"}, 0, 0}} {
		sb := sandbox.Sandbox{Groups: tc.groups, Profile: sandbox.Profile{Limits: limits}}
		if gaps := sb.LimitGaps(tc.uid); len(gaps) != tc.want {
			t.Errorf("%+v as %d: %q", tc.groups, tc.uid, gaps)
		}
	}
}

// A real group, where this machine has one.
func TestGroup(t *testing.T) {
	g := sandbox.FindGroups("/proc", time.Now())
	if g.Processes == "" {
		t.Skip("no control group is delegated to this process")
	}
	made, err := g.MakeGroup(relay.Limits{Processes: 17})
	if err != nil || len(made) != 1 {
		t.Fatalf("%v %v", made, err)
	}
	defer os.Remove(made[0])
	data, err := os.ReadFile(filepath.Join(made[0], "pids.max"))
	if err != nil || strings.TrimSpace(string(data)) != "17" {
		t.Errorf("%q %v", data, err)
	}
	if none, err := g.MakeGroup(relay.Limits{Files: 3}); err != nil || len(none) != 0 {
		t.Errorf("no group is needed: %v %v", none, err)
	}
	missing := sandbox.Groups{Processes: filepath.Join(t.TempDir(), "gone")}
	if _, err := missing.MakeGroup(relay.Limits{Processes: 1}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a limit without its group: %v", err)
	}
}

// Groups that a killed program left are removed by the next one, young ones are not.
func TestGroupSweep(t *testing.T) {
	g := sandbox.FindGroups("/proc", time.Now())
	if g.Processes == "" {
		t.Skip("no control group is delegated to this process")
	}
	made, err := g.MakeGroup(relay.Limits{Processes: 17})
	testenv.Must(t, err)
	defer os.Remove(made[0])
	sandbox.FindGroups("/proc", time.Now())
	if _, err := os.Stat(made[0]); err != nil {
		t.Errorf("a young group was removed: %v", err)
	}
	sandbox.FindGroups("/proc", time.Now().Add(time.Hour))
	if _, err := os.Stat(made[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old group stays: %v", err)
	}
}

// The counts of a group are read in both versions of control groups.
func TestUsedCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  sandbox.Usage
	}{
		"version 2":                 {map[string]string{"memory.events": "low 0\nmax 9\noom 1\noom_kill 2\n", "pids.events": "max 3\n"}, sandbox.Usage{Killed: 2, Refused: 3}},
		"version 1":                 {map[string]string{"memory.failcnt": "7\n", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"}, sandbox.Usage{Killed: 1}},
		"the machine had no memory": {map[string]string{"memory.events": "max 0\noom 0\noom_kill 1\n"}, sandbox.Usage{}},
		"none":                      {nil, sandbox.Usage{}},
		"garbage":                   {map[string]string{"memory.events": "oom x\noom_kill\n", "pids.events": "max -1\n"}, sandbox.Usage{}},
	} {
		dir := t.TempDir()
		for file, text := range tc.files {
			testenv.Must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
		}
		if got := sandbox.UsedOf(dir); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}
