package record

// KindTakenBack is a TakenBack in the leader's journal, by the operator.
const KindTakenBack = "taken_back"

// TakenBack withdraws an answer of the operator's, as long as nothing has started by it. The member asks again.
type TakenBack struct {
	Key
	Decided uint64 `json:"decided"` // seq of that record
}
