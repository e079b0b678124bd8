package record

import "time"

// KindSlept is the kind of a Slept, in the leader's journal.
const KindSlept = "slept"

// Slept says that the machine of the process that leads was suspended until just before this record. The
// time counts for no deadline of a request that was open, and for no limit of restarts.
type Slept struct {
	ForMS int64 `json:"for_ms"`
}

// For is how long that was.
func (s Slept) For() time.Duration { return time.Duration(s.ForMS) * time.Millisecond }
