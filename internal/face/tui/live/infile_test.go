package live_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/face/tui/live"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/record"
)

// TestInFileOnDisk: InFile compares a change with the file at the real path that was recorded when it was
// asked, and says why a change cannot be compared.
func TestInFileOnDisk(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	for name, text := range map[string]string{"a.go": "one\ntwo\n", "bytes": "a\x00b", "large": strings.Repeat("0123456789abcde\n", 1<<16) + "x"} {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, c := range []struct{ name, old, want string }{
		{"a.go", "two", "@@ -1,2 +1,2 @@\n one\n-two\n+three"},
		{"a.go", "four", "the text that it replaces is not in the file"},
		{"none", "two", "there is no such file"},
		{"bytes", "a", "it cannot be compared: the file is no text"},
		{"large", "x", "it cannot be compared: read " + filepath.Join(dir, "large") + ": the file is too large"},
	} {
		in, err := json.Marshal(map[string]string{"file_path": "/link/" + c.name, "old_string": c.old, "new_string": "three"})
		testenv.Must(t, err)
		q := decide.Request{PendingItem: decide.PendingItem{Tool: "Edit", Input: in, Cwd: "/"}}
		q.Paths = []record.RealPath{{Spelled: "/link/" + c.name, Real: filepath.Join(dir, c.name)}}
		if got := live.InFile(q); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	q := decide.Request{PendingItem: decide.PendingItem{Tool: "Write", Input: json.RawMessage(`{"file_path":"/link/none","content":"x"}`), Cwd: "/"}}
	q.Paths = []record.RealPath{{Spelled: "/link/none", Real: filepath.Join(dir, "none")}}
	if got := live.InFile(q); got != "the file is new" {
		t.Errorf("%q", got)
	}
}
