package testenv

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// cleanVar is set in a test program that has dropped the variables of whoever runs it, for the test
// programs that it starts itself: what these have of them is a test's.
const cleanVar = "WAGGLE_TEST_CLEAN"

// Tests have an environment of their own: within somebody's tmux, agent or git hook they would open panes
// in that tmux, answer for that agent, or work on that repository.
func init() {
	if !testing.Testing() || !slices.ContainsFunc(os.Args[1:], func(a string) bool { return strings.HasPrefix(a, "-test.") }) || os.Getenv(cleanVar) != "" {
		return
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); foreign(name) {
			_ = os.Unsetenv(name) // the name is one of the environment's
		}
	}
	_ = os.Setenv(cleanVar, "1") // the name is well-formed
}

// foreign reports a variable by which a program knows where it runs.
func foreign(name string) bool {
	switch name {
	case "TMUX", "TMUX_PANE", "CLAUDECODE", "WAGGLE_ROOT", "WAGGLE_STATE", "WAGGLE_TEAM", "WAGGLE_CONFIG":
		return true
	}
	return strings.HasPrefix(name, "CLAUDE_") || strings.HasPrefix(name, "GIT_")
}
