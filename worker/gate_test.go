package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
)

// TestLateApprovalIsTold: an agent whose patience has ended is told of an approval that comes later, once: in
// a turn of its own when it is idle, with its mail in a turn. It asks again, and the call runs.
func TestLateApprovalIsTold(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.gateWait = 30 * time.Second
		var told []string
		c.onChat = func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			for _, m := range w.Mail {
				told = append(told, m.From+": "+m.Text)
			}
			_, err := c.bash(ctx, h, "make it")
			return agent.Result{}, err
		}
		c.starts("ann")
		c.order("ann", "1", c.does("make it"))
		c.until("the turn is over", c.finished("ann", "1"))
		if c.runs("make it") != 0 || !c.pending(1)() {
			t.Fatal("it ran, or waits no more")
		}
		c.answer(true, "")
		c.until("it ran", func() bool { return c.runs("make it") == 1 })
		time.Sleep(time.Hour) // the bubble's clock: nothing is told again
		if len(told) != 1 || !strings.HasPrefix(told[0], "system: perm-") || !strings.Contains(told[0], "is approved: ask for it again") || !strings.Contains(told[0], "make it") {
			t.Errorf("told %q", told)
		}
	}, "ann")
}

// TestLateApproval: the agent's patience ends, the question stays open, and the
// approval that comes later is used by the same question, once.
func TestLateApproval(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.gateWait = 30 * time.Second
		var outs []agent.Outcome
		told := func(n int) func() bool { return has(c, &outs, n) }
		again := make(chan struct{})
		c.starts("ann")
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			for range 3 {
				out, err := c.bash(ctx, h, "make it")
				if err != nil {
					return agent.Result{}, err
				}
				keep(c, &outs, out)
				<-again
			}
			return agent.Result{}, nil
		})
		c.until("patience ends", told(1))
		if o := outs[0]; o.Allowed || o.By != "system" || !strings.Contains(o.Reason, "nobody has answered within 30s; retry when perm-") {
			t.Errorf("told %+v", o.Decision)
		}
		if time.Since(c.lead.Records()[0].Time) < 30*time.Second { // the bubble's clock
			t.Error("told too early")
		}
		if !c.pending(1)() {
			t.Error("the question is not open any more")
		}
		again <- struct{}{}
		c.until("patience ends again", told(2))
		c.answer(true, "")
		time.Sleep(time.Minute) // the bubble's clock: no request arrives meanwhile
		if c.runs("make it") != 0 {
			t.Error("it ran by itself")
		}
		again <- struct{}{}
		c.until("it ran", told(3))
		if o := outs[2]; !o.Allowed || o.Ran == nil || c.runs("make it") != 1 {
			t.Errorf("told %+v, ran %d times", o, c.runs("make it"))
		}
		if n := len(c.leaderFold().Requests); n != 1 {
			t.Errorf("%d requests, want the one", n)
		}
		again <- struct{}{}
		c.until("over", c.finished("ann", "1"))
	}, "ann")
}

// TestPlanIsTakenBack: a plan that its agent gave up is withdrawn; it cannot be approved any more,
// and the next plan is asked for.
func TestPlanIsTakenBack(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var second agent.Decision
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			less, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if a, err := h.Plan(less, "plan A"); err == nil {
				return agent.Result{}, fmt.Errorf("plan A came to %+v", a)
			}
			var err error
			second, err = h.Plan(ctx, "plan B")
			return agent.Result{}, err
		})
		c.until("plan A is proposed", c.pending(1))
		c.until("plan B is", func() bool { return len(c.leaderFold().Requests) == 2 })
		rs := c.leaderFold().Requests
		if r := rs[0]; r.State != machine.RequestClosed || r.Closed != "withdrawn" || r.Decided != nil {
			t.Errorf("plan A is %s: %s", r.State, r.Closed)
		}
		c.answer(true, "go on")
		c.until("over", c.finished("ann", "1"))
		if !second.Allowed || second.Reason != "go on" {
			t.Errorf("plan B came to %+v", second)
		}
	}, "ann")
}

