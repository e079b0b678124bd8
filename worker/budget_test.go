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
)

// budget sets the budgets of the team.
func (c *crew) budget(b record.Budgets) {
	c.t.Helper()
	c.operate(func(l *control.Leader) ([]journal.Draft, error) {
		return l.SetBudgets(b, journal.Writer{Operator: true, PID: 1})
	})
}

func tokens(n int64) record.Limit { return record.Limit{Tokens: n} }

// spends is a turn that uses tokens.
func (c *crew) spends(id string, n int64) play {
	return func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
		return agent.Result{}, h.Used(ctx, agent.Usage{ID: id, Input: n})
	}
}

// TestBudgetPauses: a member that has used up its budget takes no task and no words, asks once, over
// a crash too, and goes on with all of it when the budget is raised.
func TestBudgetPauses(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		c.budget(record.Budgets{Members: map[protocol.MemberName]record.Limit{"ann": tokens(100)}})
		c.order("ann", "1", c.spends("r1", 100))
		c.order("ann", "2", c.spends("r2", 10))
		c.until("over", c.finished("ann", "1"))
		c.until("asked", c.pending(1))
		c.chat("ann", "team-lead", "go on")
		time.Sleep(time.Minute) // the bubble's clock
		r := c.leaderFold().Pending()[0]
		if over, _ := c.over("ann", "2"); over || len(c.texts("ann 1")) > 0 || r.Ask.Tool != "Budget" {
			t.Errorf("work was taken while paused: %v, %+v", c.texts("ann 1"), r.Ask)
		}
		c.restarts("ann")
		time.Sleep(time.Minute) // the bubble's clock
		if rs := c.leaderFold().Pending(); len(rs) != 1 || rs[0].Key != r.Key {
			t.Fatalf("after the crash: %+v", rs)
		}
		c.answer(true, "")
		c.until("over", c.finished("ann", "2"))
		c.look("ann", func(l *control.Leader, w *control.Worker) {
			if len(w.Calls) != 1 || w.Usage.Tokens() != 110 || w.Over(l) != nil {
				t.Errorf("%d calls, %+v", len(w.Calls), w.Usage)
			}
		})
	}, "ann")
}

// TestBudgetInTurn: a call waits while a budget is used up, also after a person has refused to raise
// it, and runs when the budget is set anew. Nothing of the turn is lost.
func TestBudgetInTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		limit := tokens(100)
		c.budget(record.Budgets{Team: &limit})
		var out agent.Outcome
		c.order("ann", "1", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			if err := h.Used(ctx, agent.Usage{ID: "r1", Input: 60, Output: 60}); err != nil {
				return agent.Result{}, err
			}
			return c.gets(&out, "echo on")(ctx, h, w)
		})
		c.until("asked", c.pending(1))
		c.answer(false, "enough")
		time.Sleep(time.Minute) // the bubble's clock
		if over, _ := c.over("ann", "1"); over || c.runs("echo on") != 0 || len(c.leaderFold().Pending()) != 0 {
			t.Errorf("the call went on: ran %d", c.runs("echo on"))
		}
		limit = tokens(1000)
		c.budget(record.Budgets{Team: &limit})
		c.until("over", c.finished("ann", "1"))
		if !out.Allowed || c.runs("echo on") != 1 {
			t.Errorf("%+v, ran %d", out, c.runs("echo on"))
		}
	}, "ann")
}

// TestBudgetUnattended: where nobody can raise a budget the call is denied with the reason.
func TestBudgetUnattended(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.policy(func(p *record.PolicySet) { p.Unattended = true })
		c.starts("ann")
		limit := tokens(100)
		c.budget(record.Budgets{Run: &limit})
		var out agent.Outcome
		c.order("ann", "1", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			if err := h.Used(ctx, agent.Usage{ID: "r1", Input: 100}); err != nil {
				return agent.Result{}, err
			}
			return c.gets(&out, "echo on")(ctx, h, w)
		})
		c.until("over", c.finished("ann", "1"))
		if want := "the run's budget of 100 tokens is used up ($0, 100 tokens, reported): ask again when it is raised"; out.Allowed || out.Reason != want || c.runs("echo on") != 0 {
			t.Errorf("%+v", out)
		}
	}, "ann")
}

// TestTeamBudgetPausesAll: the usage of one member pauses another, and a raise that one asked for
// lets both go on.
func TestTeamBudgetPausesAll(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann", "bob")
		limit := tokens(100)
		c.budget(record.Budgets{Team: &limit})
		c.order("ann", "1", c.spends("r1", 100))
		c.until("over", c.finished("ann", "1"))
		c.order("ann", "2", c.spends("r2", 1))
		c.order("bob", "3", c.spends("r3", 1))
		c.until("both ask", c.pending(2))
		c.decideOn(c.leaderFold().Pending()[0], control.Answer{Allow: true})
		c.until("over", c.finished("ann", "2"))
		c.until("over", c.finished("bob", "3"))
		c.until("none is open", c.pending(0))
	}, "ann", "bob")
}

