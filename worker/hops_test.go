package worker_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/record"
)

// talk plays a crew whose agents answer every message: bob and ann each other, the lead's agent each notice that bob is
// idle. do is done in each of bob's turns. It returns how many turns there were after a minute in which nothing came
// from outside, and how many more words of the operator made.
func talk(t *testing.T, first protocol.MemberName, do func(context.Context, agent.Host) error) (turns, more int) {
	t.Helper()
	inBubble(t, func(t *testing.T, c *crew) {
		l := leadCrew(c)
		c.mu.Lock()
		c.onChat = func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			c.mu.Lock()
			l.turns = append(l.turns, []string{w.Mail[0].Text})
			stop := len(l.turns) > 50
			c.mu.Unlock()
			to := w.Mail[0].From
			switch {
			case stop:
				return agent.Result{}, nil
			case strings.HasPrefix(w.Mail[0].Text, "bob is idle"):
				return agent.Result{}, h.Say(ctx, "bob", "thanks", "")
			case to == "ann" || to == "bob":
				return agent.Result{}, h.Say(ctx, to, "thanks", "")
			case do != nil:
				return agent.Result{}, do(ctx, h)
			}
			return agent.Result{}, nil
		}
		c.mu.Unlock()
		c.works("ann")
		c.works("bob")
		c.until("both are up", func() bool { return c.fold("ann").Ready != nil && c.fold("bob").Ready != nil })
		if first == protocol.Lead {
			c.say("bob", "hello", record.Words{}, true)
		} else {
			c.chat("bob", string(first), "hello")
		}
		kept := map[mailbox.ID]bool{}
		quiet := func() int {
			time.Sleep(time.Minute) // the bubble's clock
			for _, name := range []protocol.MemberName{"ann", "bob"} {
				left, err := c.box(name).Unread(c.ctx)
				if err != nil || len(left) > 1 {
					t.Errorf("%s has %d unread, %v", name, len(left), err)
				}
				for _, e := range left {
					if kept[e.ID] {
						t.Errorf("%s has not read with the operator's words what was kept: %s", name, e.Envelope.Text)
					}
					kept[e.ID] = true
				}
			}
			return len(l.taken())
		}
		turns = quiet()
		c.say("bob", "go on", record.Words{}, true)
		c.say("ann", "go on", record.Words{}, true)
		more = quiet() - turns
	}, "ann", "bob")
	return turns, more
}

// TestTalkStops: agents that only answer each other stop, members their messages and a lead its members' idle notices;
// what the last one said stays for the next turn, and words of the operator begin anew. Agents that work go on.
func TestTalkStops(t *testing.T) {
	t.Parallel()
	t.Run("members", func(t *testing.T) {
		t.Parallel()
		if turns, more := talk(t, "ann", nil); turns < record.MaxHops || turns > record.MaxHops+1 || more < 2 {
			t.Errorf("%d turns, and %d after the operator's words", turns, more)
		}
	})
	t.Run("idle notices", func(t *testing.T) {
		t.Parallel()
		if turns, more := talk(t, protocol.Lead, nil); turns < 4 || turns > record.MaxHops+1 || more < 2 {
			t.Errorf("%d turns, and %d after the operator's words", turns, more)
		}
	})
	t.Run("work goes on", func(t *testing.T) {
		t.Parallel()
		look := func(ctx context.Context, h agent.Host) error {
			_, err := h.Tool(ctx, agent.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"echo x"}`)}, func(context.Context, json.RawMessage) agent.Ran { return agent.Ran{} })
			return err
		}
		if turns, _ := talk(t, protocol.Lead, look); turns < 50 {
			t.Errorf("members that work were stopped after %d turns", turns)
		}
	})
}
