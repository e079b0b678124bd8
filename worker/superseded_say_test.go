package worker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/record"
)

// TestSupersededAppendsNothing: when a newer process has opened its journal and a process has not
// noticed that yet, its first Say fails with ErrSuperseded and appends no record.
func TestSupersededAppendsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		gate, said := make(chan struct{}), make(chan error, 1)
		c.starts("ann")
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			<-gate
			said <- h.Say(ctx, "team-lead", "I am still here", "")
			return agent.Result{}, nil
		})
		synctest.Wait()
		m, ok := c.leaderFold().Member("ann")
		if !ok || m.Process == nil {
			t.Fatal("no process on record")
		}
		newer := journal.Writer{Instance: string(m.Instance), Epoch: m.Process.Epoch + 1, PID: 2}
		if _, err := c.ownOf("ann").Open(nil).Append(c.ctx, newer, func() ([]journal.Draft, error) {
			return []journal.Draft{{Kind: record.KindOpened, Must: true, Body: record.Opened{Team: teamName, UID: "uid", Instance: m.Instance, Name: m.Name, Epoch: newer.Epoch}}}, nil
		}); err != nil {
			t.Fatal(err)
		}
		before := len(c.ownOf("ann").Records())
		close(gate) // it has not looked at its journal since
		if err := <-said; !errors.Is(err, control.ErrSuperseded) {
			t.Errorf("it said something with %v, want %v", err, control.ErrSuperseded)
		}
		synctest.Wait()
		if n := len(c.ownOf("ann").Records()); n != before {
			t.Errorf("%d records were appended by an older process", n-before)
		}
	}, "ann")
}
