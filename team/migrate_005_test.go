package team_test

import "testing"

// TestMigrate005: old mail moves to where it outlives the team.
func TestMigrate005(t *testing.T) {
	t.Parallel()
	if got := changes(t, migrated(t, "005"), 5); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
