package worker_test

import (
	"context"
	"testing"
	"testing/synctest"

	"waggle/agent"
	"waggle/control"
	"waggle/worker"
)

// starter is an agent that wants turns of its own.
type starter struct {
	agent.Agent
	starts chan struct{}
}

func (s starter) Starts() <-chan struct{} { return s.starts }

// TestOwnTurns: an agent that signals on Starts gets one turn without work as soon as it is idle,
// one for any number of signals before it, and none for a signal that a turn with work has served.
func TestOwnTurns(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		starts, turns, free := make(chan struct{}), make(chan agent.Work), make(chan struct{})
		c.wrap = func(p *worker.Parts) { p.Agent = starter{p.Agent, starts} }
		c.onChat = func(ctx context.Context, _ agent.Host, w agent.Work) (agent.Result, error) {
			select {
			case turns <- w:
				<-free
			case <-ctx.Done():
			}
			return agent.Result{}, ctx.Err()
		}
		c.starts("ann")
		starts <- struct{}{}
		if got := <-turns; got.Task != nil || len(got.Mail) != 0 || got.Cwd == "" {
			t.Errorf("its own turn has work: %+v", got)
		}
		starts <- struct{}{}
		starts <- struct{}{} // wanted while it is busy: one turn more
		synctest.Wait()
		free <- struct{}{}
		if got := <-turns; got.Task != nil || len(got.Mail) != 0 {
			t.Errorf("%+v", got)
		}
		free <- struct{}{}
		c.until("idle", c.sees("ann", func(_ *control.Leader, w *control.Worker) bool { return w.Turn() == nil }))
		select {
		case got := <-turns:
			t.Errorf("nobody wanted this turn: %+v", got)
		default:
		}
		c.order("ann", "1", c.onChat)
		if got := <-turns; got.Task == nil {
			t.Errorf("%+v", got)
		}
		free <- struct{}{}
		c.until("over", c.finished("ann", "1"))
		c.quits("ann")
	}, "ann")
}

// startingTalker is a session that wants turns of its own.
type startingTalker struct {
	*talker
	starts chan struct{}
}

func (s *startingTalker) Starts() <-chan struct{} { return s.starts }

// TestOwnTurnConversation: a turn without work goes on in the member's conversation.
func TestOwnTurnConversation(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		starts, turns := make(chan struct{}), make(chan agent.Work)
		c.wrap = func(p *worker.Parts) { p.Agent = &startingTalker{&talker{Agent: p.Agent, c: c}, starts} }
		c.onChat = func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			err := h.Conversation(ctx, agent.Conversation{ID: "conv-1"})
			turns <- w
			return agent.Result{}, err
		}
		c.starts("ann")
		for _, want := range []string{"", "conv-1"} {
			starts <- struct{}{}
			if got := <-turns; got.Conversation != want {
				t.Errorf("the turn goes on in %q, want %q", got.Conversation, want)
			}
		}
		c.quits("ann")
	}, "ann")
}
