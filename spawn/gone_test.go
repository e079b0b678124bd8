//go:build unix

package spawn_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"waggle/spawn"
	"waggle/spawn/spawntest"
)

// waiting waits for the end of a process beside the test.
func waiting(t *testing.T, id spawn.Identity) <-chan error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	seen := make(chan error, 1)
	go func() {
		defer cancel()
		err := spawn.WaitGone(ctx, id)
		if err == nil && id.Alive() {
			err = errors.New("it was told of while it ran")
		}
		seen <- err
	}()
	return seen
}

// The end of a process is seen by everybody who waits for it, soon, and not before
// it has come.
func TestWaitGone(t *testing.T) {
	t.Parallel()
	p := spawntest.Start(t, processBackend, spawntest.Spec(t, spawntest.ModeBlock))
	id := p.Identity()
	var waits []<-chan error
	for range 5 {
		waits = append(waits, waiting(t, id))
	}
	for _, w := range waits {
		select {
		case err := <-w:
			t.Fatalf("while it runs: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	kill(t, id)
	for _, w := range waits { // each ends by itself after a minute at the latest
		if err := <-w; err != nil {
			t.Error(err)
		}
	}
	if err := spawn.WaitGone(t.Context(), id); err != nil {
		t.Errorf("when it was gone already: %v", err)
	}
}

// A process that is not the parent notices the end too, also while the zombie is not reaped: a
// zombie does not run.
func TestWaitGoneZombie(t *testing.T) {
	t.Parallel()
	parent, child := family(t, spawntest.ModeBlock, ",stay")
	w := waiting(t, child)
	kill(t, child)
	if err := <-w; err != nil {
		t.Error(err)
	}
	if !parent.Identity().Alive() {
		t.Error("its parent ended too")
	}
}

// A later process with the same pid is not waited for.
func TestWaitGoneRecycled(t *testing.T) {
	t.Parallel()
	p := spawntest.Start(t, processBackend, spawntest.Spec(t, spawntest.ModeBlock))
	before := withStart(t, p.Identity(), -1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := spawn.WaitGone(ctx, before); err != nil {
		t.Error(err)
	}
	alive(t, p.Identity())
}

func TestWaitGoneContext(t *testing.T) {
	t.Parallel()
	p := spawntest.Start(t, processBackend, spawntest.Spec(t, spawntest.ModeBlock))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := spawn.WaitGone(ctx, p.Identity()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// WaitGone leaves no descriptor open, however it ends.
func TestWaitGoneCloses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts the entries of /proc/self/fd")
	}
	p := spawntest.Start(t, processBackend, spawntest.Spec(t, spawntest.ModeBlock))
	round := func() {
		var wg sync.WaitGroup
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			wg.Go(func() {
				defer cancel()
				_ = spawn.WaitGone(ctx, p.Identity())
			})
		}
		wg.Wait()
	}
	open := func() int {
		fds, err := filepath.Glob("/proc/self/fd/*")
		must(t, err)
		n := 0
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && to == "anon_inode:[pidfd]" {
				n++
			}
		}
		return n
	}
	round()
	before := open()
	for range 5 {
		round()
	}
	if after := open(); after > before {
		t.Errorf("%d pidfds are open after the waits, %d before", after, before)
	}
}
