package team

import "fmt"

// State is the state of a team between create and delete. It is not stored: Facts.State derives it
// from the files.
type State string

// States of a team's life.
const (
	Absent   State = "absent"   // no registry
	Empty    State = "empty"    // no member but the lead
	Staffed  State = "staffed"  // members, none of whom has work
	Assigned State = "assigned" // a member owns an unfinished task
	Live     State = "live"     // a process of the team runs
	Deleting State = "deleting" // its end is on record, its files are on their way
)

// Event is what happens to a team as a whole.
type Event string

// Events of a team's life.
const (
	OnCreate  Event = "create"
	OnRestore Event = "restore" // from a backup
	OnJoin    Event = "join"
	OnLeave   Event = "leave"
	OnAssign  Event = "assign"
	OnFinish  Event = "finish" // a task is completed, released or removed
	OnStart   Event = "start"  // a member's process, or a leader
	OnEnd     Event = "end"    // of one of them
	OnEndAll  Event = "end all"
	OnDelete  Event = "delete"
	OnGone    Event = "gone" // the files are away
)

// Transition is a transition of a team's state.
type Transition struct {
	From State
	On   Event
	To   State
}

// Transitions has every transition of a team's state: May answers from it, and the tests compare it
// with a model. Two rows may share From and On: the remaining facts decide between them. There is
// no row from live to deleting: the members are ended first. Any process may finish a deletion that
// has begun, and nothing else is allowed then.
var Transitions = []Transition{
	{Absent, OnCreate, Empty},
	{Absent, OnCreate, Staffed},
	{Absent, OnRestore, Empty},
	{Absent, OnRestore, Staffed},
	{Absent, OnRestore, Assigned},
	{Empty, OnJoin, Staffed},
	{Staffed, OnAssign, Assigned},
	{Assigned, OnFinish, Staffed},
	{Assigned, OnLeave, Staffed},
	{Assigned, OnLeave, Empty},
	{Staffed, OnLeave, Empty},
	{Empty, OnStart, Live},
	{Staffed, OnStart, Live},
	{Assigned, OnStart, Live},
	{Live, OnEnd, Empty},
	{Live, OnEnd, Staffed},
	{Live, OnEnd, Assigned},
	{Live, OnEndAll, Empty},
	{Live, OnEndAll, Staffed},
	{Live, OnEndAll, Assigned},
	{Empty, OnDelete, Deleting},
	{Staffed, OnDelete, Deleting},
	{Assigned, OnDelete, Deleting},
	{Deleting, OnGone, Absent},
	// Events that do not change the state.
	{Empty, OnFinish, Empty},
	{Staffed, OnJoin, Staffed},
	{Staffed, OnLeave, Staffed},
	{Staffed, OnFinish, Staffed},
	{Assigned, OnJoin, Assigned},
	{Assigned, OnLeave, Assigned},
	{Assigned, OnAssign, Assigned},
	{Assigned, OnFinish, Assigned},
	{Empty, OnEndAll, Empty},
	{Staffed, OnEndAll, Staffed},
	{Assigned, OnEndAll, Assigned},
	{Live, OnJoin, Live},
	{Live, OnLeave, Live},
	{Live, OnAssign, Live},
	{Live, OnFinish, Live},
	{Live, OnStart, Live},
	{Live, OnEnd, Live},
	{Deleting, OnDelete, Deleting},
	{Deleting, OnEndAll, Deleting},
}

// Facts are what a team's state is derived from.
type Facts struct {
	Exists   bool // config.json is there
	Deleting bool // its end is on record
	Members  int  // present, without the lead
	Open     int  // unfinished tasks that a present member owns
	Running  int  // processes of it that run, its leader included
}

// State returns the state of a team with these facts.
func (f Facts) State() State {
	switch {
	case !f.Exists:
		return Absent
	case f.Deleting:
		return Deleting
	case f.Running > 0:
		return Live
	case f.Members == 0:
		return Empty
	case f.Open > 0:
		return Assigned
	}
	return Staffed
}

// StateError reports something that cannot happen to a team where it is.
type StateError struct {
	From State
	On   Event
}

func (e *StateError) Error() string {
	return fmt.Sprintf("team: it is %s, which allows no %s", e.From, e.On)
}

// May returns nil when Transitions has a row for this state and event, otherwise a *StateError. It
// serves operations on a whole team, a deletion or a restore. Operations on members and tasks have
// checks of their own.
func (l State) May(on Event) error {
	for _, m := range Transitions {
		if m.From == l && m.On == on {
			return nil
		}
	}
	return &StateError{From: l, On: on}
}
