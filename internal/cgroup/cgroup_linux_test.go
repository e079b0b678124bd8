package cgroup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/cgroup"
	"waggle/internal/test/testenv"
)

// fake writes the files of /proc for this process.
func fake(t *testing.T, own, mounts string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "self")
	err := os.Mkdir(dir, 0o700)
	for name, text := range map[string]string{"cgroup": own, "mountinfo": mounts} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	testenv.Must(t, err)
	return filepath.Dir(dir)
}

func TestHere(t *testing.T) {
	const two = "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	for _, c := range []struct{ own, mounts, want string }{
		{"0::/user.slice/a\n", two, "/sys/fs/cgroup/user.slice/a"},
		{"4:memory:/x\n0::/\n", two, "/sys/fs/cgroup"},
		{"0::/box/a\n", "31 23 0:27 /box /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup/a"},
		{"0::/boxer\n", "31 23 0:27 /box /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", ""},
		{"0::/a\n", `31 23 0:27 / /my\040groups rw shared:1 - cgroup2 none rw` + "\n", "/my groups/a"},
		{"0::/a (deleted)\n", two, ""},
		{"4:memory:/x\n", two, ""},
		{"0::/a\n", "31 23 0:27 / /sys/fs/cgroup rw - cgroup cgroup rw\n", ""},
	} {
		got, err := cgroup.Here(fake(t, c.own, c.mounts))
		if got != c.want || (err != nil) != (c.want == "") || err != nil && !errors.Is(err, cgroup.ErrNone) {
			t.Errorf("%q in %q: %q, %v, want %q", c.own, c.mounts, got, err, c.want)
		}
	}
}

