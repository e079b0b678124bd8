package record

// KindBegun is the kind of a Begun, in the leader's journal.
const KindBegun = "begun"

// Begun takes a member out of the queue of those that waggle new made (Joined.Queued): from now on its process is
// started as every other member's.
type Begun struct {
	Instance Instance `json:"instance"`
}
