package mailbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"waggle/mailbox"
)

// The first change of a file removes its byte order mark: strict programs cannot read it.
func TestMarkingDropsTheByteOrderMark(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "bob.json")
	const entry = `{"from":"ann","text":"hi","timestamp":"2026-11-20T18:15:43.000Z","read":false}`
	must(t, os.WriteFile(path, []byte("\ufeff["+entry+"]"), 0o600))
	box, err := mailbox.Dir{Path: dir}.Open("bob", mailbox.Options{})
	must(t, err)
	p, err := mailbox.ReadPrompt(t.Context(), box)
	if err != nil || len(p.IDs) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	must(t, box.MarkRead(t.Context(), p.IDs...))
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "["+entry[:len(entry)-len("false}")]+"true}]" {
		t.Errorf("%q, %v", got, err)
	}
}
