package testenv

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// cleanVar is set in a test program that has dropped the variables of whoever runs it, for the test
// programs that it starts itself: what these have of them is a test's.
const cleanVar = "WAGGLE_TEST_CLEAN"

// noHome is the home directory of tests: nothing is there, and nothing can be made there.
const noHome = "/dev/null/home-of-tests"

// homeVar is the home directory of whoever runs the tests.
const homeVar = "WAGGLE_TEST_HOME"

// Home returns the home directory of whoever runs the tests, for a test that needs a place which a sandbox does not
// replace, as it does those of temporary files, or a toolchain that lies there.
func Home(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv(homeVar); dir != "" && os.Getenv("HOME") == noHome { // else a test has given this program another
		return dir
	}
	dir, err := os.UserHomeDir()
	Must(t, err)
	return dir
}

// Tests have an environment of their own: within somebody's tmux, desktop, agent or git hook they would open panes
// in that tmux, show notices on that desktop, answer for that agent, or work on that repository; in somebody's home
// directory they would read that person's settings, and write them. The go command keeps its caches and settings,
// which it finds by these variables.
func init() {
	if !testing.Testing() || !slices.ContainsFunc(os.Args[1:], func(a string) bool { return strings.HasPrefix(a, "-test.") }) || os.Getenv(cleanVar) != "" {
		return
	}
	kept := []string{"GOENV", "GOPATH", "GOMODCACHE", "GOCACHE"}
	out, err := exec.Command("go", append([]string{"env"}, kept...)...).Output()
	if values := strings.Split(strings.TrimRight(string(out), "\n"), "\n"); err == nil && len(values) == len(kept) { // else no test can run it
		for i, name := range kept {
			_ = os.Setenv(name, values[i]) // the name is well-formed
		}
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); foreign(name) {
			_ = os.Unsetenv(name) // the name is one of the environment's
		}
	}
	if runtime.GOOS != "windows" {
		_ = errors.Join(os.Setenv(homeVar, os.Getenv("HOME")), os.Setenv("HOME", noHome)) // the names are well-formed
	}
	_ = os.Setenv(cleanVar, "1") // the name is well-formed
}

// foreign reports a variable by which a program knows where it runs, and for whom.
func foreign(name string) bool {
	switch name {
	case "TMUX", "TMUX_PANE", "CLAUDECODE", "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "__CFBundleIdentifier":
		return true
	}
	return strings.HasPrefix(name, "CLAUDE_") || strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "XDG_") || slices.Contains(ours, name)
}

// ours are the variables by which waggle tells a program of a member, or a person tells waggle, where it works. Those by
// which a person runs the tests are others: WAGGLE_TEST, WAGGLE_SEED, WAGGLE_REQUIRE and their like.
var ours = []string{
	"WAGGLE_ROOT", "WAGGLE_STATE", "WAGGLE_CONFIG", "WAGGLE_WORKTREES", "WAGGLE_DEBUG", "WAGGLE_TRANSITIONS",
	"WAGGLE_TEAM", "WAGGLE_MEMBER", "WAGGLE_TOKEN", "WAGGLE_JOIN", "WAGGLE_SOCKET", "WAGGLE_SPAWN_TOKEN",
	"WAGGLE_TASK_ID", "WAGGLE_TASK_SUBJECT", "WAGGLE_ARTIFACTS", "WAGGLE_COMMAND", "WAGGLE_PORT_BASE",
}
