package agent

import (
	"cmp"
	"time"
)

// Limited is the error of a turn that was cut short by the agent's account, whose usage limit is reached, or
// by its service, which is overloaded or out of reach. The turn is not over: the member is limited until that
// time, and then gives the agent the same work again, with its conversation.
type Limited struct {
	Until  time.Time // zero: not known; the member tries again after a while
	Reason string    // the agent's words, one line
	// Passing: it is the service, which may be back at any time. Without Until the member tries again
	// soon, and each time in a row later.
	Passing bool
}

func (e *Limited) Error() string {
	s := cmp.Or(e.Reason, "a usage limit is reached")
	if !e.Until.IsZero() {
		s += ", until " + e.Until.UTC().Format(time.RFC3339)
	}
	return s
}
