package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"waggle/control"
	"waggle/operator"
	"waggle/record"
)

// Asking shows the open requests of a team to the person at the terminal of the process that leads
// it. The process's loop calls Put with the open requests, passes what comes from Replies to Take,
// and calls End at the end. A request that was answered elsewhere, or is closed, is withdrawn from
// the terminal by the next Put, which says why.
type Asking struct {
	Operator Operator
	State    *operator.State
	// Ask is RunOptions.Ask.
	Ask func(ctx context.Context, q Request) (Answer, error)

	open    map[record.Key]context.CancelCauseFunc
	replies chan Reply
	over    chan struct{}
	wg      sync.WaitGroup
}

// Reply is the result of Ask for a request.
type Reply struct {
	key    record.Key
	Answer Answer
	err    error
}

// errOver is the cause with which End cancels open prompts.
var errOver = errors.New("this command ends or hands over")

// Put asks each of these requests once, and withdraws those that are not in the list any more.
func (a *Asking) Put(ctx context.Context, pending []*control.Request) {
	if a.open == nil {
		a.open, a.replies, a.over = map[record.Key]context.CancelCauseFunc{}, make(chan Reply), make(chan struct{})
	}
	still := map[record.Key]bool{}
	for _, req := range pending {
		still[req.Key] = true
		if a.open[req.Key] == nil {
			a.start(ctx, req.Key, a.Operator.request(a.State.Lead, req))
		}
	}
	for key, cancel := range a.open {
		if !still[key] {
			cancel(errors.New(a.closed(key)))
		}
	}
}

// start asks for one request. Its ctx is independent of the loop's, so that its cause is always one
// of this type; End cancels it.
func (a *Asking) start(ctx context.Context, key record.Key, q Request) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	a.open[key] = cancel
	ask := a.Ask // the loop replaces Ask at each Put
	a.wg.Go(func() {
		answer, err := ask(ctx, q)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		select {
		case a.replies <- Reply{key, answer, err}:
		case <-a.over:
		}
	})
}

// closed returns the reason why a request is not open any more.
func (a *Asking) closed(key record.Key) string {
	req, ok := a.State.Lead.Request(key)
	switch {
	case !ok:
		return "there is no such request"
	case req.Decided == nil:
		return cmp.Or(req.Closed, "its member asks no more")
	case req.Decided.Via == control.ViaExpiry:
		return "its time is over, so it is denied"
	}
	return fmt.Sprintf("%s by %s, from elsewhere (%s)", req.Decided.Decision, req.Decided.By, req.Decided.Via)
}

// Replies returns the channel of what Ask has returned. Before the first Put it is nil, and a
// receive from it blocks.
func (a *Asking) Replies() <-chan Reply { return a.replies }

// Take decides what was answered at the terminal; refused says why an answer has no effect. A
// request that Ask could not show stays open, and is not asked again.
func (a *Asking) Take(ctx context.Context, rep Reply) (refused string, err error) {
	a.open[rep.key](nil)
	if rep.err == nil || !a.pending(rep.key) {
		delete(a.open, rep.key)
	}
	if rep.err != nil {
		return "", nil
	}
	if l := rep.Answer.Lesson; l != nil {
		if err := l.fits(a.Operator, a.State.Lead, rep.Answer); err != nil {
			return err.Error(), nil
		}
	}
	d, err := a.Operator.decide(ctx, a.State, rep.Answer, nil)
	if d.err != nil {
		refused = d.err.Error()
	}
	return refused, err
}

func (a *Asking) pending(key record.Key) bool {
	return slices.ContainsFunc(a.State.Lead.Pending(), func(r *control.Request) bool { return r.Key == key })
}

// End withdraws every request and waits until Ask has returned for each.
func (a *Asking) End() {
	if a.open == nil {
		return
	}
	for _, cancel := range a.open {
		cancel(errOver)
	}
	close(a.over)
	a.wg.Wait()
	a.open = nil
}
