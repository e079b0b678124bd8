package mailbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// requireTool returns the path of a program that a test needs. Without it the test
// is skipped, or fails if WAGGLE_REQUIRE lists it. For node this includes the npm
// package proper-lockfile below WAGGLE_NODE_MODULES.
func requireTool(t testing.TB, name string) string {
	t.Helper()
	missing := t.Skipf
	if slices.Contains(strings.Split(os.Getenv("WAGGLE_REQUIRE"), ","), name) {
		missing = t.Fatalf
	}
	path, err := exec.LookPath(name)
	if err != nil {
		missing("needs %s: %v", name, err)
	}
	if name == "node" {
		if os.Getenv("WAGGLE_NODE_MODULES") == "" {
			missing("needs npm's proper-lockfile 4.1.2: WAGGLE_NODE_MODULES names no directory with node_modules in it")
		}
		if _, err := os.Stat(filepath.Join(nodeModules(), "proper-lockfile")); err != nil {
			missing("needs npm's proper-lockfile 4.1.2 in $WAGGLE_NODE_MODULES/node_modules: %v", err)
		}
	}
	return path
}

func nodeModules() string { return filepath.Join(os.Getenv("WAGGLE_NODE_MODULES"), "node_modules") }

// nodeScript is one of testdata's scripts, ready to be started.
func nodeScript(t testing.TB, script string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(requireTool(t, "node"), append([]string{filepath.Join("testdata", script)}, args...)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+nodeModules())
	cmd.Stderr = os.Stderr
	return cmd
}

// haveNode is for tests of which only a part needs node.
func haveNode(t *testing.T) (ok bool) {
	t.Run("node", func(t *testing.T) {
		requireTool(t, "node")
		ok = true
	})
	return ok
}
