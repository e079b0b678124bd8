package machine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"waggle/machine"
)

type state = machine.State

var (
	// atWork are the states in which a worker has work.
	atWork  = []state{machine.PlanProposed, machine.Executing, machine.BlockedPermission, machine.BlockedSandbox, machine.BlockedQuestion}
	working = append([]state{machine.Idle}, atWork...)
	opened  = append([]state{machine.ShuttingDown, machine.Terminated}, working...)

	workerStates  = append([]state{machine.Booting}, opened...)
	liveMember    = []state{machine.Spawning, machine.Idle, machine.Busy, machine.AwaitingDecision, machine.ShutdownRequested}
	leaderStates  = append([]state{"", machine.Terminated}, liveMember...)
	requestStates = []state{"", machine.RequestPending, machine.RequestDecided, machine.RequestSent, machine.RequestClosed}
	teamStates    = []state{"", machine.Leading, machine.Over}
)

// mayWork is protocol §5.1 read once more, event by event and not row by row.
func mayWork(from state, on machine.Event, to state) bool {
	is := func(all []state, s ...state) bool {
		return !slices.ContainsFunc(s, func(s state) bool { return !slices.Contains(all, s) })
	}
	stays := from == to
	over := from == machine.ShuttingDown || from == machine.Terminated // what is late changes nothing
	blocked := from == machine.BlockedPermission || from == machine.BlockedSandbox || from == machine.BlockedQuestion
	switch on {
	case machine.EvReady:
		return from == machine.Booting && to == machine.Idle
	case machine.EvReopened, machine.EvApplied, machine.EvUnverified:
		return is(opened, from) && stays
	case machine.EvTaken:
		return from == machine.Idle && to == machine.Executing
	case machine.EvTakenPlan:
		return from == machine.Idle && to == machine.PlanProposed
	case machine.EvAskedPlan: // what blocks a worker goes before its plan
		return blocked && stays || (from == machine.PlanProposed || from == machine.Executing) && to == machine.PlanProposed
	case machine.EvPlanApproved:
		return (over || blocked) && stays || from == machine.PlanProposed && to == machine.Executing
	case machine.EvPlanRejected:
		return (over || blocked || from == machine.PlanProposed) && stays
	case machine.EvAskedTool:
		return is(atWork, from) && to == machine.BlockedPermission
	case machine.EvAskedHost: // a tool's question goes before a host's
		if from == machine.BlockedPermission {
			return stays
		}
		return is(atWork, from) && to == machine.BlockedSandbox
	case machine.EvAskedWords: // and both before a question in words
		if from == machine.BlockedPermission || from == machine.BlockedSandbox {
			return stays
		}
		return is(atWork, from) && to == machine.BlockedQuestion
	case machine.EvAnswered: // an answer may leave others open, never one that goes before it
		switch from {
		case machine.BlockedPermission:
			return is(atWork, to)
		case machine.BlockedSandbox:
			return is(atWork, to) && to != machine.BlockedPermission
		case machine.BlockedQuestion:
			return is(atWork, to) && to != machine.BlockedPermission && to != machine.BlockedSandbox
		}
		return (over || from == machine.PlanProposed) && stays
	case machine.EvDenied:
		return over && stays || from == machine.BlockedPermission && is(atWork, to)
	case machine.EvTurnEnded, machine.EvTurnFailed:
		return over && stays || is(atWork, from) && to == machine.Idle
	case machine.EvShutdownAsked:
		return is(working, from) && to == machine.ShuttingDown
	case machine.EvShutdownApproved:
		return from == machine.ShuttingDown && to == machine.Terminated
	case machine.EvShutdownRejected:
		return from == machine.ShuttingDown && is(working, to)
	}
	return false
}

var workerEvents = []machine.Event{machine.EvReady, machine.EvReopened, machine.EvTaken, machine.EvTakenPlan, machine.EvPlanApproved, machine.EvPlanRejected,
	machine.EvAskedTool, machine.EvAskedHost, machine.EvAskedWords, machine.EvAskedPlan, machine.EvAnswered, machine.EvDenied, machine.EvTurnEnded, machine.EvTurnFailed,
	machine.EvShutdownAsked, machine.EvShutdownApproved, machine.EvShutdownRejected, machine.EvApplied, machine.EvUnverified}

