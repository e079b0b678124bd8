package record

import "waggle/spawn"

// Record kinds of a session that a person goes on with in a client of their own.
const (
	KindBorrowed = "borrowed" // Borrowed; in the leader's journal, by the operator
	KindReturned = "returned" // Returned; in the leader's journal
	KindYielded  = "yielded"  // Yielded; in a worker's journal
)

// Borrowed asks a member to let its agent's conversation go to a person. It holds until a Returned, or
// until the process By is gone, whoever has recorded that.
type Borrowed struct {
	Instance Instance `json:"instance"`
	// By is the process that waits for the conversation, and then the person's client itself.
	By spawn.Identity `json:"by"`
	// Now: a tool call that runs is interrupted, and its end is unknown then. Otherwise the member lets
	// it end first.
	Now bool `json:"now,omitempty"`
}

// Returned gives a borrowed conversation back to its member.
type Returned struct {
	Instance Instance `json:"instance"`
	Borrowed uint64   `json:"borrowed"` // seq of that record
	Why      string   `json:"why"`
}

// Yielded says that nothing of the member uses its conversation any more: the person's client may open
// it. A turn that was cut short for it stays open.
type Yielded struct {
	Borrowed uint64 `json:"leader_seq"` // of the borrowed record
}
