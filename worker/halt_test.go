package worker_test

import (
	"context"
	"slices"
	"testing"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
)

// halt stops all work, as the operator; go on lets it go on.
func (c *crew) halt() {
	c.t.Helper()
	c.operate(func(l *control.Leader) ([]journal.Draft, error) { return l.Stand("too much"), nil })
}

func (c *crew) goOn() {
	c.t.Helper()
	c.operate(func(l *control.Leader) ([]journal.Draft, error) { return l.GoOn(), nil })
}

// rests reports that nothing of ann runs, for the halt that holds.
func (c *crew) rests() (rests bool) {
	c.look("ann", func(l *control.Leader, w *control.Worker) {
		rests = l.Halt != nil && w.Rested == uint64(l.Halt.Seq) && len(w.Running()) == 0
	})
	return rests
}

// TestHaltCutsACall: a halt cuts the call that runs, at once. What comes meanwhile waits. After it the open turn goes
// on, in its conversation where there is one; waggle repeats nothing by itself.
func TestHaltCutsACall(t *testing.T) {
	for _, talks := range []bool{true, false} {
		inBubble(t, func(t *testing.T, c *crew) {
			if talks {
				c.talks(nil)
			}
			c.starts("ann")
			var works []agent.Work
			c.order("ann", "1", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
				first := keep(c, &works, w) == 1
				if first {
					if _, err := h.Ask(ctx, bash("echo long")); err != nil {
						return agent.Result{}, err
					}
					<-ctx.Done()
					return agent.Result{}, ctx.Err()
				}
				_, err := c.bash(ctx, h, "echo two")
				return agent.Result{Summary: "done"}, err
			})
			c.until("a call runs", c.sees("ann", running))
			c.halt()
			c.until("it rests", c.rests)
			c.look("ann", func(_ *control.Leader, w *control.Worker) {
				if open := w.Turn() != nil; !open || len(w.Calls) != 1 || !w.Calls[0].Unknown {
					t.Errorf("talks %v: turn open %v, calls %+v", talks, open, w.Calls)
				}
			})
			c.say("ann", "meanwhile", record.Words{}, true)
			c.order("ann", "2", held(closed()))
			c.stays("it rests", func() bool { return len(works) == 1 && c.rests() && len(c.texts("ann/1")) == 0 })
			c.goOn()
			c.until("over", func() bool { return c.finished("ann", "1")() && c.finished("ann", "2")() })
			c.until("the mail is read", func() bool { return slices.Equal(c.texts("ann/1"), []string{"meanwhile"}) })
			if _, done := c.over("ann", "1"); !done || len(works) != 2 || c.runs("echo two") != 1 {
				t.Errorf("talks %v: done %v, works %+v, echo two ran %d times", talks, done, works, c.runs("echo two"))
			}
		}, "ann")
	}
}

// TestHaltHoldsOverCrash: a halt holds for a process that is started meanwhile, without a leader too.
func TestHaltHoldsOverCrash(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.talks(nil)
		c.starts("ann")
		n := 0
		c.order("ann", "1", once(&n, held(nil)))
		c.until("it works", func() bool { return n == 1 })
		c.dies("ann")
		c.dies(protocol.Lead)
		c.halt()
		c.works("ann")
		c.until("it rests", c.rests)
		c.stays("nothing begins", func() bool { return n == 1 })
		c.goOn()
		c.until("it goes on", func() bool { return n == 2 })
	}, "ann")
}

// TestHaltRunsNothingTwice: an agent without a conversation begins its task again after a halt. What had ended before it
// is answered from the record; what it interrupted is asked again, also by a process that was started meanwhile.
func TestHaltRunsNothingTwice(t *testing.T) {
	for _, dies := range []bool{false, true} {
		inBubble(t, func(t *testing.T, c *crew) {
			c.starts("ann")
			n := 0
			c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
				n++
				if _, err := c.bash(ctx, h, "echo one"); err != nil {
					return agent.Result{}, err
				}
				if n > 1 {
					out, err := c.bash(ctx, h, "echo long")
					return agent.Result{Failed: out.Ran == nil || out.Ran.Failed}, err
				}
				if _, err := h.Ask(ctx, bash("echo long")); err != nil {
					return agent.Result{}, err
				}
				<-ctx.Done()
				return agent.Result{}, ctx.Err()
			})
			c.until("the second call runs", c.sees("ann", running))
			c.halt()
			c.until("it rests", c.rests)
			if dies {
				c.restarts("ann")
				c.stays("it rests", c.rests)
			}
			c.goOn()
			c.until("over", c.finished("ann", "1"))
			if _, done := c.over("ann", "1"); !done || c.runs("echo one") != 1 || c.runs("echo long") != 1 {
				t.Errorf("dies %v: done %v, echo one ran %d times, echo long %d times", dies, done, c.runs("echo one"), c.runs("echo long"))
			}
		}, "ann")
	}
}