// mayMember is protocol §5.2 read once more: what a leader has on record of one member.
func mayMember(from state, on machine.Event, to state) bool {
	live, stays := slices.Contains(liveMember, from), from == to
	asking, ending, over := from == machine.AwaitingDecision, from == machine.ShutdownRequested, from == machine.Terminated
	rests := to == machine.Busy || to == machine.Idle || to == machine.AwaitingDecision // what is left when one question is closed
	switch on {
	case machine.EvJoined:
		return from == "" && to == machine.Spawning
	case machine.EvProcess:
		return (live || over) && stays
	case machine.EvDied:
		return live && stays
	case machine.EvGone:
		return (live || over) && to == machine.Terminated
	case machine.EvIdle: // an open question and a shutdown outlast the end of a turn
		return (asking || ending || over) && stays || live && !asking && !ending && to == machine.Idle
	case machine.EvWork:
		return (asking || ending) && stays || live && !asking && !ending && to == machine.Busy
	case machine.EvAsked:
		return (ending || over) && stays || live && !ending && to == machine.AwaitingDecision
	case machine.EvDecided, machine.EvRequestDropped:
		return (ending || over) && stays || asking && rests
	case machine.EvShutdownSent:
		return live && !ending && to == machine.ShutdownRequested
	case machine.EvShutdownYes:
		return (ending || over) && to == machine.Terminated
	case machine.EvShutdownNo:
		return over && stays || ending && (rests || to == machine.Spawning)
	}
	return false
}

var leaderEvents = []machine.Event{machine.EvJoined, machine.EvProcess, machine.EvDied, machine.EvGone, machine.EvIdle, machine.EvWork, machine.EvAsked,
	machine.EvDecided, machine.EvRequestDropped, machine.EvShutdownSent, machine.EvShutdownYes, machine.EvShutdownNo}

// mayRequest: a request only moves forward; a late event leaves it where it is.
func mayRequest(from state, on machine.Event, to state) bool {
	order := func(s state) int { return slices.Index(requestStates, s) }
	pending, given := from == machine.RequestPending, from == machine.RequestDecided || from == machine.RequestSent
	switch on {
	case machine.EvAsked:
		return from == "" && to == machine.RequestPending || from != "" && from == to
	case machine.EvVoted, machine.EvEscalated:
		return pending && from == to
	case machine.EvDecided:
		return pending && order(to) == order(from)+1
	case machine.EvSent:
		return given && to == machine.RequestSent || from == machine.RequestClosed && from == to
	case machine.EvEffect, machine.EvGone:
		return given && to == machine.RequestClosed
	case machine.EvRequestDropped:
		return pending && to == machine.RequestClosed
	}
	return false
}

var requestEvents = []machine.Event{machine.EvAsked, machine.EvVoted, machine.EvEscalated, machine.EvDecided, machine.EvSent, machine.EvEffect,
	machine.EvGone, machine.EvRequestDropped}

// mayTeam: a team that has ended stays so, whoever leads it.
func mayTeam(from state, on machine.Event, to state) bool {
	switch on {
	case machine.EvOpened:
		return from == "" && to == machine.Leading || from != "" && from == to
	case machine.EvEnded:
		return from == machine.Leading && to == machine.Over
	}
	return false
}

var teamEvents = []machine.Event{machine.EvOpened, machine.EvEnded}

