package worker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
)

// TestSupersededByOneJournal: a worker whose member has a newer process ends, whichever of the two
// journals says so first, also when it is idle.
func TestSupersededByOneJournal(t *testing.T) {
	for name, newer := range map[string]func(c *crew, m *control.Member){
		"the leader's": func(c *crew, m *control.Member) {
			c.record(c.lead, journal.Writer{Instance: string(m.Instance), PID: 2}, record.KindProcess, record.Process{Instance: m.Instance, Epoch: m.Process.Epoch + 1})
		},
		"its own": func(c *crew, m *control.Member) { c.opensNewer(m); c.poke() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *crew) {
				c.works("ann")
				synctest.Wait()
				newer(c, c.begun("ann"))
				time.Sleep(time.Minute) // the bubble's clock
				synctest.Wait()
				select {
				case err := <-c.ended["ann"]:
					if !errors.Is(err, control.ErrSuperseded) {
						t.Errorf("it ended with %v, want %v", err, control.ErrSuperseded)
					}
				default:
					t.Error("a minute later the older process still works")
				}
			}, "ann")
		})
	}
}

// begun is a member whose process is on record.
func (c *crew) begun(name protocol.MemberName) *control.Member {
	c.t.Helper()
	m, ok := c.leaderFold().Member(name)
	if !ok || m.Process == nil {
		c.t.Fatal("no process on record")
	}
	return m
}

// opensNewer has a newer process of a member open its journal. The older one does not look at it for that.
func (c *crew) opensNewer(m *control.Member) {
	c.t.Helper()
	epoch := m.Process.Epoch + 1
	c.append(c.ownOf(m.Name), journal.Writer{Instance: string(m.Instance), Epoch: epoch, PID: 2}, record.KindOpened,
		record.Opened{Team: teamName, UID: "uid", Instance: m.Instance, Name: m.Name, Epoch: epoch})
}

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
		c.opensNewer(c.begun("ann"))
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

// record appends one record to a journal, as w, and has everybody look at it.
func (c *crew) record(j *journal.Memory, w journal.Writer, kind string, body any) {
	c.t.Helper()
	c.append(j, w, kind, body)
	c.poke()
}

func (c *crew) append(j *journal.Memory, w journal.Writer, kind string, body any) {
	c.t.Helper()
	testenv.Value(j.Open(nil).Append(c.ctx, w, func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: kind, Must: true, Body: body}}, nil
	}))(c.t)
}
