package worker_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// takes has a process take a member's conversation, as the operator.
func (c *crew) takes(name, taker protocol.MemberName, now bool) {
	c.t.Helper()
	c.operate(func(l *control.Leader) ([]journal.Draft, error) {
		m, _ := l.Member(name)
		return l.Borrow(m, record.Borrowed{By: spawn.Identity{PID: 77, Start: string(taker), Boot: "boot"}, Now: now}, true)
	})
}

// ends ends a process that has taken a conversation.
func (c *crew) ends(taker protocol.MemberName) {
	c.mu.Lock()
	c.stopped[taker] = true
	c.mu.Unlock()
	c.poke()
}

// out reports that a member has let its conversation go to the one who took it last.
func (c *crew) out(name protocol.MemberName) func() bool {
	return c.sees(name, func(l *control.Leader, w *control.Worker) bool {
		m, _ := l.Member(name)
		return m.Borrowed != nil && w.Yielded == uint64(m.Borrowed.Seq)
	})
}

// stays checks that a while changes nothing.
func (c *crew) stays(what string, cond func() bool) {
	c.t.Helper()
	for range 60 {
		time.Sleep(time.Second) // the bubble's clock
		if !cond() {
			c.t.Fatalf("not any more: %s", what)
		}
	}
}

// TestTakenBetweenCalls: a person takes a conversation between two calls. A call that runs ends first, the next one
// does not start, and what comes meanwhile waits. When the taker has ended, the open task goes on in the same
// conversation, then the mail is read; waggle repeats nothing.
func TestTakenBetweenCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.talks(nil)
		c.starts("ann")
		end := make(chan struct{})
		var works []agent.Work
		var cut error
		c.order("ann", "1", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			first := keep(c, &works, w) == 1
			if err := h.Conversation(ctx, agent.Conversation{ID: "conv-1"}); err != nil {
				return agent.Result{}, err
			}
			if !first {
				_, err := c.bash(ctx, h, "echo two")
				return agent.Result{Summary: "done"}, err
			}
			claim, err := h.Ask(ctx, bash("echo one"))
			if err != nil {
				return agent.Result{}, err
			}
			select {
			case <-end:
			case <-ctx.Done():
				t.Error("the turn is cut short while its call runs")
			}
			if err := claim.Done(ctx, agent.Ran{}); err != nil {
				return agent.Result{}, err
			}
			_, cut = c.bash(ctx, h, "echo two")
			return agent.Result{}, cut
		})
		runs := c.sees("ann", running)
		c.until("a call runs", runs)
		c.takes("ann", "taker", false)
		c.stays("the call runs and the conversation is the member's", func() bool { return runs() && !c.out("ann")() && !slices.Contains(c.notes(), "yielded") })
		close(end)
		c.until("the conversation is out", c.out("ann"))
		if cut == nil || c.runs("echo two") != 0 {
			t.Errorf("the next call: %v, ran %d times", cut, c.runs("echo two"))
		}
		c.say("ann", "meanwhile", record.Words{}, true)
		c.order("ann", "2", held(closed()))
		c.stays("the member waits", func() bool { return len(works) == 1 && len(c.texts("ann/1")) == 0 })
		if over, _ := c.over("ann", "1"); over {
			t.Error("the task has ended")
		}
		c.ends("taker")
		c.until("the mail is read", func() bool { return slices.Equal(c.texts("ann/1"), []string{"meanwhile"}) })
		c.until("over", c.finished("ann", "2"))
		if len(works) != 2 || works[1].Task == nil || works[1].Task.ID != "1" || works[1].Conversation != "conv-1" {
			t.Errorf("works %+v", works)
		}
		if n := c.runs("echo two"); n != 1 {
			t.Errorf("echo two ran %d times", n)
		}
		c.look("ann", func(l *control.Leader, w *control.Worker) {
			starts := map[string]int{}
			for _, call := range w.Calls {
				if call.Started {
					starts[call.Ask.Input]++
				}
			}
			if m, _ := l.Member("ann"); m.Borrowed != nil || len(starts) != 2 {
				t.Errorf("borrowed %+v, started %v", m.Borrowed, starts)
			}
		})
	}, "ann")
}

// closed is a channel that is closed.
func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// TestCutClosesQuestions: what a turn had asked is closed and not decided when a person takes the conversation or stops
// all work. Asked again after that, it is a new request.
func TestCutClosesQuestions(t *testing.T) {
	for name, way := range map[string]func(c *crew) (cut func(), is func() bool, back func()){
		"taken": func(c *crew) (func(), func() bool, func()) {
			return func() { c.takes("ann", "taker", false) }, c.out("ann"), func() { c.ends("taker") }
		},
		"halted": func(c *crew) (func(), func() bool, func()) { return c.halt, c.rests, c.goOn },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *crew) {
				cut, is, back := way(c)
				c.talks(nil)
				c.starts("ann")
				first := c.asks("touch x")
				cut()
				c.until("the turn is cut", is)
				c.until("nothing is asked", c.pending(0))
				if r, _ := c.leaderFold().Request(first.Key); r.Decided != nil {
					t.Errorf("decided: %+v", r.Decided)
				}
				back()
				c.askedAgain(first, "touch x")
			}, "ann")
		})
	}
}

