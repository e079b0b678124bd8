package worker_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
)

// TestResendLost: a message that another program removes from the lead's mailbox before the lead
// has read it is sent again, every time, and logged. A message that the lead has read is not.
func TestResendLost(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		box := mailbox.NewMemory(mailbox.Options{Retention: mailbox.Prune}) // so that marking removes entries
		c.setBox(protocol.Lead, box)
		empty := func() int {
			es, err := box.Entries(c.ctx)
			testenv.Must(t, err)
			for _, e := range es {
				testenv.Must(t, box.MarkRead(c.ctx, e.ID))
			}
			return len(es)
		}
		c.assigned()
		c.works("ann")
		time.Sleep(time.Minute) // the bubble's clock
		sent := empty()
		if sent == 0 {
			t.Fatal("nothing was sent")
		}
		for i := range 3 {
			time.Sleep(2 * time.Minute) // the bubble's clock
			synctest.Wait()
			if n := empty(); n != sent {
				t.Fatalf("look %d: %d messages of %d", i, n, sent)
			}
		}
		c.leads()
		c.until("over", c.finished("ann", "1"))
		time.Sleep(10 * time.Minute) // the bubble's clock
		if n := empty(); n > 0 {
			t.Errorf("%d messages that the lead had read were sent again", n)
		}
		if n := strings.Count(c.log.String(), "sent again"); n != 4*sent {
			t.Errorf("%d messages were taken away 4 times, it was said %d times", sent, n)
		}
	}, "ann")
}

// TestResendBacksOff: the time between two checks for a message that is removed each time doubles,
// up to a minute.
func TestResendBacksOff(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		box := mailbox.NewMemory(mailbox.Options{Retention: mailbox.Prune})
		c.setBox(protocol.Lead, box)
		c.assigned()
		c.works("ann")
		const tick = 500 * time.Millisecond
		key := ""
		var came []time.Time
		for range 8 * time.Minute / tick {
			time.Sleep(tick) // the bubble's clock
			synctest.Wait()
			es, err := box.Entries(c.ctx)
			testenv.Must(t, err)
			for _, e := range es {
				if key == "" {
					key = e.Envelope.Text
				}
				if e.Envelope.Text == key {
					came = append(came, time.Now())
				}
				testenv.Must(t, box.MarkRead(c.ctx, e.ID))
			}
		}
		if len(came) < 7 {
			t.Fatalf("it came %d times in eight minutes", len(came))
		}
		for i := 2; i < len(came); i++ {
			before, gap := came[i-1].Sub(came[i-2]), came[i].Sub(came[i-1])
			want := min(2*before, time.Minute)
			if off := gap - want; off < -5*time.Second || off > 5*time.Second {
				t.Errorf("it came again after %s, and then after %s; want about %s", before, gap, want)
			}
		}
		if last := came[len(came)-1].Sub(came[len(came)-2]); last < 55*time.Second {
			t.Errorf("after %d times it still comes every %s", len(came), last)
		}
	}, "ann")
}
