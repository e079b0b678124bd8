package team_test

import "testing"

// TestMigrate003: a team of seed 002 gets a lead: its id, its entry, its mailbox.
func TestMigrate003(t *testing.T) {
	t.Parallel()
	if got := changes(t, migrated(t, "003"), 3); len(got) != 3 {
		t.Errorf("%q", got)
	}
}
