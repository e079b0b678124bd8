package agent

import (
	"context"
	"encoding/json"
	"errors"

	"waggle/protocol"
)

// Claim is the answer to a call that the agent runs itself (Gate.Ask). When it is Allowed, its
// start is on record, and the agent runs the call exactly once and with Input; then it calls Done.
// A claim that is not Done when the turn ends has an unknown end on record.
type Claim struct {
	Decision
	ID protocol.RequestID
	// Input is what was allowed, which may differ from what was asked; nil when nothing was.
	Input json.RawMessage
	// Ran is what a call did that ran in this turn before a crash: it is not allowed a second time,
	// and Reason says so. A call whose end is unknown has Failed and Err.
	Ran *Ran

	end func(ctx context.Context, r Ran) error
}

// Granted returns an allowed claim for an implementation of Gate; end records what the call did.
func Granted(a Decision, id protocol.RequestID, input json.RawMessage, end func(ctx context.Context, r Ran) error) Claim {
	a.Allowed = true
	return Claim{Decision: a, ID: id, Input: input, end: end}
}

// ErrNotClaimed is the error of Done for a call that was not allowed.
var ErrNotClaimed = errors.New("the call was not allowed: it has no end")

// Done records what the call did. Once is enough: a second end, or one after the turn, is an error
// and changes nothing.
func (c Claim) Done(ctx context.Context, r Ran) error {
	if c.end == nil {
		return ErrNotClaimed
	}
	return c.end(ctx, r)
}
