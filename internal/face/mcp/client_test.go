package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waggle/agent"
	"waggle/internal/face/mcp"
	"waggle/internal/test/testenv"
	"waggle/protocol"
)

// host answers what a client asks in a turn.
type host struct {
	agent.Host
	said  []string
	allow bool
	ended []agent.Ran
}

func (h *host) Say(_ context.Context, to, text, _ string) error {
	h.said = append(h.said, to+": "+text)
	return nil
}
func (h *host) Progress(_ context.Context, phase, text string) error {
	h.said = append(h.said, phase+" "+text)
	return nil
}
func (h *host) Ask(_ context.Context, c agent.Call) (agent.Claim, error) {
	h.said = append(h.said, c.Tool+" in "+c.Cwd)
	if !h.allow {
		return agent.Claim{Decision: agent.Decision{Reason: "no"}}, nil
	}
	return agent.Granted(agent.Decision{}, "perm-1", c.Input, func(_ context.Context, r agent.Ran) error {
		h.ended = append(h.ended, r)
		return nil
	}), nil
}

// turn is one turn that a worker gives, and how it ends.
type turn struct {
	mu    sync.Mutex
	ended turnEnd
}

type turnEnd struct {
	res agent.Result
	err error
	at  time.Time // zero: it has not ended
}

func (t *turn) end() turnEnd {
	synctest.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// give gives a client a turn, beside the test.
func give(ctx context.Context, wg *sync.WaitGroup, c *mcp.Client, h agent.Host, w agent.Work) *turn {
	t := &turn{}
	wg.Go(func() {
		res, err := c.Turn(ctx, h, w)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.ended = turnEnd{res, err, time.Now()}
	})
	return t
}

// inBubble runs a test of a client in a bubble of synctest, and waits until all of its turns have ended.
func inBubble(t *testing.T, do func(t *testing.T, ctx context.Context, wg *sync.WaitGroup, c *mcp.Client)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		do(t, ctx, &wg, mcp.NewClient())
		cancel()
		wg.Wait()
	})
}

// TestChatTurn: mail is given once, and its turn ends when the client checks again.
func TestChatTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, wg *sync.WaitGroup, c *mcp.Client) {
		began := time.Now()
		w, err := c.Check(ctx, 20*time.Second)
		if err != nil || len(w.Messages) != 0 || w.Task != nil || time.Since(began) != 20*time.Second { // the bubble's clock
			t.Fatalf("nothing came: %+v, %v, after %s", w, err, time.Since(began))
		}
		got := make(chan mcp.Work)
		wg.Go(func() {
			w, _ := c.Check(ctx, time.Minute)
			got <- w
		})
		synctest.Wait()
		tn := give(ctx, wg, c, &host{}, agent.Work{Mail: []protocol.Mail{{From: "bob", Summary: "s", Text: "hi"}}, Cwd: "/w"})
		if w := <-got; !slices.Equal(w.Messages, []mcp.Mail{{From: "bob", Summary: "s", Text: "hi"}}) || w.Task != nil {
			t.Fatalf("%+v", w)
		}
		if !tn.end().at.IsZero() {
			t.Error("the turn ended before the client had read")
		}
		if w, err := c.Check(ctx, time.Second); err != nil || len(w.Messages) != 0 {
			t.Errorf("it is given twice: %+v, %v", w, err)
		}
		if e := tn.end(); e.at.IsZero() || e.err != nil || e.res.Failed {
			t.Errorf("%+v", e)
		}
	})
}

// TestStillClient: a client that asks nothing after its mail is idle, and its task stays.
func TestStillClient(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, wg *sync.WaitGroup, c *mcp.Client) {
		mail := give(ctx, wg, c, &host{}, agent.Work{Mail: []protocol.Mail{{Text: "hi"}}})
		time.Sleep(time.Hour) // the bubble's clock
		if !mail.end().at.IsZero() {
			t.Fatal("mail that nobody has read is over")
		}
		began := time.Now()
		if w, err := c.Check(ctx, time.Minute); err != nil || len(w.Messages) != 1 {
			t.Fatal(w, err)
		}
		time.Sleep(time.Hour) // the bubble's clock
		if e := mail.end(); e.err != nil || e.at.Sub(began) != 10*time.Second {
			t.Errorf("%+v", e)
		}
		task := give(ctx, wg, c, &host{}, agent.Work{Task: &agent.Task{ID: "1"}})
		synctest.Wait()
		if w, err := c.Check(ctx, time.Minute); err != nil || w.Task == nil {
			t.Fatal(w, err)
		}
		time.Sleep(time.Hour) // the bubble's clock
		if !task.end().at.IsZero() {
			t.Error("a task is over that nobody has completed")
		}
	})
}

