package team_test

import "testing"

// TestMigrate001: the registry says which version it is, and nothing else changes.
func TestMigrate001(t *testing.T) {
	if got := changes(t, migrated(t, "001"), 1); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
