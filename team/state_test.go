package team_test

import (
	"errors"
	"testing"

	"waggle/team"
)

// TestState compares every state with what it allows: a team is not deleted while its processes run, not
// restored over another, and nothing but its end follows once a deletion has begun.
func TestState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		facts                 team.Facts
		state                 team.State
		restore, join, remove bool
	}{
		{team.Facts{}, team.Absent, true, false, false},
		{team.Facts{Members: 1, Open: 1, Running: 1, Deleting: true}, team.Absent, true, false, false},
		{team.Facts{Exists: true}, team.Empty, false, true, true},
		{team.Facts{Exists: true, Open: 1}, team.Empty, false, true, true},
		{team.Facts{Exists: true, Members: 2}, team.Staffed, false, true, true},
		{team.Facts{Exists: true, Members: 1, Open: 1}, team.Assigned, false, true, true},
		{team.Facts{Exists: true, Running: 1}, team.Live, false, true, false},
		{team.Facts{Exists: true, Members: 1, Open: 1, Running: 1}, team.Live, false, true, false},
		{team.Facts{Exists: true, Deleting: true}, team.Deleting, false, false, true},
		{team.Facts{Exists: true, Deleting: true, Members: 1, Open: 1, Running: 1}, team.Deleting, false, false, true},
	} {
		if got := c.facts.State(); got != c.state {
			t.Errorf("%+v is %s, want %s", c.facts, got, c.state)
		}
		for on, allowed := range map[team.Event]bool{team.OnRestore: c.restore, team.OnJoin: c.join, team.OnDelete: c.remove} {
			err := c.state.May(on)
			var refused *team.StateError
			if (err == nil) != allowed || err != nil && (!errors.As(err, &refused) || refused.From != c.state || refused.On != on) {
				t.Errorf("%s, %s: %v", c.state, on, err)
			}
		}
	}
}