// TestTaskTurn: a task stays until it is completed; words that come meanwhile are given with it.
func TestTaskTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, wg *sync.WaitGroup, c *mcp.Client) {
		tn := give(ctx, wg, c, &host{}, agent.Work{Task: &agent.Task{ID: "7", Subject: "s", Instructions: "i", Cwd: "/w", PlanRequired: true}})
		synctest.Wait()
		want := agent.BoardTask{ID: "7", Subject: "s", Instructions: "i", Status: "in_progress", Cwd: "/w", Plan: true}
		for n := range 2 {
			w, err := c.Check(ctx, time.Second)
			if err != nil || w.Task == nil || w.Task.ID != want.ID || w.Task.Instructions != want.Instructions || !w.Task.Plan || len(w.Messages) != 0 {
				t.Fatalf("%d: %+v, %v", n, w, err)
			}
		}
		testenv.Must(t, c.Hear(ctx, []protocol.Mail{{From: "bob", Text: "faster"}}))
		if w, _ := c.Check(ctx, time.Minute); w.Task == nil || len(w.Messages) != 1 || w.Messages[0].Text != "faster" {
			t.Errorf("%+v", w)
		}
		if ours, err := c.Complete(ctx, "8", "", false); ours || err != nil || !tn.end().at.IsZero() {
			t.Errorf("another task: %v, %v", ours, err)
		}
		if ours, err := c.Complete(ctx, "7", "could not", true); !ours || err != nil {
			t.Fatal(ours, err)
		}
		if e := tn.end(); e.at.IsZero() || !e.res.Failed || e.res.Reason != "could not" {
			t.Errorf("%+v", e)
		}
		if ours, _ := c.Complete(ctx, "7", "", false); ours {
			t.Error("it ended twice")
		}
	})
}

// TestOwnTurn: a client that asks without work starts a turn for it. The turn ends when no call of the
// client is open and the client runs no allowed call itself.
func TestOwnTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, wg *sync.WaitGroup, c *mcp.Client) {
		h := &host{allow: true}
		type answer struct {
			agent.Claim
			error
		}
		got := make(chan answer)
		wg.Go(func() {
			claim, err := c.Ask(ctx, agent.Call{Tool: "Bash", Input: json.RawMessage(`{}`)})
			got <- answer{claim, err}
		})
		<-c.Starts()
		tn := give(ctx, wg, c, h, agent.Work{Cwd: "/w"})
		a := <-got
		if a.error != nil || !a.Allowed || !slices.Equal(h.said, []string{"Bash in /w"}) {
			t.Fatalf("%+v, %q", a, h.said)
		}
		time.Sleep(time.Hour) // the bubble's clock: the client runs the call
		if !tn.end().at.IsZero() {
			t.Fatal("the turn ended while the client ran a call")
		}
		if err := a.Done(ctx, agent.Ran{Tail: "out"}); err != nil || len(h.ended) != 1 {
			t.Fatal(err, h.ended)
		}
		began := time.Now()
		if err := c.Progress(ctx, "done", "x"); err != nil || h.said[1] != "team-lead: x" {
			t.Errorf("%v, %q", err, h.said)
		}
		wg.Wait()
		if e := tn.end(); e.err != nil || e.at.Sub(began) != 10*time.Second {
			t.Errorf("%+v, after %s", e, e.at.Sub(began))
		}
	})
}

// TestDeniedOwnTurn: a denied call does not keep its turn open.
func TestDeniedOwnTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, wg *sync.WaitGroup, c *mcp.Client) {
		tn := give(ctx, wg, c, &host{}, agent.Work{})
		synctest.Wait()
		if claim, err := c.Ask(ctx, agent.Call{Tool: "Bash"}); err != nil || claim.Allowed {
			t.Fatal(claim, err)
		}
		wg.Wait()
		if e := tn.end(); e.err != nil {
			t.Error(e.err)
		}
	})
}

// TestEnded: after the end of its member each call of a client fails, also one that waits already.
func TestEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, wg *sync.WaitGroup, c *mcp.Client) {
		waits := make(chan error)
		wg.Go(func() { waits <- c.Say(ctx, "bob", "hi", "") })
		synctest.Wait()
		c.Close()
		if err := <-waits; !errors.Is(err, mcp.ErrGone) {
			t.Error(err)
		}
		if _, err := c.Ask(ctx, agent.Call{}); !errors.Is(err, mcp.ErrGone) {
			t.Error(err)
		}
		if w, err := c.Check(ctx, time.Hour); err != nil || !w.Ending {
			t.Error(w, err)
		}
	})
}

// TestStopped: a turn that is ended from outside is an error, and the client may ask again.
func TestStopped(t *testing.T) {
	inBubble(t, func(t *testing.T, ctx context.Context, wg *sync.WaitGroup, c *mcp.Client) {
		within, stop := context.WithCancel(ctx)
		tn := give(within, wg, c, &host{}, agent.Work{Task: &agent.Task{ID: "1"}})
		synctest.Wait()
		stop()
		if e := tn.end(); !errors.Is(e.err, context.Canceled) {
			t.Errorf("%+v", e)
		}
		if ours, _ := c.Complete(ctx, "1", "", false); ours {
			t.Error("a turn that was stopped was completed")
		}
	})
}

// TestStillClientAnyOrder: the turn of a client that is still ends however its goroutine and the client's
// call take turns.
func TestStillClientAnyOrder(t *testing.T) {
	for range 500 {
		inBubble(t, func(t *testing.T, ctx context.Context, wg *sync.WaitGroup, c *mcp.Client) {
			mail := give(ctx, wg, c, &host{}, agent.Work{Mail: []protocol.Mail{{Text: "hi"}}})
			if w, err := c.Check(ctx, time.Minute); err != nil || len(w.Messages) != 1 {
				t.Fatal(w, err)
			}
			time.Sleep(time.Hour) // the bubble's clock
			if mail.end().at.IsZero() {
				t.Fatal("the client has read its mail and is still, and its turn goes on")
			}
		})
	}
}
