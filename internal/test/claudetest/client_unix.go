//go:build unix

package claudetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// Versions are those that tests run against, the newest last.
func Versions() []string {
	if list := os.Getenv("WAGGLE_CLAUDE_VERSIONS"); list != "" {
		return strings.Split(list, ",")
	}
	return []string{Explicit, Implicit, Newest}
}

// Each runs a test for every version, side by side, in the full run.
func Each(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	testenv.Long(t)
	for _, version := range Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

// Client returns the path of claude at exactly this version. Without it the test is
// skipped, or fails if WAGGLE_REQUIRE names claude.
func Client(t testing.TB, version string) string {
	t.Helper()
	base := os.Getenv("WAGGLE_CLAUDE_DIR")
	if base == "" {
		testenv.Missing(t, "claude", fmt.Errorf("WAGGLE_CLAUDE_DIR does not say where version %s is: .ci/claude %s installs it", version, version))
	}
	// npm runs no scripts when it installs, so the package's own claude is a
	// placeholder; the program is in the package of the platform.
	pattern := filepath.Join(base, version, "node_modules", "@anthropic-ai", "claude-code-*", "claude")
	found, err := filepath.Glob(pattern)
	testenv.Must(t, err)
	if len(found) == 0 {
		testenv.Missing(t, "claude", fmt.Errorf("no program matches %s: WAGGLE_CLAUDE_DIR=%s .ci/claude %s installs it", pattern, base, version))
	}
	return found[0]
}
