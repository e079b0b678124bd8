package machine

import (
	"fmt"
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

// WorkerTable has every transition of a worker. The state after an answered request depends on what
// else blocks the worker, so a row can share From and On with another. Until its journal is opened
// a worker is booting and has no other transition: its mail waits.
var WorkerTable = []Transition{
	{"W1", Booting, EvReady, Idle},
	{"W2", Idle, EvTakenPlan, PlanProposed},
	{"W2", PlanProposed, EvAskedPlan, PlanProposed},
	{"W2", Executing, EvAskedPlan, PlanProposed}, // not required; from here on it is a gate
	{"W2", BlockedPermission, EvAskedPlan, BlockedPermission},
	{"W2", BlockedSandbox, EvAskedPlan, BlockedSandbox},
	{"W2", BlockedQuestion, EvAskedPlan, BlockedQuestion},
	{"W3", Idle, EvTaken, Executing},
	{"W4", PlanProposed, EvPlanApproved, Executing},
	{"W4", BlockedPermission, EvPlanApproved, BlockedPermission},
	{"W4", BlockedSandbox, EvPlanApproved, BlockedSandbox},
	{"W4", BlockedQuestion, EvPlanApproved, BlockedQuestion},
	{"W5", PlanProposed, EvPlanRejected, PlanProposed},
	{"W5", BlockedPermission, EvPlanRejected, BlockedPermission},
	{"W5", BlockedSandbox, EvPlanRejected, BlockedSandbox},
	{"W5", BlockedQuestion, EvPlanRejected, BlockedQuestion},
	{"W6", Executing, EvAskedTool, BlockedPermission},
	{"W6", BlockedPermission, EvAskedTool, BlockedPermission},
	{"W6", BlockedSandbox, EvAskedTool, BlockedPermission},
	{"W6", BlockedQuestion, EvAskedTool, BlockedPermission},
	{"W6", PlanProposed, EvAskedTool, BlockedPermission},
	{"W7", BlockedPermission, EvAnswered, Executing},
	{"W7", BlockedPermission, EvAnswered, BlockedPermission},
	{"W7", BlockedPermission, EvAnswered, BlockedSandbox},
	{"W7", BlockedPermission, EvAnswered, BlockedQuestion},
	{"W7", BlockedPermission, EvAnswered, PlanProposed},
	{"W8", BlockedPermission, EvDenied, Executing},
	{"W8", BlockedPermission, EvDenied, BlockedPermission},
	{"W8", BlockedPermission, EvDenied, BlockedSandbox},
	{"W8", BlockedPermission, EvDenied, BlockedQuestion},
	{"W8", BlockedPermission, EvDenied, PlanProposed},
	{"W9", Executing, EvAskedHost, BlockedSandbox},
	{"W9", BlockedSandbox, EvAskedHost, BlockedSandbox},
	{"W9", BlockedPermission, EvAskedHost, BlockedPermission},
	{"W9", BlockedQuestion, EvAskedHost, BlockedSandbox},
	{"W9", PlanProposed, EvAskedHost, BlockedSandbox},
	{"W10", BlockedSandbox, EvAnswered, Executing},
	{"W10", BlockedSandbox, EvAnswered, BlockedSandbox},
	{"W10", BlockedSandbox, EvAnswered, BlockedQuestion},
	{"W10", BlockedSandbox, EvAnswered, PlanProposed},
	// The rows Q are waggle's own.
	{"Q1", Executing, EvAskedWords, BlockedQuestion},
	{"Q1", PlanProposed, EvAskedWords, BlockedQuestion},
	{"Q1", BlockedQuestion, EvAskedWords, BlockedQuestion},
	{"Q1", BlockedPermission, EvAskedWords, BlockedPermission},
	{"Q1", BlockedSandbox, EvAskedWords, BlockedSandbox},
	{"Q2", BlockedQuestion, EvAnswered, Executing},
	{"Q2", BlockedQuestion, EvAnswered, BlockedQuestion},
	{"Q2", BlockedQuestion, EvAnswered, PlanProposed},
	{"W11", Executing, EvTurnEnded, Idle},
	{"W11", PlanProposed, EvTurnEnded, Idle},
	{"W11", BlockedPermission, EvTurnEnded, Idle},
	{"W11", BlockedSandbox, EvTurnEnded, Idle},
	{"W11", BlockedQuestion, EvTurnEnded, Idle},
	{"W12", Idle, EvShutdownAsked, ShuttingDown},
	{"W12", PlanProposed, EvShutdownAsked, ShuttingDown},
	{"W12", Executing, EvShutdownAsked, ShuttingDown},
	{"W12", BlockedPermission, EvShutdownAsked, ShuttingDown},
	{"W12", BlockedSandbox, EvShutdownAsked, ShuttingDown},
	{"W12", BlockedQuestion, EvShutdownAsked, ShuttingDown},
	// While it is shutting down the current turn may still end and get answers, and asks nothing
	// new.
	{"W12", ShuttingDown, EvTurnEnded, ShuttingDown},
	{"W12", ShuttingDown, EvTurnFailed, ShuttingDown},
	{"W12", ShuttingDown, EvAnswered, ShuttingDown},
	{"W12", ShuttingDown, EvDenied, ShuttingDown},
	{"W12", ShuttingDown, EvPlanApproved, ShuttingDown},
	{"W12", ShuttingDown, EvPlanRejected, ShuttingDown},
	{"W13", ShuttingDown, EvShutdownApproved, Terminated},
	{"W14", ShuttingDown, EvShutdownRejected, Idle},
	{"W14", ShuttingDown, EvShutdownRejected, PlanProposed},
	{"W14", ShuttingDown, EvShutdownRejected, Executing},
	{"W14", ShuttingDown, EvShutdownRejected, BlockedPermission},
	{"W14", ShuttingDown, EvShutdownRejected, BlockedSandbox},
	{"W14", ShuttingDown, EvShutdownRejected, BlockedQuestion},
	// Terminated has no transition to another state; later messages are only recorded.
	{"W15", Terminated, EvReopened, Terminated},
	{"W15", Terminated, EvTurnEnded, Terminated},
	{"W15", Terminated, EvTurnFailed, Terminated},
	{"W15", Terminated, EvAnswered, Terminated},
	{"W15", Terminated, EvDenied, Terminated},
	{"W15", Terminated, EvPlanApproved, Terminated},
	{"W15", Terminated, EvPlanRejected, Terminated},
	{"W15", Terminated, EvApplied, Terminated},
	{"W16", Idle, EvApplied, Idle},
	{"W16", PlanProposed, EvApplied, PlanProposed},
	{"W16", Executing, EvApplied, Executing},
	{"W16", BlockedPermission, EvApplied, BlockedPermission},
	{"W16", BlockedSandbox, EvApplied, BlockedSandbox},
	{"W16", BlockedQuestion, EvApplied, BlockedQuestion},
	{"W16", ShuttingDown, EvApplied, ShuttingDown},
	// An unverified message changes no state; it is recorded.
	{"W17", Idle, EvUnverified, Idle},
	{"W17", PlanProposed, EvUnverified, PlanProposed},
	{"W17", Executing, EvUnverified, Executing},
	{"W17", BlockedPermission, EvUnverified, BlockedPermission},
	{"W17", BlockedSandbox, EvUnverified, BlockedSandbox},
	{"W17", BlockedQuestion, EvUnverified, BlockedQuestion},
	{"W17", ShuttingDown, EvUnverified, ShuttingDown},
	{"W17", Terminated, EvUnverified, Terminated},
	{"W18", Idle, EvReopened, Idle},
	{"W18", PlanProposed, EvReopened, PlanProposed},
	{"W18", PlanProposed, EvAnswered, PlanProposed}, // the process that proposed the plan is gone
	{"W18", Executing, EvReopened, Executing},
	{"W18", BlockedPermission, EvReopened, BlockedPermission},
	{"W18", BlockedSandbox, EvReopened, BlockedSandbox},
	{"W18", BlockedQuestion, EvReopened, BlockedQuestion},
	{"W18", ShuttingDown, EvReopened, ShuttingDown},
	{"W19", Executing, EvTurnFailed, Idle},
	{"W19", PlanProposed, EvTurnFailed, Idle},
	{"W19", BlockedPermission, EvTurnFailed, Idle},
	{"W19", BlockedSandbox, EvTurnFailed, Idle},
	{"W19", BlockedQuestion, EvTurnFailed, Idle},
}

// LeaderTable has every move of the leader's record of one member.
var LeaderTable = []Transition{
	{"L1", "", EvJoined, Spawning},
	{"L1", Spawning, EvProcess, Spawning},
	{"L2", Spawning, EvIdle, Idle},
	{"L2", Spawning, EvAsked, AwaitingDecision},
	{"L3", Spawning, EvWork, Busy},
	{"L3", Idle, EvWork, Busy},
	{"L3", Busy, EvWork, Busy},
	{"L3", AwaitingDecision, EvWork, AwaitingDecision},
	{"L3", ShutdownRequested, EvWork, ShutdownRequested},
	{"L4", Idle, EvIdle, Idle},
	{"L4", Busy, EvIdle, Idle},
	{"L4", AwaitingDecision, EvIdle, AwaitingDecision},
	{"L4", ShutdownRequested, EvIdle, ShutdownRequested},
	{"L4", Terminated, EvIdle, Terminated},
	{"L5", Idle, EvAsked, AwaitingDecision},
	{"L5", Busy, EvAsked, AwaitingDecision},
	{"L5", AwaitingDecision, EvAsked, AwaitingDecision},
	{"L5", ShutdownRequested, EvAsked, ShutdownRequested},
	{"L5", Terminated, EvAsked, Terminated},
	{"L6", AwaitingDecision, EvDecided, Busy},
	{"L6", AwaitingDecision, EvDecided, Idle},
	{"L6", AwaitingDecision, EvDecided, AwaitingDecision},
	{"L6", ShutdownRequested, EvDecided, ShutdownRequested},
	{"L6", Terminated, EvDecided, Terminated},
	{"L8", AwaitingDecision, EvRequestDropped, Busy},
	{"L8", AwaitingDecision, EvRequestDropped, Idle},
	{"L8", AwaitingDecision, EvRequestDropped, AwaitingDecision},
	{"L8", ShutdownRequested, EvRequestDropped, ShutdownRequested},
	{"L8", Terminated, EvRequestDropped, Terminated},
	{"L9", Spawning, EvShutdownSent, ShutdownRequested},
	{"L9", Idle, EvShutdownSent, ShutdownRequested},
	{"L9", Busy, EvShutdownSent, ShutdownRequested},
	{"L9", AwaitingDecision, EvShutdownSent, ShutdownRequested},
	{"L10", ShutdownRequested, EvShutdownYes, Terminated},
	{"L10", Terminated, EvShutdownYes, Terminated},
	{"L11", ShutdownRequested, EvShutdownNo, Idle},
	{"L11", ShutdownRequested, EvShutdownNo, Busy},
	{"L11", ShutdownRequested, EvShutdownNo, AwaitingDecision},
	{"L11", ShutdownRequested, EvShutdownNo, Spawning},
	{"L11", Terminated, EvShutdownNo, Terminated}, // it died before its answer was read
	{"L12", Spawning, EvGone, Terminated},
	{"L12", Idle, EvGone, Terminated},
	{"L12", Busy, EvGone, Terminated},
	{"L12", AwaitingDecision, EvGone, Terminated},
	{"L12", ShutdownRequested, EvGone, Terminated},
	{"L12", Terminated, EvGone, Terminated},
	{"L12", Terminated, EvProcess, Terminated},
	// A restart of a member's process does not change its state.
	{"L12", Idle, EvProcess, Idle},
	{"L12", Busy, EvProcess, Busy},
	{"L12", AwaitingDecision, EvProcess, AwaitingDecision},
	{"L12", ShutdownRequested, EvProcess, ShutdownRequested},
	// A process that died may be started again: its work waits.
	{"L12", Spawning, EvDied, Spawning},
	{"L12", Idle, EvDied, Idle},
	{"L12", Busy, EvDied, Busy},
	{"L12", AwaitingDecision, EvDied, AwaitingDecision},
	{"L12", ShutdownRequested, EvDied, ShutdownRequested},
}

// RequestTable has every transition of one request in the leader's journal. A request never goes
// back; asking again is no transition, it only has the answer sent again.
var RequestTable = []Transition{
	{"L5", "", EvAsked, RequestPending},
	{"L5", RequestPending, EvAsked, RequestPending},
	{"L5", RequestDecided, EvAsked, RequestDecided},
	{"L5", RequestSent, EvAsked, RequestSent},
	{"L5", RequestClosed, EvAsked, RequestClosed},
	{"L6", RequestPending, EvVoted, RequestPending},
	{"L6", RequestPending, EvEscalated, RequestPending},
	{"L6", RequestPending, EvDecided, RequestDecided},
	{"L7", RequestDecided, EvSent, RequestSent}, // however often writing it failed
	{"L7", RequestSent, EvSent, RequestSent},
	{"L7", RequestClosed, EvSent, RequestClosed},
	{"L7", RequestDecided, EvEffect, RequestClosed},
	{"L7", RequestSent, EvEffect, RequestClosed},
	{"L8", RequestPending, EvRequestDropped, RequestClosed},
	{"L8", RequestDecided, EvGone, RequestClosed},
	{"L8", RequestSent, EvGone, RequestClosed},
}

// TeamTable has the states of a team in its leader's journal. A leader that exits without ending
// the team leaves the state as it is: the next one continues (L14).
var TeamTable = []Transition{
	{"L14", "", EvOpened, Leading},
	{"L14", Leading, EvOpened, Leading},
	{"L14", Over, EvOpened, Over},
	{"L14", Leading, EvEnded, Over},
}

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
