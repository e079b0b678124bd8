package team_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestMigrate002: the mailboxes of 2.1.150 come to the team's own directory.
func TestMigrate002(t *testing.T) {
	t.Parallel()
	if got := changes(t, migrated(t, "002"), 2); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// TestMigrate002Conflict: two mailboxes with messages are not merged.
func TestMigrate002Conflict(t *testing.T) {
	t.Parallel()
	r, tm := thawed(t, filepath.Join("testdata", "migrate", "002", "before"))
	write(t, filepath.Join(r.InboxesDir("my-team"), "w.json"), oldMail)
	before := contents(t, r.Path)
	if _, err := tm.Migrate(t.Context(), false); err == nil || !strings.Contains(err.Error(), "both have messages") {
		t.Error(err)
	}
	after := contents(t, r.Path)
	for name, data := range before {
		if strings.Contains(name, "inboxes") && after[name] != data {
			t.Errorf("%s was %q, is %q", name, data, after[name])
		}
	}
	// An empty mailbox is no conflict.
	write(t, filepath.Join(r.InboxesDir("my-team"), "w.json"), "[]")
	if _, err := tm.Migrate(t.Context(), false); err != nil {
		t.Error(err)
	}
	if got := read(t, filepath.Join(r.InboxesDir("my-team"), "w.json")); !strings.Contains(got, "kept") {
		t.Errorf("%q", got)
	}
}
