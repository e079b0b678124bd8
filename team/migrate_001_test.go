package team_test

import "testing"

// TestMigrate001: the step writes the version into the registry and changes nothing else.
func TestMigrate001(t *testing.T) {
	t.Parallel()
	if got := changes(t, migrated(t, "001"), 1); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
