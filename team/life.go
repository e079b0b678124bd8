package team

import "fmt"

// Life is where a team is between create and delete. It is never stored: it
// follows from what is there (Facts.Life).
type Life string

// States of a team's life.
const (
	Absent   Life = "absent"   // no registry
	Empty    Life = "empty"    // nobody but the lead
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

// LifeMove is a move that a team's life may make.
type LifeMove struct {
	From Life
	On   LifeEvent
	To   Life
}

// LifeTable is every move of a team's life: what May answers from, and what the tests
// compare the moves of a model with. A row can share From and On with
// another: what remains decides. There is no way from live to deleting: what runs
// is ended first. A deletion that has begun can only be finished, by anybody.
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
	// What leaves it where it is.
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

// Facts are what a team's life follows from.
type Facts struct {
	Exists   bool // config.json is there
	Deleting bool // its end is on record
	Members  int  // present, without the lead
	Open     int  // unfinished tasks that a present member owns
	Running  int  // processes of it that run, its leader included
}

// Life says where a team with these facts is.
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

// May reports whether LifeTable has a row for an event where a team is: nil, or a
// *LifeError. It is for what acts on a team as a whole, a deletion or a restore. What
// changes members and tasks has checks of its own.
func (l Life) May(on LifeEvent) error {
	for _, m := range LifeTable {
		if m.From == l && m.On == on {
			return nil
		}
	}
	return &LifeError{From: l, On: on}
}