// TestEveryMove tries every event between any two states of every machine, its own and those of
// the others: a move is in the table exactly when the second reading has it. One that is not is an error
// that says which while its record is not written yet, and on record it is told without a row.
func TestEveryMove(t *testing.T) {
	machines := []struct {
		name   string
		table  []machine.Transition
		may    func(state, machine.Event, state) bool
		states []state
		events []machine.Event
	}{
		{machine.Worker, machine.WorkerTable, mayWork, workerStates, workerEvents},
		{machine.Leader, machine.LeaderTable, mayMember, leaderStates, leaderEvents},
		{machine.Request, machine.RequestTable, mayRequest, requestStates, requestEvents},
		{machine.Team, machine.TeamTable, mayTeam, teamStates, teamEvents},
	}
	var states []state
	var events []machine.Event
	for _, m := range machines {
		states, events = append(states, m.states...), append(events, m.events...)
	}
	states, events = append(states, "Idle"), append(events, "", "Ready")
	slices.Sort(states)
	slices.Sort(events)
	states, events = slices.Compact(states), slices.Compact(events)
	for _, m := range machines {
		found := 0
		for _, from := range states {
			for _, on := range events {
				for _, to := range states {
					own := slices.Contains(m.states, from) && slices.Contains(m.events, on) && slices.Contains(m.states, to)
					want := own && m.may(from, on, to)
					o := machine.Observation{Machine: m.name, Member: "ada", From: from, On: on, To: to, Seq: 1}
					row, err := notify(t, o)
					if (err == nil) != want {
						t.Errorf("%s: %q to %q on %q: %v", m.name, from, to, on, err)
					}
					if err != nil {
						refusedMove(t, err, row, o)
						continue
					}
					found++
					if len(row) < 2 || !strings.Contains("WLQ", row[:1]) || !slices.Contains(m.table, machine.Transition{Row: row, From: from, On: on, To: to}) {
						t.Errorf("%s: %q to %q on %q is the row %q", m.name, from, to, on, row)
					}
				}
			}
		}
		if found != len(m.table) {
			t.Errorf("%s: %d moves, %d rows", m.name, found, len(m.table))
		}
	}
}

// notify notifies of a move on record and returns its row, and the error of the same move while its record is not
// written yet. What is told is the move, once, and with an error not at all.
func notify(t *testing.T, o machine.Observation) (row string, err error) {
	t.Helper()
	for _, hold := range []bool{false, true} {
		var told []machine.Observation
		n := &machine.Notifier{Observe: func(o machine.Observation) { told = append(told, o) }}
		if hold {
			n.Hold()
		}
		if err = n.Notify(o); err != nil && !hold {
			t.Errorf("%+v, on record: %v", o, err)
		}
		n.Keep()
		switch want := o; {
		case err != nil && len(told) > 0:
			t.Errorf("%+v was refused and told: %+v", o, told)
		case err == nil && len(told) != 1:
			t.Errorf("%+v was told %d times", o, len(told))
		case err == nil:
			if want.Row = told[0].Row; told[0] != want || hold && row != want.Row {
				t.Errorf("%+v was told as %+v", o, told[0])
			}
			row = want.Row
		}
	}
	return row, err
}

func refusedMove(t *testing.T, err error, row string, o machine.Observation) {
	t.Helper()
	var none *machine.TransitionError
	if !errors.As(err, &none) || *none != (machine.TransitionError{Machine: o.Machine + " ada", From: o.From, On: o.On, To: o.To}) || row != "" {
		t.Errorf("%+v: %q, %v", o, row, err)
	}
	if want := fmt.Sprintf("%s ada: no transition from %q to %q on %q", o.Machine, o.From, o.To, o.On); err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// reach lists the states that a table leads to from its first.
func reach(table []machine.Transition, first state) map[state]bool {
	seen := map[state]bool{first: true}
	for grown := true; grown; {
		grown = false
		for _, r := range table {
			if seen[r.From] && !seen[r.To] {
				seen[r.To], grown = true, true
			}
		}
	}
	return seen
}

// TestEveryStateIsReached: each state of a machine can be reached from its first, every live one
// can end, and none that has ended comes back.
func TestEveryStateIsReached(t *testing.T) {
	for _, m := range []struct {
		name        string
		table       []machine.Transition
		states      []state
		first, last state
	}{
		{machine.Worker, machine.WorkerTable, workerStates, machine.Booting, machine.Terminated},
		{machine.Leader, machine.LeaderTable, leaderStates, "", machine.Terminated},
		{machine.Request, machine.RequestTable, requestStates, "", machine.RequestClosed},
		{machine.Team, machine.TeamTable, teamStates, "", machine.Over},
	} {
		seen := reach(m.table, m.first)
		for _, s := range m.states {
			if !seen[s] {
				t.Errorf("%s: nothing leads to %q", m.name, s)
			}
			if !reach(m.table, s)[m.last] {
				t.Errorf("%s: %q cannot end", m.name, s)
			}
		}
		if left := reach(m.table, m.last); len(left) != 1 {
			t.Errorf("%s: %q leads to %v", m.name, m.last, left)
		}
		if len(seen) != len(m.states) {
			t.Errorf("%s: %d states are reached, of %d", m.name, len(seen), len(m.states))
		}
	}
}
