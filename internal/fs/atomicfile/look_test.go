package atomicfile_test

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"waggle/internal/fs/atomicfile"
)

// TestTryFlockBesideLooks: processes that test whether a lease is held do not keep it from a process
// that takes it. A process that holds the lease makes TryFlock fail at once, and every test reports it
// as held.
func TestTryFlockBesideLooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lease")
	release := mustTry(t, path, atomicfile.Options{})
	if _, again, err := atomicfile.TryFlock(path, atomicfile.Options{}); err != nil || again {
		t.Errorf("it was taken twice: %v, %v", again, err)
	}
	must(t, release())
	var over atomic.Bool
	var looking sync.WaitGroup
	for range 2 {
		looking.Go(func() {
			for !over.Load() {
				if _, err := atomicfile.Flocked(path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 300 {
		release, held, err := atomicfile.TryFlock(path, atomicfile.Options{})
		if err != nil || !held {
			t.Errorf("round %d: held by a look: %v, %v", i, held, err)
			break
		}
		if runs, err := atomicfile.Flocked(path); err != nil || !runs {
			t.Errorf("round %d: a look does not see it: %v, %v", i, runs, err)
		}
		must(t, release())
	}
	over.Store(true)
	looking.Wait()
}
