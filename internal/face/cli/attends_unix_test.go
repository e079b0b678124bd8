//go:build unix

package cli_test

import (
	"path/filepath"
	"testing"
	"time"

	"waggle/internal/claude/session"
	"waggle/internal/test/testenv"
)

// A screen, and the same as lines of text, attends as long as its process runs, however it ends.
func TestScreenAttends(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		end  func(x *terminal)
	}{
		{[]string{"top"}, func(x *terminal) { x.press("q") }},
		{[]string{"top"}, func(x *terminal) { _ = x.cmd.Process.Kill() }}, // the wait below finds an error
		{[]string{"top", "--plain"}, func(x *terminal) { x.press("\x03") }},
	} {
		dir := t.TempDir()
		store := session.At(filepath.Join(dir, "state"), time.Now)
		x := onTerminal(t, dir, tc.args...)
		testenv.Eventually(t, "the screen attends", func() bool { return len(store.Attending()) == 1 })
		tc.end(x)
		testenv.Eventually(t, "it attends no more", func() bool { return len(store.Attending()) == 0 })
	}
}
