package task_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"waggle/task"
)

// A byte order mark goes with the first change: strict readers cannot read it.
func TestRewriteDropsTheByteOrderMark(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "1.json")
	if err := os.WriteFile(path, []byte("\ufeff"+`{"id":"1","subject":"s","description":"d","status":"pending","blocks":[],"blockedBy":[],"own":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	board, err := task.Open(dir, "api", task.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := board.Update(t.Context(), "1", func(k *task.Task) error { k.Subject = "other"; return nil }); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(got, []byte("{")) || !bytes.Contains(got, []byte(`"own": 1`)) || !bytes.Contains(got, []byte(`"other"`)) {
		t.Errorf("%q, %v", got, err)
	}
}
