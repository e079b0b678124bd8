package worker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/machine"
	"waggle/protocol"
	"waggle/record"
)

var database = agent.Question{Parts: []agent.Part{
	{Header: "DB", Text: "Which database?", Options: []agent.Option{{Label: "Postgres", Description: "as now"}, {Label: "SQLite"}}},
	{Text: "Which parts?", Multiple: true, Options: []agent.Option{{Label: "a"}, {Label: "b"}, {Label: "c"}}},
}}

// words answers the only open question with words as they are typed.
func (c *crew) words(typed ...string) {
	c.t.Helper()
	r := c.leaderFold().Pending()[0]
	replies, err := record.Replies(r.Ask.Input, typed)
	testenv.Must(c.t, err)
	c.decide(control.Answer{Allow: true, Answers: replies})
}

// TestQuestion: the agent gets the answers to its question, by whoever gave them, and no message is
// sent.
func TestQuestion(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var got agent.Answers
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			var err error
			got, err = h.Question(ctx, database)
			return agent.Result{}, err
		})
		c.until("asked", c.pending(1))
		c.look("ann", func(_ *control.Leader, w *control.Worker) {
			if w.State() != machine.BlockedQuestion {
				t.Errorf("the member is %s", w.State())
			}
		})
		if es, err := c.box(protocol.Lead).Entries(c.ctx); err != nil || len(es) != 0 {
			t.Errorf("the lead has %d entries: %v", len(es), err)
		}
		c.words("2", "1, 3")
		c.until("over", c.finished("ann", "1"))
		want := agent.Answers{Given: true, By: "operator", Replies: []agent.Reply{{Labels: []string{"SQLite"}}, {Labels: []string{"a", "c"}}}}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the agent was told (-want +got):\n%s", d)
		}
		if got.Replies[1].String() != "a, c" {
			t.Errorf("as one text: %q", got.Replies[1])
		}
		if es, err := c.box("ann").Entries(c.ctx); err != nil || len(es) != 1 { // its assignment
			t.Errorf("ann has %d entries: %v", len(es), err)
		}
	}, "ann")
}

// TestQuestionsAtOnce: two questions of one turn are two requests, each with its answer.
func TestQuestionsAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var got [2]agent.Answers
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			var wg sync.WaitGroup
			var errs [2]error
			for i, text := range []string{"one?", "two?"} {
				wg.Go(func() { got[i], errs[i] = h.Question(ctx, agent.Question{Parts: []agent.Part{{Text: text}}}) })
			}
			wg.Wait()
			return agent.Result{}, errors.Join(errs[:]...)
		})
		c.until("asked", c.pending(2))
		for _, r := range c.leaderFold().Pending() {
			qs, err := record.Questions(r.Ask.Input)
			testenv.Must(t, err)
			replies, err := record.Replies(r.Ask.Input, []string{"to " + qs[0].Text})
			testenv.Must(t, err)
			c.decideOn(r, control.Answer{Allow: true, Answers: replies})
		}
		c.until("over", c.finished("ann", "1"))
		for i, want := range []string{"to one?", "to two?"} {
			if !got[i].Given || got[i].Replies[0].Text != want {
				t.Errorf("question %d: %+v", i+1, got[i])
			}
		}
	}, "ann")
}

// TestQuestionUnanswered: an agent whose patience ends, whose question is denied, or that gives it up is never told an
// empty answer; the answer that came late is its answer when it asks once more.
func TestQuestionUnanswered(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.gateWait = 30 * time.Second
		c.starts("ann")
		var got []agent.Answers
		var gaveUp error
		told := func(n int) func() bool { return has(c, &got, n) }
		again := make(chan struct{})
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			ask := func(q agent.Question) error {
				a, err := h.Question(ctx, q)
				keep(c, &got, a)
				<-again
				return err
			}
			if err := errors.Join(ask(database), ask(database), ask(agent.Question{Parts: []agent.Part{{Text: "more?"}}})); err != nil {
				return agent.Result{}, err
			}
			less, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, gaveUp = h.Question(less, agent.Question{Parts: []agent.Part{{Text: "now?"}}})
			return agent.Result{}, nil
		})
		c.until("patience ends", told(1))
		c.words("1", "2")
		again <- struct{}{}
		c.until("told the late answer", told(2))
		again <- struct{}{}
		c.until("asked more", c.pending(1))
		c.answer(false, "")
		c.until("told no", told(3))
		again <- struct{}{}
		c.until("over", c.finished("ann", "1"))
		if a := got[0]; a.Given || a.Replies != nil || !strings.HasPrefix(a.Reason, agent.NoAnswer) {
			t.Errorf("patience: %+v", a)
		}
		if a := got[1]; !a.Given || a.Replies[0].String() != "Postgres" {
			t.Errorf("the late answer: %+v", a)
		}
		if a := got[2]; a.Given || a.Replies != nil || a.Reason != agent.NoAnswer || a.By != "operator" {
			t.Errorf("denied: %+v", a)
		}
		if !errors.Is(gaveUp, agent.ErrWithdrawn) {
			t.Errorf("given up: %v", gaveUp)
		}
		c.until("nothing waits", c.pending(0))
	}, "ann")
	if agent.NoAnswer != record.NoAnswer {
		t.Error("the agent is told something else than what is on record")
	}
}

// TestQuestionAfterKill: a question outlives its process; the session that follows waits for the same
// answer, and one that was given before is not asked for again.
func TestQuestionAfterKill(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var got []agent.Answers
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			for _, q := range []agent.Question{{Parts: []agent.Part{{Text: "first?"}}}, database} {
				a, err := h.Question(ctx, q)
				if err != nil {
					return agent.Result{}, err
				}
				keep(c, &got, a)
			}
			return agent.Result{}, nil
		})
		c.until("asked", c.pending(1))
		c.words("yes, first")
		c.until("asked again", func() bool { return len(c.leaderFold().Requests) == 2 && c.pending(1)() })
		key := c.leaderFold().Pending()[0].Key
		c.restarts("ann")
		c.until("the answer is replayed", has(c, &got, 2))
		if ps := c.leaderFold().Pending(); len(ps) != 1 || ps[0].Key != key || len(c.leaderFold().Requests) != 2 {
			t.Errorf("pending %v", ps)
		}
		c.words("2", "b")
		c.until("over", c.finished("ann", "1"))
		texts := []string{}
		for _, a := range got {
			texts = append(texts, a.Replies[0].String())
		}
		if !slices.Equal(texts, []string{"yes, first", "yes, first", "SQLite"}) {
			t.Errorf("told %q", texts)
		}
	}, "ann")
}

// TestQuestionRefused: a question that nobody could answer is an error and is not asked.
func TestQuestionRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var errs []error
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			for _, q := range []agent.Question{{}, {Parts: []agent.Part{{Text: ""}}}, {Parts: []agent.Part{{Text: "a"}, {Text: "a"}}}, {Parts: []agent.Part{{Text: "\xff"}}}} {
				_, err := h.Question(ctx, q)
				errs = append(errs, err)
			}
			return agent.Result{}, nil
		})
		c.until("over", c.finished("ann", "1"))
		for i, err := range errs {
			if err == nil {
				t.Errorf("question %d was asked", i)
			}
		}
		if n := len(c.leaderFold().Requests); n != 0 {
			t.Errorf("%d requests", n)
		}
	}, "ann")
}
