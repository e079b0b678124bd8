//go:build unix

package spawn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
)

func init() { scenarios["commander"] = commander }

// order is what the scenario commander is told to run.
type order struct {
	Argv, Env []string
	Count     int
	Log       string
}

// commander is a scenario: it runs commands, as a worker does, until it is killed.
func commander() error {
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return err
	}
	log, err := spawn.OpenLog(o.Log)
	if err != nil {
		return err
	}
	for range o.Count {
		go spawn.Command{Argv: o.Argv, Env: o.Env, Output: log, Reap: true}.Run(context.Background())
	}
	if err := json.NewEncoder(os.Stdout).Encode("started"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// Processes that a killed program's commands left running are found with their owner and their run,
// also when they left their group and their parent. No other process is found.
func TestOrphans(t *testing.T) {
	t.Parallel()
	owner := fmt.Sprintf("test-%d/ann", os.Getpid())
	ours := func(m spawn.Marked) bool { return m.Owner == owner }
	n := testenv.Scale(3, 50)
	dir := t.TempDir()
	argv, env := spawntest.Helper(t, spawntest.ModeParent, "block,setsid,stay")
	cmd, in, out := scenario(t, "commander")
	testenv.Must(t, json.NewEncoder(in).Encode(order{argv, append(env, spawn.MemberMark(owner)), n, dir + "/log"}))
	var word string
	testenv.Must(t, out.Decode(&word))
	// Each is a command and one below it.
	all := func(n int) (found []spawn.Marked) {
		t.Helper()
		spawntest.Await(t, fmt.Sprintf("%d marked processes", n), func() bool {
			var err error
			if found, err = spawn.AllMarked(); err != nil {
				t.Fatal(err)
			}
			found = slices.DeleteFunc(found, func(m spawn.Marked) bool { return !ours(m) || len(m.Commands) == 0 })
			return len(found) == n
		})
		return found
	}
	for _, m := range all(2 * n) {
		if by, orphan := m.Orphan(); orphan || by.PID != cmd.Process.Pid {
			t.Errorf("%+v is an orphan of %v while that runs", m, by)
		}
	}
	testenv.Must(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	found, err := spawn.Orphans()
	found = slices.DeleteFunc(found, func(m spawn.Marked) bool { return !ours(m) })
	if err != nil || len(found) != 2*n {
		t.Fatalf("%d orphans, %v, want %d", len(found), err, 2*n)
	}
	// As gc does: each is ended by its own identity, whichever others end meanwhile.
	var wg sync.WaitGroup
	for _, m := range found {
		wg.Go(func() {
			if _, err := spawn.StopTree(context.Background(), m.ID, spawn.Grace{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, m := range found {
		if m.ID.Alive() {
			t.Errorf("%d runs on", m.ID.PID)
		}
	}
	testenv.Measured(t, "%d commands of a killed program, and %d below them: all found, all ended", n, n)
}

func init() { scenarios["descendant"] = descendant }

// descendant is a scenario: below a marked program it says which marked processes it
// finds.
func descendant() error {
	if os.Getenv("BELOW") == "" {
		exe, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.Command(exe)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "BELOW=1"), os.Stdout, os.Stderr
		return cmd.Run()
	}
	found, err := spawn.AllMarked()
	for _, m := range found {
		if m.Owner == os.Getenv(spawn.MemberVar) {
			fmt.Printf("%d of %s\n", m.ID.PID, m.Owner)
		}
	}
	return err
}

// A program does not find itself or its descendants.
func TestMarkedIsNotOurselves(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	testenv.Must(t, err)
	var out bytes.Buffer
	env := []string{scenarioEnv + "=descendant", spawn.MemberMark(fmt.Sprintf("self-%d/ann", os.Getpid()))}
	exit, err := spawn.Command{Argv: []string{exe}, Env: env, Output: &out, Reap: true}.Run(t.Context())
	if err != nil || exit.Code != 0 || out.Len() > 0 {
		t.Errorf("%+v, %v: %s", exit, err, &out)
	}
}
