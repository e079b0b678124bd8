// Package machine has the tables of the machines of a team: the states of a worker, of a
// member as its leader has it, of a request and of the team, the events that move them,
// and every move that there is. They describe what the folds of package control do, which
// have the states: a Notifier finds the row of each move and tells an Observer, and
// refuses a record that is not written yet and whose move no table has. The diagrams in
// docs/design/machines.md are generated from the tables.
package machine

import (
	"fmt"
	"slices"
	"time"

	"waggle/protocol"
	"waggle/record"
)

// State is a state of one of the machines.
type State string

// Worker states (protocol §5.1).
const (
	Booting           State = "booting"
	Idle              State = "idle"
	PlanProposed      State = "plan_proposed"
	Executing         State = "executing"
	BlockedPermission State = "blocked_on_permission"
	BlockedSandbox    State = "blocked_on_sandbox"
	BlockedQuestion   State = "blocked_on_question" // not in the protocol: no message asks a question
	ShuttingDown      State = "shutting_down"
	Terminated        State = "terminated"
)

// Leader states of a member (protocol §5.2); idle and terminated are shared.
const (
	Spawning          State = "spawning"
	Busy              State = "busy"
	AwaitingDecision  State = "awaiting_decision"
	ShutdownRequested State = "shutdown_requested"
)

// Event is what causes a transition.
type Event string

// Events of the worker.
const (
	EvReady            Event = "ready"
	EvReopened         Event = "restarted"
	EvTaken            Event = "work taken"
	EvTakenPlan        Event = "work taken, plan required"
	EvPlanApproved     Event = "plan approved"
	EvPlanRejected     Event = "plan rejected"
	EvAskedTool        Event = "tool asked"
	EvAskedHost        Event = "host asked"
	EvAskedPlan        Event = "plan asked"
	EvAskedWords       Event = "question asked"
	EvAnswered         Event = "answered"
	EvDenied           Event = "tool denied"
	EvTurnEnded        Event = "turn ended"
	EvTurnFailed       Event = "turn failed"
	EvShutdownAsked    Event = "shutdown requested"
	EvShutdownApproved Event = "shutdown approved"
	EvShutdownRejected Event = "shutdown rejected"
	EvApplied          Event = "command applied"
	EvUnverified       Event = "unverified message"
)

// Events of the leader, for one member.
const (
	EvJoined         Event = "joined"
	EvProcess        Event = "process started"
	EvIdle           Event = "idle reported"
	EvWork           Event = "work sent"
	EvAsked          Event = "request seen"
	EvDecided        Event = "request decided"
	EvShutdownSent   Event = "shutdown sent"
	EvShutdownYes    Event = "shutdown approved by the member"
	EvShutdownNo     Event = "shutdown rejected by the member"
	EvDied           Event = "process died"
	EvGone           Event = "process gone"
	EvRequestDropped Event = "request abandoned"
)

// Further events of one request.
const (
	EvVoted     Event = "one of two allowed it"
	EvEscalated Event = "passed on to the operator"
	EvSent      Event = "answer sent"
	EvEffect    Event = "effect seen"
)

// How far a question has come. A request only moves forward through these.
const (
	RequestPending State = "pending"
	RequestDecided State = "decided"
	RequestSent    State = "sent"
	RequestClosed  State = "closed"
)

// States and events of the team as its leader's journal has it.
const (
	Leading State = "leading"
	Over    State = "ended"

	EvOpened Event = "leader opened"
	EvEnded  Event = "team ended"
)

// Transition is one row of a machine.
type Transition struct {
	Row  string // the row of protocol §5 it implements
	From State
	On   Event
	To   State
}

// in are states of a machine, and on are events.
type (
	in []State
	on []Event
)

// moves are the transitions of a row by these events: from each of these states to each of those.
type moves struct {
	row  string
	from in
	on   on
	to   in // stays: each leaves the machine where it is
}

var stays in

// table lists the transitions.
func table(rows []moves) (all []Transition) {
	for _, m := range rows {
		for _, from := range m.from {
			for _, event := range m.on {
				to := m.to
				if to == nil {
					to = in{from}
				}
				for _, state := range to {
					all = append(all, Transition{m.row, from, event, state})
				}
			}
		}
	}
	return all
}

// The states of a worker in which something waits for an answer, in a turn, while it is not shutting down, and until it
// has ended.
var (
	blocked = in{BlockedPermission, BlockedSandbox, BlockedQuestion}
	inTurn  = append(in{PlanProposed, Executing}, blocked...)
	staying = append(in{Idle}, inTurn...)
	living  = append(slices.Clip(staying), ShuttingDown)
)

