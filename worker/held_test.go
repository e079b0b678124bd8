package worker_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waggle/agent"
	"waggle/journal"
	"waggle/worker"
)

// breaking is a journal that is broken as long as it is told so.
type breaking struct {
	journal.Journal
	name journal.Name
	now  *atomic.Bool
}

func (b breaking) err() error {
	if b.now.Load() {
		return &journal.BrokenError{Journal: b.name, File: "00000001.jsonl", Line: 2, Seq: 2, Why: "a byte was flipped"}
	}
	return nil
}

func (b breaking) Refresh(ctx context.Context) error {
	if err := b.err(); err != nil {
		return err
	}
	return b.Journal.Refresh(ctx)
}

func (b breaking) Append(ctx context.Context, w journal.Writer, propose func() ([]journal.Draft, error)) ([]journal.Record, error) {
	if err := b.err(); err != nil {
		return nil, err
	}
	return b.Journal.Append(ctx, w, propose)
}

// TestBrokenJournalHolds breaks the leader's journal, or the member's own, while a turn runs. A
// call that was allowed does not start, the agent is denied after its wait, the worker stays, and
// the same call runs when the journal is whole again.
func TestBrokenJournalHolds(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		inBubble(t, func(t *testing.T, c *crew) {
			var now atomic.Bool
			c.gateWait = 30 * time.Second
			c.wrap = func(p *worker.Parts) {
				if own {
					p.Journal = breaking{p.Journal, "ann", &now}
				} else {
					p.Leader = breaking{p.Leader, journal.Leader, &now}
				}
			}
			var outs []agent.Outcome
			again := make(chan struct{})
			c.starts("ann")
			c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
				<-again
				for range 2 {
					out, err := c.bash(ctx, h, "echo hello")
					if err != nil {
						return agent.Result{}, err
					}
					keep(c, &outs, out)
					<-again
				}
				return agent.Result{}, nil
			})
			told := func(n int) func() bool { return has(c, &outs, n) }
			c.until("the turn runs", c.sees("ann", busy))
			now.Store(true)
			again <- struct{}{}
			c.until("patience ends", told(1))
			if o := outs[0]; o.Allowed || o.By != "system" || !strings.Contains(o.Reason, "nothing can be decided now") || c.runs("echo hello") > 0 {
				t.Errorf("own %v: told %+v, ran %d times", own, o.Decision, c.runs("echo hello"))
			}
			time.Sleep(time.Minute) // the bubble's clock
			select {
			case err := <-c.ended["ann"]:
				t.Fatalf("own %v: the worker ended: %v", own, err)
			default:
			}
			now.Store(false)
			again <- struct{}{}
			c.until("it ran", told(2))
			if !outs[1].Allowed || c.runs("echo hello") != 1 {
				t.Errorf("own %v: told %+v, ran %d times", own, outs[1].Decision, c.runs("echo hello"))
			}
			again <- struct{}{}
			c.until("the turn is over", c.finished("ann", "1"))
		}, "ann")
	}
}
