//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// On a terminal the difference is shown and asked about: no leaves the file alone.
func TestHooksInstallAsks(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(dir, "claude"))
	path := filepath.Join(dir, "claude", "settings.json")
	testenv.Must(t, os.Mkdir(filepath.Dir(path), 0o700))
	writeFile(t, path, "{\"model\": \"opus\"}\n")
	for _, tc := range []struct {
		key     string
		code    int
		written bool
	}{{"n", 6, false}, {"y", 0, true}} {
		x := onTerminal(t, dir, "hooks", "install")
		x.wait("hook claude TeammateIdle")
		x.wait("[y/N]")
		x.keysCount()
		x.press(tc.key)
		if code := x.exit(); code != tc.code {
			t.Errorf("%s: exit %d, want %d:\n%s", tc.key, code, tc.code, x.text())
		}
		b, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(b), "hook claude Stop") != tc.written {
			t.Errorf("%s: %v\n%s", tc.key, err, b)
		}
	}
}
