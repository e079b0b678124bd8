package team_test

import "testing"

// TestMigrate004: the step spells the backend in_process as in-process, and changes nothing else.
func TestMigrate004(t *testing.T) {
	t.Parallel()
	if got := changes(t, migrated(t, "004"), 4); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
