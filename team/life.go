package team

import "fmt"

// Life is the state of a team between create and delete. It is not stored: Facts.Life derives it
// from the files.
type Life string

// States of a team's life.
const (
	Absent   Life = "absent"   // no registry
	Empty    Life = "empty"    // no member but the lead
	Staffed  Life = "staffed"  // members, none of whom has work
	Assigned Life = "assigned" // a member owns an unfinished task
	Live     Life = "live"     // a process of the team runs
	Deleting Life = "deleting" // its end is on record, its files are on their way
)

// LifeEvent is what happens to a team as a whole.
type LifeEvent string

// Events of a team's life.
const (
	OnCreate  LifeEvent = "create"
	OnRestore LifeEvent = "restore" // from a backup
	OnJoin    LifeEvent = "join"
	OnLeave   LifeEvent = "leave"
	OnAssign  LifeEvent = "assign"
	OnFinish  LifeEvent = "finish" // a task is completed, released or removed
	OnStart   LifeEvent = "start"  // a member's process, or a leader
	OnEnd     LifeEvent = "end"    // of one of them
	OnEndAll  LifeEvent = "end all"
	OnDelete  LifeEvent = "delete"
	OnGone    LifeEvent = "gone" // the files are away
)

// LifeMove is a transition of a team's state.
type LifeMove struct {
	From Life
	On   LifeEvent
	To   Life
}

// LifeTable has every transition of a team's state: May answers from it, and the tests compare it
// with a model. Two rows may share From and On: the remaining facts decide between them. There is
// no row from live to deleting: the members are ended first. Any process may finish a deletion that
// has begun, and nothing else is allowed then.
var LifeTable = []LifeMove{
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

// Life returns the state of a team with these facts.
func (f Facts) Life() Life {
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

// LifeError reports something that cannot happen to a team where it is.
type LifeError struct {
	From Life
	On   LifeEvent
}

func (e *LifeError) Error() string {
	return fmt.Sprintf("team: it is %s, which allows no %s", e.From, e.On)
}

// May returns nil when LifeTable has a row for this state and event, otherwise a *LifeError. It
// serves operations on a whole team, a deletion or a restore. Operations on members and tasks have
// checks of their own.
func (l Life) May(on LifeEvent) error {
	for _, m := range LifeTable {
		if m.From == l && m.On == on {
			return nil
		}
	}
	return &LifeError{From: l, On: on}
}
