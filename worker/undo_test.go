package worker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
)

// takeBack takes the operator's answer to a request back.
func (c *crew) takeBack(r *control.Request) {
	c.t.Helper()
	c.operate(func(l *control.Leader) ([]journal.Draft, error) {
		now, _ := l.Request(r.Key)
		return l.TakeBack(now, c.fold("ann"))
	})
}

// allowed reports that ann's journal has an answer to a request, and not only that its patience ended.
func (c *crew) allowed(r *control.Request) func() bool {
	return c.sees("ann", func(_ *control.Leader, w *control.Worker) bool {
		call, _ := w.Call(r.Key)
		return call.Answer != nil && !call.Answer.Waited
	})
}

// TestTakeBackBeforeItIsSent: an answer that is taken back before it is in the mailbox is never sent; the session asks
// again.
func TestTakeBackBeforeItIsSent(t *testing.T) {
	for _, allow := range []bool{true, false} {
		inBubble(t, func(t *testing.T, c *crew) {
			c.starts("ann")
			first := c.asks("touch x")
			c.dies(protocol.Lead) // nobody sends it
			c.decideOn(first, control.Answer{Allow: allow, Reason: "no"})
			c.takeBack(first)
			c.leads()
			c.askedAgain(first, "touch x")
			if n := c.fold("ann").Unverified; n != 0 {
				t.Errorf("%d messages were not verified", n)
			}
		}, "ann")
	}
}

// TestTakeBackInTheMailbox: an answer that its member has not read starts nothing when it is read.
func TestTakeBackInTheMailbox(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		first := c.asks("touch x")
		c.dies("ann")
		c.decideOn(first, control.Answer{Allow: true})
		c.until("it is sent", func() bool { r, _ := c.leaderFold().Request(first.Key); return r.Order.Sent })
		c.takeBack(first)
		c.works("ann")
		c.askedAgain(first, "touch x")
		if r, _ := c.leaderFold().Request(first.Key); !r.Order.Closed || r.Order.End != record.Withdrawn {
			t.Errorf("order closed %v: %q", r.Order.Closed, r.Order.End)
		}
	}, "ann")
}

// TestTakeBackLateGrant: an allow that came when the session had stopped waiting can be taken back until it is claimed.
func TestTakeBackLateGrant(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.gateWait = 30 * time.Second
		c.starts("ann")
		again := make(chan struct{})
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			if out, err := c.bash(ctx, h, "touch x"); err != nil || out.Allowed {
				return agent.Result{}, errors.Join(err, errors.New("it did not stop waiting"))
			}
			<-again
			_, err := c.bash(ctx, h, "touch x")
			return agent.Result{}, err
		})
		c.until("it is asked", c.pending(1))
		first := c.leaderFold().Pending()[0]
		time.Sleep(time.Minute) // the bubble's clock
		c.decideOn(first, control.Answer{Allow: true})
		c.until("it is there", c.allowed(first))
		c.takeBack(first)
		close(again)
		c.askedAgain(first, "touch x")
	}, "ann")
}

// TestTakeBackPlan: the approval of a plan that its member has not read is taken back, and the plan is proposed again.
func TestTakeBackPlan(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			a, err := h.Plan(ctx, "first this")
			if err == nil && !a.Allowed {
				err = errors.New("not allowed: " + a.Reason)
			}
			return agent.Result{}, err
		})
		c.until("it is asked", c.pending(1))
		first := c.leaderFold().Pending()[0]
		c.dies(protocol.Lead)
		c.decideOn(first, control.Answer{Allow: true})
		c.takeBack(first)
		c.leads()
		c.until("it is proposed again", c.pending(1))
		c.answer(true, "")
		c.until("over", c.finished("ann", "1"))
		if _, done := c.over("ann", "1"); !done {
			t.Error("the task is not done: ", c.note("ann", "1"))
		}
	}, "ann")
}

// TestTakeBackTooLate: what has started is not taken back.
func TestTakeBackTooLate(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		first := c.asks("touch x")
		c.answer(true, "")
		c.until("over", c.finished("ann", "1"))
		r, _ := c.leaderFold().Request(first.Key)
		ds, err := c.leaderFold().TakeBack(r, c.fold("ann"))
		var refused *control.RefusedError
		if !errors.As(err, &refused) || ds != nil {
			t.Errorf("drafts %v, error %v", ds, err)
		}
	}, "ann")
}
