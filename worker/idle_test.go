package worker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"waggle/agent"
	"waggle/control"
	"waggle/protocol"
)

// TestIdleReasons: every turn ends with one idle notice: available when it went well or
// its task failed, failed when the agent broke, interrupted when it was ended.
func TestIdleReasons(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		for id, turn := range map[string]func(context.Context) (agent.Result, error){
			"1": func(context.Context) (agent.Result, error) { return agent.Result{Summary: "done"}, nil },
			"2": func(context.Context) (agent.Result, error) { return agent.Result{Failed: true, Reason: "no way"}, nil },
			"3": func(context.Context) (agent.Result, error) { return agent.Result{}, errors.New("it broke") },
		} {
			c.order("ann", id, func(ctx context.Context, _ agent.Host, _ agent.Work) (agent.Result, error) { return turn(ctx) })
			c.until("over", c.finished("ann", id))
		}
		started := make(chan struct{})
		c.order("ann", "4", func(ctx context.Context, _ agent.Host, _ agent.Work) (agent.Result, error) {
			close(started)
			<-ctx.Done()
			return agent.Result{}, ctx.Err()
		})
		<-started
		c.quits("ann")
		got := map[string]string{}
		c.look("ann", func(_ *control.Leader, w *control.Worker) {
			for _, s := range w.Outbox {
				env, err := s.Mail.Open()
				if err != nil {
					t.Error(err)
				}
				if p, ok := protocol.Decode(env).Payload.(protocol.IdleNotification); ok {
					got[p.CompletedTaskID] += fmt.Sprintf("%s %s %q %q", p.IdleReason, p.CompletedStatus, p.Result, p.FailureReason)
				}
			}
		})
		for id, want := range map[string]string{"1": `available resolved "done" ""`, "2": `available failed "" "no way"`,
			"3": `failed failed "" "it broke"`, "4": `interrupted failed "" ""`} {
			if got[id] != want {
				t.Errorf("task %s: %s, want %s", id, got[id], want)
			}
		}
	}, "ann")
}
