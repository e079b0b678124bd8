package mailbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
)

// TestUnmended: a reader with Unmended gets the entries that a repair of a broken file would keep,
// and a report; the file does not change and no file appears beside it. A writer repairs it all the
// same.
func TestUnmended(t *testing.T) {
	t.Parallel()
	for name, c := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "ann.json")
			testenv.Must(t, os.WriteFile(path, []byte(c.file), 0o600))
			var reports []mailbox.Report
			b, err := mailbox.Dir{Path: dir}.Open("ann", mailbox.Options{Unmended: true, Report: func(r mailbox.Report) { reports = append(reports, r) }})
			testenv.Must(t, err)
			entries, err := b.Entries(t.Context())
			testenv.Must(t, err)
			var got []string
			for _, e := range entries {
				got = append(got, e.Envelope.Text)
			}
			if len(got) != len(c.kept) {
				t.Errorf("entries %q, want %q", got, c.kept)
			}
			if unread, err := b.Unread(t.Context()); err != nil || len(unread) != len(c.kept) {
				t.Errorf("unread %v, %v", unread, err)
			}
			if len(reports) == 0 || reports[0].Path != path || reports[0].Quarantine != "" {
				t.Errorf("reports %v", reports)
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != c.file {
				t.Errorf("the file is %q, %v", now, err)
			}
			if files, _ := os.ReadDir(dir); len(files) != 1 {
				t.Errorf("beside it: %v", files)
			}
			if len(entries) == 0 {
				return
			}
			testenv.Must(t, b.MarkRead(t.Context(), entries[0].ID))
			if kept, _ := filepath.Glob(path + ".corrupt-*"); len(kept) != 1 {
				t.Errorf("who writes kept %v", kept)
			}
		})
	}
}