// TestTakenNow: a call that runs is interrupted when the person says so; its end is unknown, and it is not run again.
func TestTakenNow(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.talks(nil)
		c.starts("ann")
		n := 0
		c.order("ann", "1", once(&n, func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			if _, err := h.Ask(ctx, bash("echo long")); err != nil {
				return agent.Result{}, err
			}
			return held(nil)(ctx, h, w)
		}))
		c.until("it runs", c.sees("ann", running))
		c.takes("ann", "taker", true)
		c.until("the conversation is out", c.out("ann"))
		c.look("ann", func(_ *control.Leader, w *control.Worker) {
			if len(w.Calls) != 1 || !w.Calls[0].Unknown {
				t.Errorf("calls %+v", w.Calls)
			}
		})
		c.ends("taker")
		c.until("over", c.finished("ann", "1"))
	}, "ann")
}

// TestTakenOverCrash: a conversation stays out while its taker lives, whoever of the team dies, and the worker goes on
// by itself when the taker has ended, without a leader that records it.
func TestTakenOverCrash(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.talks(nil)
		c.starts("ann")
		n := 0
		c.order("ann", "1", once(&n, held(nil)))
		c.until("it works", func() bool { return n == 1 })
		c.takes("ann", "taker", false)
		c.until("the conversation is out", c.out("ann"))
		c.dies("ann")
		c.dies(protocol.Lead)
		c.works("ann")
		c.stays("nothing begins", func() bool { return n == 1 && c.out("ann")() })
		c.ends("taker")
		c.until("it goes on", func() bool { return n == 2 })
	}, "ann")
}

// TestTakenStop: a member whose conversation is out agrees to end, although its turn is open.
func TestTakenStop(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.talks(nil)
		c.starts("ann")
		c.order("ann", "1", held(nil))
		c.until("it works", c.sees("ann", busy))
		c.takes("ann", "taker", false)
		c.until("the conversation is out", c.out("ann"))
		c.operate(func(l *control.Leader) ([]journal.Draft, error) {
			m, _ := l.Member("ann")
			return l.AskShutdown(m, "done", "operator", record.Mint{Now: time.Now(), MsgID: "00000000-0000-4000-8000-000000000001", Nonce: "n"})
		})
		c.until("it has agreed", c.sees("ann", func(l *control.Leader, _ *control.Worker) bool {
			m, _ := l.Member("ann")
			return m == nil || m.Approved || m.Left != nil
		}))
		if err := <-c.ended["ann"]; err != nil {
			t.Error(err)
		}
	}, "ann")
}

// TestTakenWithinACall: what a call that runs asks itself, as a subagent does, is asked and runs while a person waits
// for the conversation: else that call would never end.
func TestTakenWithinACall(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.talks(nil)
		c.starts("ann")
		taken := make(chan struct{})
		n := 0
		c.order("ann", "1", once(&n, func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			claim, err := h.Ask(ctx, bash("echo outer"))
			if err != nil {
				return agent.Result{}, err
			}
			<-taken
			_, err = c.bash(ctx, h, "touch inner")
			if err := errors.Join(err, claim.Done(ctx, agent.Ran{})); err != nil {
				return agent.Result{}, err
			}
			return held(nil)(ctx, h, w)
		}))
		c.until("a call runs", c.sees("ann", running))
		c.takes("ann", "taker", false)
		close(taken)
		c.until("the inner call is asked", c.pending(1))
		c.answer(true, "")
		c.until("the conversation is out", c.out("ann"))
		if n := c.runs("touch inner"); n != 1 {
			t.Errorf("the inner call ran %d times", n)
		}
		c.ends("taker")
		c.until("over", c.finished("ann", "1"))
	}, "ann")
}

// TestTakenWhileChecked: the check of a task ends before its conversation is out, and does not run again.
func TestTakenWhileChecked(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		x := c.checks(true, 0)
		x.slow = make(chan struct{})
		c.starts("ann")
		c.orderChecked("1", ends(agent.Result{}))
		c.until("the check runs", has(c, &x.ran, 1))
		c.takes("ann", "taker", false)
		c.stays("the check runs", func() bool { return !c.out("ann")() })
		close(x.slow)
		c.until("the conversation is out", c.out("ann"))
		if over, done := c.over("ann", "1"); !over || !done || len(x.ran) != 1 {
			t.Errorf("over %v, done %v, checks %q", over, done, x.ran)
		}
	}, "ann")
}

// TestTakenAnswersNothing: an allow that has not begun when a person takes the conversation opens nothing
// afterwards: the person may have done the same. The agent is told that a person had the conversation, also by a
// process that was started meanwhile.
func TestTakenAnswersNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.talks(nil)
		c.gateWait = 30 * time.Second
		c.starts("ann")
		var lent []bool
		c.order("ann", "1", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			lent = append(lent, w.Lent)
			first := len(lent) == 1
			if err := h.Conversation(ctx, agent.Conversation{ID: "conv-1", Resumed: !first}); err != nil {
				return agent.Result{}, err
			}
			_, err := c.bash(ctx, h, "touch x")
			if first && err == nil { // it was told to come back
				<-ctx.Done()
				err = ctx.Err()
			}
			return agent.Result{}, err
		})
		c.until("it is asked", c.pending(1))
		first := c.leaderFold().Pending()[0]
		time.Sleep(time.Minute) // the bubble's clock: its patience ends
		c.answer(true, "")
		c.until("the allow is there", c.allowed(first))
		c.takes("ann", "taker", false)
		c.until("the conversation is out", c.out("ann"))
		c.restarts("ann")
		c.ends("taker")
		c.askedAgain(first, "touch x")
		if !slices.Equal(lent, []bool{false, true}) {
			t.Errorf("lent %v", lent)
		}
	}, "ann")
}
