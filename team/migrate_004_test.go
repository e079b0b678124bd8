package team_test

import "testing"

// TestMigrate004: in_process is in-process.
func TestMigrate004(t *testing.T) {
	t.Parallel()
	if got := changes(t, migrated(t, "004"), 4); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