// WorkerTable has every transition of a worker. The state after an answered request depends on what
// else blocks the worker, so a row can share From and On with another. Until its journal is opened
// a worker is booting and has no other transition: its mail waits.
var WorkerTable = table([]moves{
	{"W1", in{Booting}, on{EvReady}, in{Idle}},
	{"W2", in{Idle}, on{EvTakenPlan}, in{PlanProposed}},
	{"W2", in{PlanProposed, Executing}, on{EvAskedPlan}, in{PlanProposed}}, // not required, it is a gate from here on
	{"W2", blocked, on{EvAskedPlan}, stays},
	{"W3", in{Idle}, on{EvTaken}, in{Executing}},
	{"W4", in{PlanProposed}, on{EvPlanApproved}, in{Executing}},
	{"W4", blocked, on{EvPlanApproved}, stays},
	{"W5", append(in{PlanProposed}, blocked...), on{EvPlanRejected}, stays},
	{"W6", inTurn, on{EvAskedTool}, in{BlockedPermission}},
	{"W7", in{BlockedPermission}, on{EvAnswered}, inTurn},
	{"W8", in{BlockedPermission}, on{EvDenied}, inTurn},
	{"W9", in{PlanProposed, Executing, BlockedSandbox, BlockedQuestion}, on{EvAskedHost}, in{BlockedSandbox}},
	{"W9", in{BlockedPermission}, on{EvAskedHost}, stays},
	{"W10", in{BlockedSandbox}, on{EvAnswered}, in{PlanProposed, Executing, BlockedSandbox, BlockedQuestion}},
	// The rows Q are waggle's own.
	{"Q1", in{PlanProposed, Executing, BlockedQuestion}, on{EvAskedWords}, in{BlockedQuestion}},
	{"Q1", in{BlockedPermission, BlockedSandbox}, on{EvAskedWords}, stays},
	{"Q2", in{BlockedQuestion}, on{EvAnswered}, in{PlanProposed, Executing, BlockedQuestion}},
	{"W11", inTurn, on{EvTurnEnded}, in{Idle}},
	{"W12", staying, on{EvShutdownAsked}, in{ShuttingDown}},
	// While it is shutting down the current turn may still end and get answers, and asks nothing
	// new.
	{"W12", in{ShuttingDown}, on{EvTurnEnded, EvTurnFailed, EvAnswered, EvDenied, EvPlanApproved, EvPlanRejected}, stays},
	{"W13", in{ShuttingDown}, on{EvShutdownApproved}, in{Terminated}},
	{"W14", in{ShuttingDown}, on{EvShutdownRejected}, staying},
	// Terminated has no transition to another state; later messages are only recorded.
	{"W15", in{Terminated}, on{EvReopened, EvTurnEnded, EvTurnFailed, EvAnswered, EvDenied, EvPlanApproved, EvPlanRejected, EvApplied}, stays},
	{"W16", living, on{EvApplied}, stays},
	// An unverified message changes no state; it is recorded.
	{"W17", living, on{EvUnverified}, stays},
	{"W17", in{Terminated}, on{EvUnverified}, stays},
	{"W18", living, on{EvReopened}, stays},
	{"W18", in{PlanProposed}, on{EvAnswered}, stays}, // the process that proposed the plan is gone
	{"W19", inTurn, on{EvTurnFailed}, in{Idle}},
})

