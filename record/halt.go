package record

import "time"

// Record kinds of a team that the operator has halted.
const (
	KindHalted  = "halted"  // Halted; in the leader's journal, by the operator
	KindResumed = "resumed" // Resumed; in the leader's journal, by the operator
	KindRests   = "rests"   // Rests; in a worker's journal
)

// Halted stops every turn of the team: from then on no member asks, starts or takes anything, until a Resumed.
type Halted struct {
	Reason string `json:"reason,omitempty"`
}

// Resumed lets a halted team go on. It is about the newest halted record before it.
type Resumed struct {
	Halted uint64 `json:"halted"` // seq of that record
}

// Rests says that nothing of the member runs any more for a halted record: its turn was cut short, or it had none.
type Rests struct {
	Halted uint64 `json:"leader_seq"`
	// Cut are the calls that it has interrupted: their turn asks for them again.
	Cut []Key `json:"cut,omitempty"`
}

// KindTakenBack is a TakenBack in the leader's journal, by the operator.
const KindTakenBack = "taken_back"

// TakenBack withdraws an answer of the operator's, as long as nothing has started by it. The member asks again.
type TakenBack struct {
	Key
	Decided uint64 `json:"decided"` // seq of that record
}

// KindBegun is the kind of a Begun, in the leader's journal.
const KindBegun = "begun"

// Begun takes a member out of the queue of those that waggle new made (Joined.Queued): from now on its process is
// started as every other member's.
type Begun struct {
	Instance Instance `json:"instance"`
}

// KindSlept is the kind of a Slept, in the leader's journal.
const KindSlept = "slept"

// Slept says that the machine of the process that leads was suspended until just before this record. The
// time counts for no deadline of a request that was open, and for no limit of restarts.
type Slept struct {
	ForMS int64 `json:"for_ms"`
}

// For is how long that was.
func (s Slept) For() time.Duration { return time.Duration(s.ForMS) * time.Millisecond }
