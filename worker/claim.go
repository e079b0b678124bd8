package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"waggle/agent"
	"waggle/journal"
	"waggle/record"
)

// Ask implements agent.Gate for an agent that runs the call itself: ask, wait, claim the grant.
func (h host) Ask(ctx context.Context, c agent.Call) (agent.Claim, error) {
	inner, leave := h.within(ctx)
	defer leave()
	call, err := h.claim(inner, c, true)
	switch {
	case errors.Is(err, errUnconfirmed):
		return agent.Claim{Decision: agent.Decision{Reason: err.Error(), By: "system"}, ID: call.key.ID}, nil
	case err != nil:
		return agent.Claim{}, h.takeBack(ctx, call.key, err)
	case call.ran != nil:
		why := cmp.Or(call.ran.Err, "it ran before a crash, and is not run again in this turn")
		return agent.Claim{Decision: agent.Decision{Reason: why, By: "system"}, ID: call.key.ID, Ran: call.ran}, nil
	case !call.started:
		return agent.Claim{Decision: call.Decision, ID: call.key.ID}, nil
	}
	return agent.Granted(call.Decision, call.key.ID, json.RawMessage(call.input), func(ctx context.Context, r agent.Ran) error {
		return h.done(ctx, call.key, r)
	}), nil
}

// errUnheld refuses the end of a call whose end is recorded already.
var errUnheld = errors.New("the end of this call is on record already")

// done records the end of a claimed call.
func (h host) done(ctx context.Context, k record.Key, r agent.Ran) error {
	held := false
	err := h.w.record(ctx, func() ([]journal.Draft, error) {
		if h.t.over || !h.t.held[k] {
			return nil, nil
		}
		held = true
		return h.w.p.Fold.Finish(finished(k, r)), nil
	})
	if err == nil && !held {
		err = errUnheld
	}
	if err == nil {
		h.w.mu.Lock()
		delete(h.t.held, k)
		h.w.mu.Unlock()
	}
	return err
}

// finished makes the record of a call's end.
func finished(k record.Key, r agent.Ran) record.Finished {
	return record.Finished{Key: k, ExitCode: r.ExitCode, Failed: r.Failed, Tail: tidyTail(r.Tail), Error: tidy(r.Err)}
}

// unended drafts an unknown end for each claimed call of a turn whose end the agent has not
// reported. The caller holds mu.
func (w *Worker) unended(t *turn) (ds []journal.Draft) {
	for k, held := range t.held {
		if !held {
			continue
		}
		ds = append(ds, w.p.Fold.GiveUp(k, "the turn ended, and its agent did not say how the call ended")...)
	}
	return ds
}
