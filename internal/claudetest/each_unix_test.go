//go:build unix

package claudetest_test

import (
	"slices"
	"sync"
	"testing"

	"waggle/internal/claudetest"
	"waggle/internal/testenv"
)

// TestEach: Each takes the newest version and, unless every test runs, one of the others, by the seed;
// Every takes all.
func TestEach(t *testing.T) {
	t.Setenv("WAGGLE_CLAUDE_VERSIONS", "1.0.1,1.0.2,1.0.3,1.0.4")
	t.Setenv("WAGGLE_SEED", "7")
	run := func(each func(*testing.T, func(*testing.T, string))) (got []string) {
		var mu sync.Mutex
		t.Run("versions", func(t *testing.T) {
			each(t, func(_ *testing.T, version string) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, version)
			})
		})
		slices.Sort(got)
		return got
	}
	all := claudetest.Versions()
	if got := run(claudetest.Every); !slices.Equal(got, all) {
		t.Errorf("Every took %v", got)
	}
	got := run(claudetest.Each)
	switch {
	case testenv.All() && !slices.Equal(got, all):
		t.Errorf("Each took %v where every test runs", got)
	case !testenv.All() && (len(got) != 2 || got[1] != all[3] || !slices.Contains(all[:3], got[0])):
		t.Errorf("Each took %v", got)
	case !slices.Equal(got, run(claudetest.Each)):
		t.Error("Each took others with the same seed")
	}
}
