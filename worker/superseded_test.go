package worker_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/record"
)

// TestSupersededByOneJournal: a worker whose member has a newer process ends, whichever of the two
// journals says so first, also when it is idle.
func TestSupersededByOneJournal(t *testing.T) {
	for name, newer := range map[string]func(c *crew, m *control.Member){
		"the leader's": func(c *crew, m *control.Member) {
			c.record(c.lead, journal.Writer{Instance: string(m.Instance), PID: 2}, record.KindProcess, record.Process{Instance: m.Instance, Epoch: m.Process.Epoch + 1})
		},
		"its own": func(c *crew, m *control.Member) {
			c.record(c.ownOf(m.Name), journal.Writer{Instance: string(m.Instance), Epoch: m.Process.Epoch + 1, PID: 2}, record.KindOpened,
				record.Opened{Team: teamName, UID: "uid", Instance: m.Instance, Name: m.Name, Epoch: m.Process.Epoch + 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *crew) {
				c.works("ann")
				synctest.Wait()
				m, ok := c.leaderFold().Member("ann")
				if !ok || m.Process == nil {
					t.Fatal("no process on record")
				}
				newer(c, m)
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

// record appends one record to a journal, as w.
func (c *crew) record(j *journal.Memory, w journal.Writer, kind string, body any) {
	c.t.Helper()
	if _, err := j.Open(nil).Append(c.ctx, w, func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: kind, Must: true, Body: body}}, nil
	}); err != nil {
		c.t.Fatal(err)
	}
	c.poke()
}
