package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/record"
)

// TestAnsweredElsewhere: a request that was answered in the pane, where waggle does not decide, is
// closed with the words of that answer and allows nothing. The question that the pane waits for is
// on record meanwhile.
func TestAnsweredElsewhere(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var claim agent.Claim
		var err error
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			if err := errors.Join(h.(agent.Waiter).Waits(ctx, "do you trust it?"), h.(agent.Waiter).Waits(ctx, "do you trust it?")); err != nil {
				return agent.Result{}, err
			}
			less, cancel := context.WithTimeoutCause(ctx, time.Minute, &agent.ElsewhereError{How: "answered in the pane: denied"})
			defer cancel()
			claim, err = h.Ask(less, bash("make it"))
			return agent.Result{}, h.(agent.Waiter).Waits(ctx, "")
		})
		c.until("over", c.finished("ann", "1"))
		if claim.Allowed || !errors.Is(err, agent.ErrWithdrawn) {
			t.Errorf("the claim is %+v, %v", claim, err)
		}
		var closed string
		var waits []string
		for _, r := range c.ownOf("ann").Records() {
			switch r.Kind {
			case record.KindAnswered:
				closed += string(r.Body)
			case record.KindPane:
				waits = append(waits, string(r.Body))
			}
		}
		if !strings.Contains(closed, "withdrawn: answered in the pane: denied") || strings.Contains(closed, `"decision":"allow"`) {
			t.Errorf("the request is closed by %s", closed)
		}
		if got := strings.Join(waits, " "); got != `{"waits":"do you trust it?"} {"waits":""}` {
			t.Errorf("the pane waits for %s", got)
		}
	}, "ann")
}
