package worker_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/record"
)

// TestTimeoutGoesOn: a task's timeout counts what earlier processes have worked on the turn, and not the time
// between a kill and the next start, nor the time in which the machine was suspended. What is used up ends the
// task without another turn.
func TestTimeoutGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.talks(nil)
		c.starts("ann")
		var spent []time.Duration
		c.orderTask("ann", record.Task{ID: "1", TimeoutMS: time.Hour.Milliseconds()}, func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			n := keep(c, &spent, w.Task.Spent)
			time.Sleep(25 * time.Minute) // the bubble's clock
			if n == 2 {
				c.operate(func(l *control.Leader) ([]journal.Draft, error) { return l.Sleep(5 * time.Minute), nil })
			}
			if err := h.Steps(ctx, []agent.DeclaredStep{{Text: "look", State: []string{"pending", "in_progress"}[n%2]}}); err != nil {
				return agent.Result{}, err
			}
			time.Sleep(2 * time.Minute) // the bubble's clock: no record says of it
			if n == 3 {
				time.Sleep(20 * time.Minute) // the bubble's clock
				return agent.Result{}, h.Steps(ctx, nil)
			}
			<-ctx.Done()
			return agent.Result{}, ctx.Err()
		})
		again := func() {
			c.dies("ann")
			time.Sleep(3 * time.Hour) // the bubble's clock
			c.works("ann")
		}
		worked := func(n int) func() bool { return has(c, &spent, n) }
		for n := range 2 {
			c.until("it works", worked(n+1))
			time.Sleep(28 * time.Minute) // the bubble's clock
			again()
		}
		c.until("it works", worked(3))
		c.until("over", c.finished("ann", "1"))
		if want := []time.Duration{0, 25 * time.Minute, 45 * time.Minute}; !slices.Equal(spent, want) {
			t.Errorf("the turns were told that %v was spent, not %v", spent, want)
		}
	}, "ann")
}

// TestTimeoutUsedUp: a task whose timeout earlier processes have used up fails, and its agent has no turn.
func TestTimeoutUsedUp(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.talks(nil)
		c.starts("ann")
		turns := 0
		c.orderTask("ann", record.Task{ID: "1", TimeoutMS: time.Minute.Milliseconds()}, func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			c.mu.Lock()
			turns++
			c.mu.Unlock()
			time.Sleep(2 * time.Minute) // the bubble's clock
			err := h.Steps(ctx, []agent.DeclaredStep{{Text: "look", State: "pending"}})
			<-ctx.Done()
			return agent.Result{}, err
		})
		c.until("it has worked", c.sees("ann", func(_ *control.Leader, w *control.Worker) bool { return len(w.Steps) == 1 }))
		c.restarts("ann")
		c.until("over", c.finished("ann", "1"))
		c.look("ann", func(l *control.Leader, _ *control.Worker) {
			m, _ := l.Member("ann")
			if s := m.Turns["1"]; !s.Failed || s.Note != "ended by the task's timeout of 1m0s" || turns != 1 {
				t.Errorf("%+v after %d turns", s, turns)
			}
		})
	}, "ann")
}
