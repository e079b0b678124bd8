//go:build unix

package process_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator/process"
	"waggle/spawn"
)

// TestPaneStates: a pane gets the state of its member by one command of tmux for each change, and none without one.
func TestPaneStates(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	testenv.Must(t, testenv.Executable(filepath.Join(dir, "tmux"), []byte("#!/bin/sh\necho \"$*\" >> "+said+"\n")))
	op := r.Op
	op.Environ = []string{"PATH=" + dir + ":/usr/bin:/bin"}
	self := testenv.Value(spawn.Identify(os.Getpid()))(t)
	p := process.Of(op).Panes(s)
	ctx, stop := context.WithCancel(t.Context())
	defer p.Wg.Wait()
	defer stop()
	var looks atomic.Int32
	var state atomic.Value
	state.Store("needs you")
	read := func(context.Context) (map[string]string, error) {
		looks.Add(1)
		return map[string]string{"ann": state.Load().(string), "bob": "working"}, nil
	}
	p.Show(ctx, read) // there is no pane
	p.Names(map[string]string{"%1": "ann", "%2": "carl"})
	p.ShowsIn(spawn.Pane{Mux: spawn.MuxTmux, Server: self, Socket: "/nowhere/tmux", ID: "%1"})
	lines := func() []string {
		text, err := os.ReadFile(said)
		if err != nil {
			return nil
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	look := func() {
		t.Helper()
		n := looks.Load()
		p.Show(ctx, read)
		testenv.Eventually(t, "it was looked", func() bool { return looks.Load() > n })
	}
	look()
	testenv.Eventually(t, "the state is shown", func() bool { return len(lines()) == 1 })
	look()
	look() // the one before has ended
	if got := lines(); len(got) != 1 || got[0] != "-u -S /nowhere/tmux set-option -p -t %1 @waggle-state needs you" {
		t.Errorf("%q", got)
	}
	state.Store("working")
	look()
	testenv.Eventually(t, "the change is shown", func() bool { return len(lines()) == 2 && strings.HasSuffix(lines()[1], " working") })
}
