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

// Event is what happens to a team as a whole. Operations on members and tasks have checks of their own.
type Event string

// Events that not every state allows.
const (
	OnRestore Event = "restore" // from a backup: only where no team is
	OnJoin    Event = "join"
	OnDelete  Event = "delete" // a team that runs is ended first; a deletion that was cut off is finished
)

// StateError reports something that cannot happen to a team where it is.
type StateError struct {
	From State
	On   Event
}

func (e *StateError) Error() string {
	return fmt.Sprintf("team: it is %s, which allows no %s", e.From, e.On)
}

// May returns nil when a team in this state allows the event, otherwise a *StateError.
func (s State) May(on Event) error {
	allows := false
	switch on {
	case OnRestore:
		allows = s == Absent
	case OnJoin:
		allows = s != Absent && s != Deleting
	case OnDelete:
		allows = s != Absent && s != Live
	}
	if allows {
		return nil
	}
	return &StateError{From: s, On: on}
}