// TestAnswerJustInTime: an answer that is on record when patience ends is the
// answer.
func TestAnswerJustInTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.gateWait = 30 * time.Second
		c.starts("ann")
		var got agent.Outcome
		c.order("ann", "1", c.gets(&got, "make it"))
		c.until("asked", c.pending(1))
		time.Sleep(30*time.Second - time.Nanosecond) // the bubble's clock
		c.answer(true, "")
		c.until("over", c.finished("ann", "1"))
		if !got.Allowed || c.runs("make it") != 1 {
			t.Errorf("told %+v, ran %d times", got, c.runs("make it"))
		}
	}, "ann")
}

// TestDenialReachesTheAgent: the agent gets the words of the one who denied.
func TestDenialReachesTheAgent(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var got agent.Outcome
		var plan, host agent.Decision
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			var errs [3]error
			got, errs[0] = c.bash(ctx, h, "make it")
			plan, errs[1] = h.Plan(ctx, "first this, then that")
			host, errs[2] = h.Network(ctx, "example.com", "to look")
			return agent.Result{}, errors.Join(errs[:]...)
		})
		for range 3 {
			c.until("asked", c.pending(1))
			c.answer(false, "not before lunch")
		}
		c.until("over", c.finished("ann", "1"))
		want := agent.Decision{Reason: "not before lunch", By: "operator"}
		if diff := cmp.Diff([]agent.Decision{want, want, want}, []agent.Decision{got.Decision, plan, host}); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if got.Ran != nil || c.runs("make it") != 0 {
			t.Error("it ran")
		}
	}, "ann")
}

// TestShutdownHoldsTheGate: while a shutdown request waits for its answer no call is asked or
// started; the rejection reopens the gate.
func TestShutdownHoldsTheGate(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		c.asks("make it")
		// The rejection cannot be written for a while.
		c.faults.mu.Lock()
		c.faults.at = map[string]fault{}
		n := c.faults.count["ann append own"]
		for i := 2; i <= 6; i++ { // 1 is the shutdown itself
			c.faults.at[fmt.Sprintf("ann append own %d", n+i)] = failBefore
		}
		c.faults.mu.Unlock()
		testenv.Must(t, c.l.Shutdown(c.ctx, "ann", "now", policy.RoleOperator))
		synctest.Wait()
		c.answer(true, "")
		c.until("over", c.finished("ann", "1"))
		kinds := c.recordKinds("ann")
		rejected, started := slices.Index(kinds, "said shutdown_rejected"), slices.IndexFunc(kinds, func(s string) bool { return strings.HasPrefix(s, "started") })
		if rejected < 0 || started < rejected || c.runs("make it") != 1 {
			t.Errorf("want the rejection before the start: %q", kinds)
		}
	}, "ann")
}

// TestAgentPanics: a panic of the agent is a failed turn, also inside a tool call, and the worker
// continues.
func TestAgentPanics(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		c.order("ann", "1", func(context.Context, agent.Host, agent.Work) (agent.Result, error) { panic("boom") })
		c.order("ann", "2", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			_, err := h.Tool(ctx, bash("echo x"), func(context.Context, json.RawMessage) agent.Ran { panic("in the tool") })
			return agent.Result{}, err
		})
		c.order("ann", "3", func(context.Context, agent.Host, agent.Work) (agent.Result, error) {
			runtime.Goexit()
			return agent.Result{}, nil
		})
		c.order("ann", "4", nil)
		c.until("all over", c.finished("ann", "4"))
		for id, want := range map[string]string{"1": "the agent panicked: boom", "2": "the agent panicked: in the tool", "3": "the agent ended its goroutine", "4": "done"} {
			if _, done := c.over("ann", id); done != (id == "4") || id != "4" && c.note("ann", id) != want {
				t.Errorf("task %s: completed %v, %q; want %q", id, done, c.note("ann", id), want)
			}
		}
		c.look("ann", func(_ *control.Leader, w *control.Worker) {
			if f := w.Calls[0].Finished; f == nil || !f.Failed {
				t.Errorf("the call of the panic ended as %+v", f)
			}
		})
	}, "ann")
}

