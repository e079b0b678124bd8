package worker

import (
	"errors"

	"waggle/agent"
	"waggle/journal"
)

// ill returns the journal break behind an error, of this member's journal or the leader's; nil when
// there is none. A worker whose journal is broken asks, starts and sends nothing, and continues
// when the break is undone (journal.File).
func ill(err error) *journal.BrokenError {
	b, _ := errors.AsType[*journal.BrokenError](err)
	return b
}

// impatient reports whether a journal has been broken for longer than the agent waits.
func (h host) impatient(err error, began int64) bool {
	return ill(err) != nil && h.w.p.GateWait > 0 && h.w.p.Minter.Now().UnixNano()-began >= int64(h.w.p.GateWait)
}

// denied is the answer to an agent that has waited long enough for a journal which is
// broken; ok is false for any other error.
func denied(err error) (a agent.Decision, ok bool) {
	b := ill(err)
	if b == nil {
		return a, false
	}
	return agent.Decision{Reason: "nothing can be decided now, retry later: " + b.Error(), By: "system"}, true
}
