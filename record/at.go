package record

import (
	"time"

	"waggle/journal"
)

// UnverifiedAt is an audit record and when it was made.
type UnverifiedAt struct {
	Unverified
	Seq  journal.Seq
	Time time.Time
}

// DivergedAt is an open divergence.
type DivergedAt struct {
	Diverged
	Seq journal.Seq
}

// IgnoredAt is a record without effect: its writer had no right to it, or its request
// was decided already.
type IgnoredAt struct {
	Seq  journal.Seq
	Kind string
	Why  string
}