func limited(_ *control.Leader, w *control.Worker) bool {
	_, limited := w.LimitedUntil(time.Now())
	return limited
}

// TestLimitedGoesOn: a turn that a usage limit cut short stays open, goes on at that time by itself,
// with its conversation, and the words and the calls of its first part are not repeated by waggle.
func TestLimitedGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.talks(nil)
		c.starts("ann")
		began := time.Now()
		var turns []time.Duration
		var works []agent.Work
		c.order("ann", "1", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			c.mu.Lock()
			turns, works = append(turns, time.Since(began).Truncate(time.Minute)), append(works, w)
			n := len(turns)
			c.mu.Unlock()
			err := errors.Join(h.Conversation(ctx, agent.Conversation{ID: "conv-1"}), h.Say(ctx, "team-lead", "hello", ""))
			if _, cerr := c.bash(ctx, h, "echo again"); cerr != nil {
				return agent.Result{}, cerr
			}
			if n == 1 {
				return agent.Result{}, errors.Join(err, &agent.Limited{Until: began.Add(time.Hour), Reason: "five_hour"})
			}
			return agent.Result{Summary: "done"}, err
		})
		c.until("limited", c.sees("ann", limited))
		time.Sleep(59 * time.Minute) // the bubble's clock
		if len(turns) != 1 {
			t.Errorf("turns at %v", turns)
		}
		c.until("over", c.finished("ann", "1"))
		if !slices.Equal(turns, []time.Duration{0, time.Hour}) || works[1].Conversation != "conv-1" || works[1].Task == nil || works[1].Task.ID != "1" {
			t.Errorf("turns at %v with %+v", turns, works)
		}
		if n := c.runs("echo again"); n != 2 { // a call of the conversation that goes on is a new one
			t.Errorf("ran %d times", n)
		}
	}, "ann")
}

// limits are plays that are cut short by limits, one turn each, and then end. turns has when each began.
type limits struct {
	c     *crew
	began time.Time
	turns []time.Duration
}

func (l *limits) play(by ...*agent.Limited) play {
	return func(context.Context, agent.Host, agent.Work) (agent.Result, error) {
		keep(l.c, &l.turns, time.Since(l.began).Truncate(10*time.Second))
		if len(by) == 0 {
			return agent.Result{}, nil
		}
		next := by[0]
		by = by[1:]
		return agent.Result{}, next
	}
}

// TestLimitedOverCrash: a process that dies while it is limited is followed by one that waits too.
func TestLimitedOverCrash(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		l := &limits{c: c, began: time.Now()}
		c.order("ann", "1", l.play(&agent.Limited{Until: l.began.Add(time.Hour)}))
		c.until("limited", c.sees("ann", limited))
		c.restarts("ann")
		time.Sleep(59 * time.Minute) // the bubble's clock
		c.until("over", c.finished("ann", "1"))
		if !slices.Equal(l.turns, []time.Duration{0, time.Hour}) {
			t.Errorf("turns at %v", l.turns)
		}
	}, "ann")
}

// TestPassing: what is passing is tried again soon, each time in a row later, and soon again after a turn that
// went on.
func TestPassing(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		passing := &agent.Limited{Reason: "overloaded", Passing: true}
		minutes := func(f float64) time.Duration { return time.Duration(f * float64(time.Minute)) }
		l := &limits{c: c, began: time.Now()}
		c.order("ann", "1", l.play(slices.Repeat([]*agent.Limited{passing}, 6)...))
		c.until("over", c.finished("ann", "1"))
		if want := []time.Duration{0, minutes(.5), minutes(1.5), minutes(3.5), minutes(7.5), minutes(12.5), minutes(17.5)}; !slices.Equal(l.turns, want) {
			t.Errorf("turns at %v, want %v", l.turns, want)
		}
		l = &limits{c: c, began: time.Now()}
		c.order("ann", "2", l.play(passing))
		c.until("over", c.finished("ann", "2"))
		if len(l.turns) != 2 || l.turns[1]-l.turns[0] != minutes(.5) { // the bubble's clock
			t.Errorf("later turns at %v", l.turns)
		}
	}, "ann")
}

// TestLimitedWithoutEnd: a limit whose end the agent does not know is tried again after a while, and
// one that is over at once not at once.
func TestLimitedWithoutEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		l := &limits{c: c, began: time.Now()}
		c.order("ann", "1", l.play(&agent.Limited{}, &agent.Limited{Until: l.began}))
		c.until("over", c.finished("ann", "1"))
		if !slices.Equal(l.turns, []time.Duration{0, 5 * time.Minute, 5*time.Minute + 30*time.Second}) {
			t.Errorf("turns at %v", l.turns)
		}
	}, "ann")
}
