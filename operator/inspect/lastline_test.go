package inspect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator/inspect"
	"waggle/task"
)

// The last line of a log is that of its end, however long the log is; a link is not followed.
func TestLastLines(t *testing.T) {
	var last inspect.LastLines
	log := filepath.Join(t.TempDir(), task.LogName)
	if got := last.Of(log); got != "" {
		t.Errorf("no log: %q", got)
	}
	for _, c := range []struct{ text, want string }{
		{"one\ntwo\n\n", "two"},
		{strings.Repeat("long ", 5000) + "\nend", "end"},
		{"a\x1b[31mred\x1b[m\n", "ared"},
		{"\x1b[2J\x1b[3;4Hfills its screen", ""},
		{"", ""},
	} {
		testenv.Must(t, os.WriteFile(log, []byte(c.text), 0o600))
		if got := last.Of(log); got != c.want {
			t.Errorf("%.20q: %q, not %q", c.text, got, c.want)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret")
	testenv.Must(t, os.WriteFile(secret, []byte("secret\n"), 0o600))
	testenv.Must(t, os.Remove(log))
	testenv.Must(t, os.Symlink(secret, log))
	if got := last.Of(log); got != "" {
		t.Errorf("a link was followed: %q", got)
	}
}
