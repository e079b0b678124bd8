//go:build unix

package claudesessions_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/claude/claudesessions"
	"waggle/internal/test/testenv"
)

func TestToken(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
		fail string
	}{
		"whole":       {`{"peerToken":"tok","procStart":"1"}`, 0o600, "tok", ""},
		"group reads": {`{"peerToken":"tok"}`, 0o640, "", "mode 0640"},
		"folded":      {`{"PeerToken":"tok"}`, 0o600, "", "no peerToken"},
		"no text":     {`{"peerToken":7}`, 0o600, "", "no peerToken"},
		"no JSON":     {`{`, 0o600, "", "read"},
		"too large":   {`{"peerToken":"` + strings.Repeat("x", 16<<10) + `"}`, 0o600, "", ""},
	} {
		path := filepath.Join(t.TempDir(), "1.a.key")
		testenv.Must(t, os.WriteFile(path, []byte(c.text), c.mode))
		got, err := claudesessions.Entry{KeyPath: path}.Token()
		if got != c.want || (err == nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	path := filepath.Join(t.TempDir(), "key")
	testenv.Must(t, os.Symlink("/etc/passwd", path))
	if got, err := (claudesessions.Entry{KeyPath: path}).Token(); got != "" || err == nil {
		t.Errorf("a link: %q, %v", got, err)
	}
	if got, err := (claudesessions.Entry{}).Token(); got != "" || err != nil {
		t.Errorf("no key: %q, %v", got, err)
	}
}
