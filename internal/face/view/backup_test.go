package view_test

import (
	"testing"

	"waggle/internal/face/view"
	"waggle/operator/teams"
)

// TestRestored: a restore, and the plan of one, name the team of the backup, where that is another one.
func TestRestored(t *testing.T) {
	for from, want := range map[string]string{"api": "1 file", "old": "1 file, from a backup of old"} {
		line := view.RestoredPage(&teams.Restored{Team: "api", From: from, Files: 1})[0].Line
		if got := line[len(line)-1].Text; got != " is restored: "+want {
			t.Errorf("%q, want %q", got, want)
		}
		plan := view.RestorePlanPage(&teams.RestorePlan{Team: "api", From: from, Files: 1})[0].Line
		if got := plan[0].Text; got != "would restore team api: "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
