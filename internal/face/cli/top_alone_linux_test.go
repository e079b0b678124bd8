//go:build linux

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestScreenAlone: without team, git and agent, waggle on a terminal opens the screen, which says what to do first; q and
// Ctrl-C leave the page of waggle on the terminal. A pipe, --plain and a terminal that cannot draw get the page alone.
func TestScreenAlone(t *testing.T) {
	t.Parallel()
	page := func(dir string, env []string, args ...string) *terminal {
		cmd := exec.CommandContext(t.Context(), binary(t), args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append([]string{"TERM=xterm-256color", "PATH=" + dir, "HOME=" + dir, "CLAUDE_CONFIG_DIR=" + dir,
			"WAGGLE_ROOT=" + filepath.Join(dir, "root"), "WAGGLE_STATE=" + filepath.Join(dir, "state")}, env...)...)
		return startTerminal(t, cmd)
	}
	const draws = "\x1b[?1049h"
	for key, args := range map[string][]string{"q": nil, "\x03": {"top"}} {
		x := page(t.TempDir(), nil, args...)
		x.wait("waggle doctor: what works on this")
		for _, text := range []string{"Nothing waits for you", "n starts a member", "no coding agent: none of claude, ", "waggle new exec CMD: a shell command", "waggle hooks install: "} {
			if !strings.Contains(x.text(), text) {
				t.Errorf("the screen does not say %q: %q", text, x.text())
			}
		}
		x.press(key)
		code := x.exit()
		_, left, ok := strings.Cut(x.text(), "\x1b[?1049l")
		if code != 0 || !ok || !strings.Contains(left, "There is no team here yet") {
			t.Errorf("%q leaves %d: %q", key, code, left)
		}
	}
	for _, one := range []struct {
		env  []string
		args []string
	}{{nil, []string{"--plain"}}, {[]string{"TERM=dumb"}, nil}, {[]string{"TERM=dumb"}, []string{"top"}}} {
		x := page(t.TempDir(), one.env, one.args...)
		code := x.exit()
		if s := x.text(); code != 0 || strings.Contains(s, draws) || !strings.Contains(s, "There is no team here yet") {
			t.Errorf("%v: %d: %q", one, code, s)
		}
	}
}
