//go:build unix

package claude

import (
	"path/filepath"
	"slices"
	"testing"

	"waggle/agent"
	"waggle/internal/test/testenv"
)

// A command is held to limits by the client's own variables, and by a script that runs it.
func TestLimitsOf(t *testing.T) {
	dir := t.TempDir()
	got, err := limitsOf(agent.CallLimits{Time: 2e9, CPU: 1.5e9, Output: 4096}, dir)
	testenv.Must(t, err)
	for _, want := range []string{"BASH_MAX_TIMEOUT_MS=2000", "BASH_DEFAULT_TIMEOUT_MS=2000", "BASH_MAX_OUTPUT_LENGTH=4096", "CLAUDE_CODE_SHELL_PREFIX=" + filepath.Join(dir, "shell")} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not in %q", want, got)
		}
	}
	if got, err := limitsOf(agent.CallLimits{}, dir); err != nil || len(got) != 0 {
		t.Errorf("without limits %q, %v", got, err)
	}
}
