package worker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/machine"
	"waggle/policy"
	"waggle/record"
)

// TestAskClaims: a call that its agent runs itself is on record as started before the agent may run
// it; its end is what the agent says, and unknown when it says nothing.
func TestAskClaims(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var claims []agent.Claim
		var atStart []string
		var errs []error
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			for _, cmd := range []string{"echo a", "echo b", "rm x", "make it"} {
				claim, err := h.Ask(ctx, bash(cmd))
				claims, errs = append(claims, claim), append(errs, err)
				kinds := c.recordKinds("ann")
				atStart = append(atStart, kinds[len(kinds)-1])
				if cmd != "echo b" {
					code := 3
					errs = append(errs, claim.Done(ctx, agent.Ran{ExitCode: &code, Failed: true, Tail: "tail"}))
				}
			}
			errs = append(errs, claims[0].Done(ctx, agent.Ran{}))
			return agent.Result{}, nil
		})
		c.until("asked", c.pending(1))
		c.answer(true, "go on")
		c.until("over", c.finished("ann", "1"))
		if want := []string{"started 1 permission_request", "started 1 permission_request", "answered permission_request", "started 1 permission_request"}; !slices.Equal(atStart, want) {
			t.Errorf("the last records when Ask returned: %q", atStart)
		}
		for i, want := range []agent.Decision{{Allowed: true, By: "rules"}, {Allowed: true, By: "rules"}, {By: "rules"}, {Allowed: true, By: "operator", Reason: "go on"}} {
			if got := claims[i].Decision; got.Allowed != want.Allowed || got.By != want.By || claims[i].ID == "" || (claims[i].Input != nil) != want.Allowed {
				t.Errorf("call %d: %+v, input %s", i, claims[i].Decision, claims[i].Input)
			}
		}
		if string(claims[3].Input) != `{"command":"make it"}` {
			t.Errorf("the input is %s", claims[3].Input)
		}
		for i, want := range []bool{true, true, true, true, false, true, true, false} { // Ask and Done of each, without that of echo b
			if (errs[i] == nil) != want {
				t.Errorf("error %d: %v", i, errs[i])
			}
		}
		if !errors.Is(errs[4], agent.ErrNotClaimed) {
			t.Errorf("the end of a denied call: %v", errs[4])
		}
		c.look("ann", func(_ *control.Leader, w *control.Worker) {
			a, b, made := w.Calls[0], w.Calls[1], w.Calls[3]
			if f := a.Finished; f == nil || *f.ExitCode != 3 || !f.Failed || f.Tail != "tail" {
				t.Errorf("echo a ended as %+v", f)
			}
			if !b.Started || !b.Unknown || b.Finished != nil {
				t.Errorf("echo b: started %v, unknown %v, %+v", b.Started, b.Unknown, b.Finished)
			}
			if made.Finished == nil || made.Unknown {
				t.Errorf("make it: %+v", made)
			}
		})
		if err := claims[1].Done(c.ctx, agent.Ran{}); err == nil {
			t.Error("a call was ended after its turn")
		}
	}, "ann")
}

// TestAskEdited: the claim of an agent holds the input that was approved, and the agent is to run
// that input.
func TestAskEdited(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var got agent.Claim
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			var err error
			got, err = h.Ask(ctx, bash("make it"))
			return agent.Result{}, errors.Join(err, got.Done(ctx, agent.Ran{}))
		})
		c.until("asked", c.pending(1))
		c.decide(control.Answer{Allow: true, UpdatedInput: `{"command": "make  it<&>"}`})
		c.until("over", c.finished("ann", "1"))
		if !got.Allowed || string(got.Input) != `{"command": "make  it<&>"}` {
			t.Errorf("allowed %v, to run %s", got.Allowed, got.Input)
		}
	}, "ann")
}

// TestAskRevoked: an allow that came after the agent's patience is not claimed any more when a
// deny rule came between.
func TestAskRevoked(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.gateWait = 30 * time.Second
		c.starts("ann")
		var claims []agent.Claim
		again := make(chan struct{})
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			for range 2 {
				claim, err := h.Ask(ctx, bash("make it"))
				if err != nil {
					return agent.Result{}, err
				}
				keep(c, &claims, claim)
				<-again
			}
			return agent.Result{}, nil
		})
		told := func(n int) func() bool { return has(c, &claims, n) }
		c.until("patience ends", told(1))
		if a := claims[0]; a.Allowed || !strings.Contains(a.Reason, "retry when "+string(a.ID)+" is approved") {
			t.Errorf("told %+v", a)
		}
		c.answer(true, "")
		c.policy(func(p *record.PolicySet) { p.Policy.Deny = append(p.Policy.Deny, policy.MustRules("Bash(make:*)")...) })
		again <- struct{}{}
		c.until("told again", told(2))
		if a := claims[1]; a.Allowed || a.By != "rules" {
			t.Errorf("told %+v", a)
		}
		again <- struct{}{}
		c.until("over", c.finished("ann", "1"))
		if slices.Contains(c.recordKinds("ann"), "started 1 permission_request") {
			t.Error("it was started")
		}
	}, "ann")
}

// TestAskAfterCrash: a call that was started when its process was killed is not started a second
// time by the next one in the same turn, and its end is unknown.
func TestAskAfterCrash(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var claims []agent.Claim
		claimed := func(n int) func() bool { return has(c, &claims, n) }
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			claim, err := h.Ask(ctx, bash("make it"))
			if err != nil {
				return agent.Result{}, err
			}
			first := keep(c, &claims, claim) == 1
			if first {
				<-ctx.Done()
			}
			return agent.Result{}, nil
		})
		c.until("asked", c.pending(1))
		c.answer(true, "")
		c.until("claimed", claimed(1))
		c.restarts("ann")
		c.until("over", c.finished("ann", "1"))
		if !claims[0].Allowed || !claimed(2)() {
			t.Fatalf("claims: %+v", claims)
		}
		if a := claims[1]; a.Allowed || a.Input != nil || a.Ran == nil || !strings.Contains(a.Reason, "its end is unknown; it is not run again") {
			t.Errorf("after the crash: %+v", a)
		}
		kinds := c.recordKinds("ann")
		started := func(s string) bool { return s == "started 1 permission_request" }
		if i := slices.IndexFunc(kinds, started); i < 0 || slices.IndexFunc(kinds[i+1:], started) >= 0 || !slices.Contains(kinds, "unknown permission_request") {
			t.Errorf("records: %q", kinds)
		}
	}, "ann")
}

// TestAskTakenBack: an agent that gives up waiting takes its request back, and the turn goes on.
func TestAskTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var gaveUp error
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			less, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			_, gaveUp = h.Ask(less, bash("make it"))
			return agent.Result{}, nil
		})
		c.until("over", c.finished("ann", "1"))
		if !errors.Is(gaveUp, agent.ErrWithdrawn) || !errors.Is(gaveUp, context.DeadlineExceeded) {
			t.Errorf("it gave up with %v", gaveUp)
		}
		c.until("closed", c.pending(0))
		if r := c.leaderFold().Requests[0]; r.State != machine.RequestClosed || r.Closed != "withdrawn" {
			t.Errorf("the request is %s: %s", r.State, r.Closed)
		}
	}, "ann")
}