// LeaderTable has every move of the leader's record of one member.
var LeaderTable = table([]moves{
	{"L1", in{""}, on{EvJoined}, in{Spawning}},
	{"L1", in{Spawning}, on{EvProcess}, stays},
	{"L2", in{Spawning}, on{EvIdle}, in{Idle}},
	{"L2", in{Spawning}, on{EvAsked}, in{AwaitingDecision}},
	{"L3", in{Spawning, Idle, Busy}, on{EvWork}, in{Busy}},
	{"L3", in{AwaitingDecision, ShutdownRequested}, on{EvWork}, stays},
	{"L4", in{Idle, Busy}, on{EvIdle}, in{Idle}},
	{"L4", in{AwaitingDecision, ShutdownRequested, Terminated}, on{EvIdle}, stays},
	{"L5", in{Idle, Busy, AwaitingDecision}, on{EvAsked}, in{AwaitingDecision}},
	{"L5", in{ShutdownRequested, Terminated}, on{EvAsked}, stays},
	{"L6", in{AwaitingDecision}, on{EvDecided}, in{Busy, Idle, AwaitingDecision}},
	{"L6", in{ShutdownRequested, Terminated}, on{EvDecided}, stays},
	{"L8", in{AwaitingDecision}, on{EvRequestDropped}, in{Busy, Idle, AwaitingDecision}},
	{"L8", in{ShutdownRequested, Terminated}, on{EvRequestDropped}, stays},
	{"L9", in{Spawning, Idle, Busy, AwaitingDecision}, on{EvShutdownSent}, in{ShutdownRequested}},
	{"L10", in{ShutdownRequested, Terminated}, on{EvShutdownYes}, in{Terminated}},
	{"L11", in{ShutdownRequested}, on{EvShutdownNo}, in{Idle, Busy, AwaitingDecision, Spawning}},
	{"L11", in{Terminated}, on{EvShutdownNo}, stays}, // it died before its answer was read
	{"L12", in{Spawning, Idle, Busy, AwaitingDecision, ShutdownRequested, Terminated}, on{EvGone}, in{Terminated}},
	// A restart of a member's process does not change its state.
	{"L12", in{Terminated, Idle, Busy, AwaitingDecision, ShutdownRequested}, on{EvProcess}, stays},
	// A process that died may be started again: its work waits.
	{"L12", in{Spawning, Idle, Busy, AwaitingDecision, ShutdownRequested}, on{EvDied}, stays},
})

// RequestTable has every transition of one request in the leader's journal. A request never goes
// back; asking again is no transition, it only has the answer sent again.
var RequestTable = table([]moves{
	{"L5", in{""}, on{EvAsked}, in{RequestPending}},
	{"L5", in{RequestPending, RequestDecided, RequestSent, RequestClosed}, on{EvAsked}, stays},
	{"L6", in{RequestPending}, on{EvVoted, EvEscalated}, stays},
	{"L6", in{RequestPending}, on{EvDecided}, in{RequestDecided}},
	{"L7", in{RequestDecided, RequestSent}, on{EvSent}, in{RequestSent}}, // however often writing it failed
	{"L7", in{RequestClosed}, on{EvSent}, stays},
	{"L7", in{RequestDecided, RequestSent}, on{EvEffect}, in{RequestClosed}},
	{"L8", in{RequestPending}, on{EvRequestDropped}, in{RequestClosed}},
	{"L8", in{RequestDecided, RequestSent}, on{EvGone}, in{RequestClosed}},
})

// TeamTable has the states of a team in its leader's journal. A leader that exits without ending
// the team leaves the state as it is: the next one continues (L14).
var TeamTable = table([]moves{
	{"L14", in{""}, on{EvOpened}, in{Leading}},
	{"L14", in{Leading, Over}, on{EvOpened}, stays},
	{"L14", in{Leading}, on{EvEnded}, in{Over}},
})

// The machines that an Observer observes.
const (
	Worker  = "worker"  // WorkerTable, in a member's journal
	Leader  = "leader"  // LeaderTable, in the leader's
	Request = "request" // RequestTable, in the leader's
	Team    = "team"    // TeamTable, in the leader's
)

// move is what a row of a machine is found by.
type move struct {
	machine string
	from    State
	on      Event
	to      State
}

// rows has the row of every move in the tables.
var rows = func() map[move]string {
	all := map[move]string{}
	for machine, table := range map[string][]Transition{Worker: WorkerTable, Leader: LeaderTable, Request: RequestTable, Team: TeamTable} {
		for _, t := range table {
			all[move{machine, t.From, t.On, t.To}] = t.Row
		}
	}
	return all
}()

// TransitionError refuses a record that is not written yet: its move is in no row of its machine's table.
type TransitionError struct {
	Machine  string
	From, To State
	On       Event
}

func (e *TransitionError) Error() string {
	return fmt.Sprintf("%s: no transition from %q to %q on %q", e.Machine, e.From, e.To, e.On)
}

// Observer gets every transition, in the order of the journal, while its fold applies the record
// that makes it. It gets identities and names of states, never the body of a message. It is called
// again when another fold reads the same journal: Machine, Instance, Seq and Request then identify
// the same transition.
type Observer func(Observation)

// Observation is one transition.
type Observation struct {
	Team    protocol.TeamName
	Machine string // Worker, …
	Member  string // name; the lead's for Team
	// Instance is that member's: a worker's journal, or the membership that the
	// leader's journal is about.
	Instance record.Instance
	Row      string // of protocol §5; "" for a move on record that no table has
	From     State
	On       Event
	To       State
	Request  string // id of the request, the task or the shutdown, "" when there is none
	Seq      uint64 // of the record, in the journal of the machine
	Time     time.Time
}
