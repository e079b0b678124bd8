package team_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "waggle/internal/testenv/seeded"
	"waggle/team"
)

// stateModel is a team as its facts say, with what each event does to them.
var stateModel = map[team.Event]func(t *rapid.T, f team.Facts) team.Facts{
	team.OnCreate: func(t *rapid.T, f team.Facts) team.Facts {
		return team.Facts{Exists: true, Members: rapid.IntRange(0, 2).Draw(t, "members")}
	},
	team.OnRestore: func(t *rapid.T, f team.Facts) team.Facts {
		f = team.Facts{Exists: true, Members: rapid.IntRange(0, 2).Draw(t, "members")}
		if f.Members > 0 {
			f.Open = rapid.IntRange(0, 2).Draw(t, "open")
		}
		return f
	},
	team.OnJoin: func(t *rapid.T, f team.Facts) team.Facts { f.Members++; return f },
	team.OnLeave: func(t *rapid.T, f team.Facts) team.Facts {
		// A member that leaves gives its unfinished tasks back.
		if f.Members > 0 {
			f.Members--
			f.Open = rapid.IntRange(0, f.Open).Draw(t, "open")
		}
		if f.Members == 0 {
			f.Open = 0
		}
		return f
	},
	team.OnAssign: func(t *rapid.T, f team.Facts) team.Facts {
		if f.Members > 0 {
			f.Open++
		}
		return f
	},
	team.OnFinish: func(t *rapid.T, f team.Facts) team.Facts { f.Open = max(0, f.Open-1); return f },
	team.OnStart:  func(t *rapid.T, f team.Facts) team.Facts { f.Running++; return f },
	team.OnEnd:    func(t *rapid.T, f team.Facts) team.Facts { f.Running--; return f },
	team.OnEndAll: func(t *rapid.T, f team.Facts) team.Facts { f.Running = 0; return f },
	team.OnDelete: func(t *rapid.T, f team.Facts) team.Facts { f.Deleting = true; return f },
	team.OnGone:   func(t *rapid.T, f team.Facts) team.Facts { return team.Facts{} },
}

// TestState makes random moves: every allowed move leads to a state of the table, every other one is
// refused, a team is not deleted while members run, and after a deletion has begun only a new team
// can follow.
func TestState(t *testing.T) {
	t.Parallel()
	walked := map[team.Transition]bool{}
	var events []team.Event
	for on := range stateModel {
		events = append(events, on)
	}
	rapid.Check(t, func(t *rapid.T) {
		var f team.Facts
		for range 60 {
			on := rapid.SampledFrom(events).Draw(t, "event")
			from := f.State()
			if err := from.May(on); err != nil {
				var life *team.StateError
				if !errors.As(err, &life) || life.From != from || life.On != on {
					t.Fatalf("%v", err)
				}
				continue
			}
			after := stateModel[on](t, f)
			if !slices.Contains(team.Transitions, team.Transition{From: from, On: on, To: after.State()}) {
				t.Fatalf("%+v to %+v on %s: the table has no such move", f, after, on)
			}
			if after.Deleting && f.Running > 0 {
				t.Fatalf("%+v is deleted while it runs", f)
			}
			if f.Deleting && after.Exists && !after.Deleting {
				t.Fatalf("%+v came back", f)
			}
			walked[team.Transition{From: from, On: on, To: after.State()}] = true
			f = after
		}
	})
	for _, m := range team.Transitions {
		if !walked[m] {
			t.Errorf("no walk made the move %+v", m)
		}
	}
}

func TestStateRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from team.State
		on   team.Event
	}{
		{team.Live, team.OnDelete}, {team.Live, team.OnRestore}, {team.Staffed, team.OnCreate}, {team.Assigned, team.OnRestore},
		{team.Absent, team.OnJoin}, {team.Absent, team.OnDelete}, {team.Empty, team.OnAssign}, {team.Empty, team.OnLeave},
		{team.Deleting, team.OnJoin}, {team.Deleting, team.OnStart}, {team.Deleting, team.OnAssign}, {team.Live, team.OnGone},
	} {
		if err := c.from.May(c.on); err == nil {
			t.Errorf("%s allows %s", c.from, c.on)
		}
	}
	if slices.Contains(team.Transitions, team.Transition{From: team.Empty, On: team.OnJoin, To: team.Live}) {
		t.Error("a join starts nothing")
	}
}
