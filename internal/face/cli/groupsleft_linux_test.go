package cli_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/cgroup"
	"waggle/internal/test/testenv"
)

// delegated returns the directory for control groups of this process's children. It skips the
// test if none can be made there.
func delegated(t *testing.T) string {
	t.Helper()
	dir, err := cgroup.Here("/proc")
	if err == nil {
		var g cgroup.Group
		if g, err = cgroup.Make(dir, fmt.Sprint("waggle-tried-", os.Getpid())); err == nil {
			err = os.Remove(g.Path)
		}
	}
	if err != nil {
		t.Skipf("no control group of version 2 can be made here: %v", err)
	}
	return dir
}

// TestGroupsOfThoseWhoLeft: the control group of a member that has ended goes with it, by
// handshake or by force, while its team goes on.
func TestGroupsOfThoseWhoLeft(t *testing.T) {
	t.Parallel()
	dir := delegated(t)
	h := newTeam(t, "left", "team: left\nmembers: [{name: ann, agent: exec}, {name: bob, agent: exec}, {name: cy, agent: exec}]\n")
	groups := func() int {
		found, err := filepath.Glob(filepath.Join(dir, "waggle-"+filepath.Base(h.stateOf("left"))+"-*"))
		testenv.Must(t, err)
		return len(found)
	}
	if n := groups(); n != 3 {
		t.Fatalf("%d control groups for 3 members", n)
	}
	h.must("stop", "ann", "--team", "left")
	testenv.Eventually(t, "ann's group is gone", func() bool { return groups() == 2 })
	h.must("stop", "bob", "--force", "--team", "left")
	testenv.Eventually(t, "bob's group is gone", func() bool { return groups() == 1 })
	if !h.status("left").Leader.Led {
		t.Error("nobody leads")
	}
	h.must("down", "left")
	testenv.Eventually(t, "no group is left", func() bool { return groups() == 0 })
}

// TestDownOfANewerRegistry: a team whose registry a newer program has written is ended,
// and the registry stays as it is, byte for byte, to the archive.
func TestDownOfANewerRegistry(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, args := range [][]string{{"down", "newer"}, {"down", "--force", "newer"}} {
		t.Run(args[1], func(t *testing.T) {
			h := newTeam(t, "newer", "team: newer\nmembers: [{name: ann, agent: exec}]\n")
			st := h.status("newer")
			ids := []int{st.Leader.PID, st.Members[0].PID}
			path := filepath.Join(h.dir, "root", "teams", "newer", "config.json")
			b := readFile(t, path)
			b = bytes.Replace(b, []byte("\"1.4.0\""), []byte("\"99.0.0\""), 1)
			writeFile(t, path, b)
			stdout, stderr, code := h.waggle(args...)
			if code != 0 {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
			for _, pid := range ids {
				if exists(fmt.Sprintf("/proc/%d/exe", pid)) {
					t.Errorf("pid %d lives", pid)
				}
			}
			now, err := os.ReadFile(path)
			if err != nil { // it went to the archive, as it was
				var found []string
				_ = filepath.WalkDir(filepath.Join(h.dir, "s"), func(at string, d fs.DirEntry, err error) error {
					if err == nil && d.Name() == "config.json" {
						found = append(found, at)
					}
					return nil
				})
				if len(found) != 1 {
					t.Fatalf("config.json is neither there nor in the archive: %v %q", err, found)
				}
				if now, err = os.ReadFile(found[0]); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(now, b) {
				t.Errorf("the registry was written:\n%s", now)
			}
		})
	}
}
