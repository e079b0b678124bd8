package commands

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/home"
	_ "waggle/internal/fs/atomicfile/ordertest" // every test checks the order of its locks
	"waggle/internal/test/testenv"
	"waggle/record"
	"waggle/spawn"
)

// TestOnRecord: the process group of a command is on record, with the beginning of its arguments,
// while it runs and no longer. A group that does not end stays on record until it is forgotten, and
// only the member's own groups are listed.
func TestOnRecord(t *testing.T) {
	dir := home.Dir{Path: t.TempDir()}
	id := spawn.Identity{PID: 4711, Start: "1"}
	stays := errors.New("")
	box := runs(func(_ context.Context, c spawn.Command) (spawn.Exit, error) {
		c.Started(id)
		tools, err := Tools(dir, "i1")
		if err != nil || len(tools) != 1 || tools[0].ID.PID != id.PID {
			t.Errorf("while it runs: %+v, %v", tools, err)
		} else if got := tools[0].Argv; len(got) != 16 || got[0] != "sh" || len(got[1]) != maxToolArgv {
			t.Errorf("its arguments are on record as %q", got)
		}
		return spawn.Exit{Code: 3}, stays
	})
	argv := slices.Concat([]string{"sh", strings.Repeat("x", 2*maxToolArgv)}, slices.Repeat([]string{"y"}, 20))
	begun := 0
	e := New(dir, "i1", nil, box)
	run := func() {
		t.Helper()
		exit, err := e.Run(t.Context(), spawn.Command{Argv: argv, Started: func(spawn.Identity) { begun++ }})
		if exit.Code != 3 || err != stays {
			t.Fatal(exit, err)
		}
	}
	run()
	none(t, dir, "i1")
	stays = spawn.ErrStillAlive
	run()
	if begun != 2 {
		t.Errorf("its caller was told %d times that it began", begun)
	}
	left, err := Tools(dir, "i1")
	if err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	none(t, dir, "i2")
	testenv.Must(t, os.WriteFile(filepath.Join(dir.Tools(), "i1-1-1.json"), []byte("{"), 0o600))
	for range 2 {
		if err := left[0].Forget(); err != nil {
			t.Error(err)
		}
	}
	none(t, dir, "i1")
}

func none(t *testing.T, dir home.Dir, i record.Instance) {
	t.Helper()
	if tools, err := Tools(dir, i); err != nil || len(tools) != 0 {
		t.Errorf("on record of %s: %+v, %v", i, tools, err)
	}
}

// TestApart: a process that the end of a member has found is on record until it is forgotten.
func TestApart(t *testing.T) {
	dir := home.Dir{Path: t.TempDir()}
	self, err := spawn.Identify(os.Getpid())
	testenv.Must(t, err)
	testenv.Must(t, Apart(dir, "i1", self))
	none(t, dir, "i2")
	found, err := Tools(dir, "i1")
	if err != nil || len(found) != 1 || !found[0].ID.Is(self) || len(found[0].Argv) == 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	testenv.Must(t, found[0].Forget())
	none(t, dir, "i1")
}

// TestOutside: without its sandbox the same command runs unconfined.
func TestOutside(t *testing.T) {
	e := New(home.Dir{Path: t.TempDir()}, "i1", nil, runs(func(context.Context, spawn.Command) (spawn.Exit, error) {
		t.Error("it ran in the sandbox")
		return spawn.Exit{}, nil
	}))
	self, err := os.Executable()
	testenv.Must(t, err)
	var out bytes.Buffer
	exit, err := e.Outside().Run(t.Context(), spawn.Command{Argv: []string{self, "-test.run=^$"}, Env: os.Environ(), Dir: t.TempDir(), Output: &out})
	if err != nil || exit.Code != 0 || out.Len() == 0 {
		t.Errorf("%+v, %v: %s", exit, err, out.String())
	}
}
