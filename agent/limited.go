package agent

import "time"

// Limited is the error of a turn that the agent's account cut short: a usage limit is reached. The
// turn is not over: the member is limited until that time, and then gives the agent the same work
// again, with its conversation.
type Limited struct {
	Until  time.Time // zero: not known; the member tries again after a while
	Reason string    // the agent's words, one line
}

func (e *Limited) Error() string {
	s := e.Reason
	if s == "" {
		s = "a usage limit is reached"
	}
	if !e.Until.IsZero() {
		s += ", until " + e.Until.UTC().Format(time.RFC3339)
	}
	return s
}
