package record

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