func TestOwnGroups(t *testing.T) {
	for name, tc := range map[string]struct {
		own, mounts string
		want        map[string]string
	}{
		"version 2": {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n",
			"30 24 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
			map[string]string{"": "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope"}},
		"version 1": {"8:pids:/\n4:memory:/a/b\n3:cpu,cpuacct:/\n0::/\n",
			"31 24 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n32 24 0:29 /a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n33 24 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			map[string]string{"pids": "/sys/fs/cgroup/pids", "memory": "/sys/fs/cgroup/memory/b", "": "/sys/fs/cgroup/unified"}},
		"none":    {"", "30 24 0:27 / /proc rw - proc proc rw\n", map[string]string{}},
		"garbage": {"x\n:\n::\n1:a\n", "- \nx - cgroup2\n", map[string]string{}},
	} {
		got, err := cgroup.Own(fake(t, tc.own, tc.mounts))
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestSpared: a group that contains a process which ends groups is left alone, and so is one that was
// replaced by another group.
func TestSpared(t *testing.T) {
	parent := t.TempDir()
	g, err := cgroup.Make(parent, "a")
	testenv.Must(t, err)
	testenv.Must(t, os.WriteFile(filepath.Join(g.Path, "cgroup.procs"), []byte("11\n12\n"), 0o600))
	if err := g.End(t.Context(), []int{1, 12}); err == nil || !strings.Contains(err.Error(), "process 12") {
		t.Error(err)
	}
	other := g
	other.ID++
	if err := other.End(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "not the one") {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(g.Path, "cgroup.kill")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was killed: %v", err)
	}
	if _, err := cgroup.Make(filepath.Join(parent, "not", "there"), "b"); !errors.Is(err, cgroup.ErrNone) {
		t.Error(err)
	}
}

// real is a directory of a hierarchy in which groups can be made.
func real(t *testing.T) string {
	t.Helper()
	dir, err := cgroup.Here("/proc")
	if err == nil {
		if g, err := cgroup.Make(dir, fmt.Sprint("waggle-test-", os.Getpid())); err == nil {
			t.Cleanup(func() { _ = os.Remove(g.Path) })
			return g.Path
		}
	}
	dir = t.TempDir()
	if err := syscall.Mount("none", dir, "cgroup2", 0, ""); err != nil {
		t.Skipf("no control group of version 2 can be made here, and none mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	g, err := cgroup.Make(dir, fmt.Sprint("waggle-test-", os.Getpid()))
	if err != nil {
		t.Skipf("no control group of version 2 can be made here: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(g.Path) })
	return g.Path
}

// TestEnd: a process that has no environment, session or parent of ours any more is ended with its
// group.
func TestEnd(t *testing.T) {
	g, err := cgroup.Make(real(t), "member")
	testenv.Must(t, err)
	// The process enters the group, and its child leaves its environment, session and parent.
	cmd := exec.Command("sh", "-c", `echo $$ >"$1/cgroup.procs" || exit 1; env -i setsid sleep 600 </dev/null >/dev/null 2>&1 &`, "sh", g.Path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("a process cannot enter: %v %s", err, out)
	}
	var pids []int
	testenv.Eventually(t, "a process in the group", func() bool {
		pids, err = g.Processes()
		return err != nil || len(pids) > 0
	})
	testenv.Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	testenv.Must(t, g.End(ctx, []int{os.Getpid()}))
	for _, pid := range pids {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(b), ") Z ") {
			t.Errorf("process %d lives: %s", pid, b)
		}
	}
	if g.There() {
		t.Error("the group is still there")
	}
}

// TestStartsApart: two starts of one member have a group each, so that ending the group of the dead
// start does not end the new one.
func TestStartsApart(t *testing.T) {
	parent, state := real(t), t.TempDir()
	t.Cleanup(func() { // after those in them have ended
		list, _ := cgroup.Records(state, "0123") // one of them is none
		for _, r := range list {
			_ = r.Drop()
		}
	})
	proc := fake(t, "0::/"+filepath.Base(parent)+"\n", "31 23 0:27 / "+filepath.Dir(parent)+" rw - cgroup2 cgroup2 rw\n")
	var owners []cgroup.Owner
	for i := range 2 {
		cmd := exec.Command("sleep", "600")
		testenv.Must(t, cmd.Start())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = cmd.Wait() // it is killed
		}()
		t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
		o := cgroup.Owner{Member: "0123", PID: cmd.Process.Pid, Start: fmt.Sprint(i), Boot: "b"}
		if err := cgroup.Join(proc, state, o); err != nil {
			t.Skipf("a process cannot enter: %v", err)
		}
		owners = append(owners, o)
	}
	list, err := cgroup.Records(state, "0123")
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v %v", list, err)
	}
	first := list[0]
	if first.Owner != owners[0] {
		first = list[1]
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	testenv.Must(t, first.End(ctx, []int{os.Getpid()}))
	if err := first.End(ctx, nil); err != nil {
		t.Errorf("what is gone has ended: %v", err)
	}
	if err := syscall.Kill(owners[1].PID, 0); err != nil {
		t.Errorf("the other one: %v", err)
	}
	testenv.Must(t, os.WriteFile(filepath.Join(state, "cgroups", "0123.7.8"), []byte("b\n1\n/sys/fs/cgroup/theirs\n"), 0o600))
	if list, err = cgroup.Records(state, "0123"); err == nil || len(list) != 2 {
		t.Errorf("a record of another's group: %+v %v", list, err)
	}
}

// TestVanishing: a group that is removed while it is listed has no processes, and listing the group
// above it is no error.
func TestVanishing(t *testing.T) {
	parent := real(t)
	above, err := cgroup.Make(parent, "above")
	testenv.Must(t, err)
	defer func() { _ = above.Drop() }()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if g, err := cgroup.Make(above.Path, "a"); err == nil {
				_ = g.Drop()
			}
		}
	}()
	below := cgroup.Group{Path: filepath.Join(above.Path, "a")}
	for range 3000 {
		if pids, err := above.Processes(); err != nil || len(pids) > 0 {
			t.Errorf("above: %v, %v", pids, err)
			break
		}
		if pids, err := below.Processes(); err != nil && !errors.Is(err, os.ErrNotExist) || len(pids) > 0 {
			t.Errorf("the group itself: %v, %v", pids, err)
			break
		}
	}
	close(stop)
	<-stopped
}