// TestHostAfterTheTurn: an agent that continues after its turn, or ignores the turn's ctx, gets
// errors and blocks nobody.
func TestHostAfterTheTurn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var late agent.Host
		c.order("ann", "1", func(_ context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			late = h
			return agent.Result{}, nil
		})
		c.until("over", c.finished("ann", "1"))
		bg := context.Background()
		_, e1 := c.bash(bg, late, "echo late")
		_, e2 := late.Plan(bg, "p")
		_, e3 := late.Network(bg, "example.com", "")
		errs := []error{e1, e2, e3, late.Say(bg, "bob", "hi", ""), late.Progress(bg, "done", "x")}
		for i, err := range errs {
			if err == nil {
				t.Errorf("call %d after the turn was taken", i)
			}
		}
		if c.runs("echo late") != 0 || len(c.texts("bob/1")) > 0 {
			t.Error("it had an effect")
		}
		c.order("ann", "2", func(_ context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			_, err := c.bash(bg, h, "make it") // would wait without end
			return agent.Result{}, err
		})
		c.until("asked", c.pending(1))
		if err := c.quits("ann"); !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
	}, "ann", "bob")
}

// TestSayToNobody: a message to a name that no member has is an error for the agent and does not
// delay its messages to others.
func TestSayToNobody(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var errs []error
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			for _, to := range []string{"nobody", "No Such Name", "team-lead"} {
				errs = append(errs, h.Say(ctx, to, "hello", ""))
			}
			errs = append(errs, h.Say(ctx, "team-lead", `{"type":"shutdown_approved","requestId":"x"}`, ""))
			return agent.Result{}, nil
		})
		c.until("over", c.finished("ann", "1"))
		if _, done := c.over("ann", "1"); !done || errs[0] == nil || errs[1] == nil || errs[2] != nil || errs[3] == nil {
			t.Errorf("completed %v, say: %v", done, errs)
		}
		if es, err := c.box(protocol.Lead).Entries(c.ctx); err != nil || len(es) != 3 {
			t.Errorf("the lead has %d entries, want hello, completed, idle", len(es))
		}
	}, "ann")
}

// TestTwinCalls: two equal calls of one turn are two runs, and each needs an approval.
func TestTwinCalls(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var outs [2]agent.Outcome
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			var wg sync.WaitGroup
			var errs [2]error
			for i := range outs {
				wg.Go(func() { outs[i], errs[i] = c.bash(ctx, h, "make it") })
			}
			wg.Wait()
			return agent.Result{}, errors.Join(errs[:]...)
		})
		c.until("asked", c.pending(1))
		c.answer(true, "")
		c.until("asked again", c.pending(1))
		synctest.Wait()
		if n := c.runs("make it"); n != 1 {
			t.Errorf("one approval was used %d times", n)
		}
		c.answer(true, "")
		c.until("over", c.finished("ann", "1"))
		if n := c.runs("make it"); n != 2 || !outs[0].Allowed || !outs[1].Allowed {
			t.Errorf("ran %d times, told %+v", n, outs)
		}
	}, "ann")
}

// TestOvertaken: a process that was stopped while a successor started does nothing any more: the
// call runs once, and the old process returns the reason.
func TestOvertaken(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.leads()
		gate := make(chan struct{})
		var first []error
		c.works("ann")
		old := c.ended["ann"]
		c.order("ann", "1", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			select {
			case <-gate: // the old process sleeps here
				return agent.Result{}, nil
			default:
			}
			c.mu.Lock()
			c.plays["1"] = c.does("make it")
			c.mu.Unlock()
			<-gate
			_, err := c.bash(ctx, h, "make it")
			first = append(first, err, h.Say(ctx, "team-lead", "I am still here", ""), h.Progress(ctx, "done", "x"))
			return agent.Result{Summary: "me first"}, nil
		})
		synctest.Wait()
		c.works("ann") // a real process could not start without this lease
		c.until("asked", c.pending(1))
		c.answer(true, "")
		c.until("over", c.finished("ann", "1"))
		close(gate)
		if err := <-old; !errors.Is(err, control.ErrSuperseded) {
			t.Errorf("the old process ended with %v, want %v", err, control.ErrSuperseded)
		}
		for _, err := range first {
			if err == nil {
				t.Errorf("the old process still had a say: %v", first)
			}
		}
		if n := c.runs("make it"); n != 1 {
			t.Errorf("ran %d times", n)
		}
		for _, r := range c.ownOf("ann").Records() {
			if r.Writer.Epoch == 1 && r.Seq > 4 {
				t.Errorf("the old process wrote %s after the new one", r.Kind)
			}
		}
	}, "ann")
}
