package worker_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/policy"
	"waggle/record"
	"waggle/worker"
)

// sandboxed makes the team's policy allow what runs in a sandbox, and counts as the sandbox.
func sandboxed(c *crew, holds *atomic.Bool) {
	c.wrap = func(p *worker.Parts) { p.Confined = func(agent.Call) bool { return holds.Load() } }
	c.operate(func(l *control.Leader) ([]journal.Draft, error) {
		set := l.Policy
		set.Policy.Version, set.Sandboxed, set.By = 2, true, policy.RoleOperator
		return []journal.Draft{{Kind: record.KindPolicy, Must: true, Body: set}}, nil
	})
}

// doAll makes ann run shell texts one after the other and keeps what came of them.
func doAll(c *crew, texts ...string) (outs []agent.Outcome) {
	c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
		for _, text := range texts {
			out, err := c.bash(ctx, h, text)
			if err != nil {
				return agent.Result{}, err
			}
			outs = append(outs, out)
		}
		return agent.Result{}, nil
	})
	c.until("over", c.finished("ann", "1"))
	return outs
}

// TestSandboxedIsNotAsked: a call that runs in the sandbox is not asked, and the record says why.
func TestSandboxedIsNotAsked(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		var holds atomic.Bool
		holds.Store(true)
		sandboxed(c, &holds)
		c.starts("ann")
		outs := doAll(c, "make all", "rm -rf build", "echo hi")
		for i, want := range []agent.Decision{
			{Allowed: true, By: "rules"}, {By: "rules"}, {Allowed: true, By: "rules"},
		} {
			if o := outs[i]; o.Allowed != want.Allowed || o.By != want.By {
				t.Errorf("call %d came to %+v", i, o.Decision)
			}
		}
		if n := len(c.leaderFold().Requests); n != 0 {
			t.Errorf("%d questions", n)
		}
		got := c.fold("ann").Calls
		for i, rule := range []string{policy.RuleSandboxed, "deny Bash(rm:*)", "allow Bash(echo:*)"} {
			a := got[i].Answer
			if a.Rule != rule || a.Ask == nil || !a.Ask.Sandboxed || a.Judge != policy.JudgeVersion {
				t.Errorf("call %d is on record as %+v", i, a)
			}
		}
		// The rules answer the same from the record alone.
		l := c.leaderFold()
		for i, call := range got {
			v := l.Policy.Judge(call.Key.Instance, call.Answer.Mode, call.Key.Kind, *call.Answer.Ask, c.minter.Now())
			if v.Rule != call.Answer.Rule {
				t.Errorf("call %d: %+v", i, v)
			}
		}
	}, "ann")
}

// TestSandboxedNeedsTheSandbox: without a sandbox that holds, the same call asks.
func TestSandboxedNeedsTheSandbox(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		var holds atomic.Bool
		sandboxed(c, &holds)
		c.starts("ann")
		if c.asks("make all").Ask.Sandboxed {
			t.Error("the request claims a sandbox")
		}
		c.answer(true, "")
		c.until("over", c.finished("ann", "1"))
	}, "ann")
}

// TestSandboxLostBeforeTheStart: a call that was allowed because of the sandbox does not start
// outside of it; the same call asks when it is made again.
func TestSandboxLostBeforeTheStart(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		var holds atomic.Bool
		sandboxed(c, &holds)
		c.wrap = func(p *worker.Parts) {
			looks := 0
			p.Confined = func(agent.Call) bool { looks++; return looks <= 1 } // it is lost after the call was judged
		}
		c.starts("ann")
		var first agent.Outcome
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			var err error
			if first, err = c.bash(ctx, h, "make all"); err != nil {
				return agent.Result{}, err
			}
			_, err = c.bash(ctx, h, "make all")
			return agent.Result{}, err
		})
		c.until("it is asked", c.pending(1))
		if first.Allowed || !strings.Contains(first.Reason, "the sandbox that it was to run in does not hold any more") || c.runs("make all") != 0 {
			t.Errorf("the first came to %+v, ran %d times", first.Decision, c.runs("make all"))
		}
		c.answer(true, "")
		c.until("over", c.finished("ann", "1"))
		if c.runs("make all") != 1 {
			t.Errorf("ran %d times", c.runs("make all"))
		}
	}, "ann")
}

// TestShellHolds: of an agent whose program runs outside, only the shell commands run in the sandbox.
func TestShellHolds(t *testing.T) {
	enforced, files := &record.Held{Level: record.HeldEnforced, Shell: true}, &record.Held{Level: record.HeldFilesOnly, Shell: true}
	bash, edit, command := agent.Call{Tool: "Bash"}, agent.Call{Tool: "Edit"}, agent.Call{Tool: "Bash", Argv: []string{"true"}}
	for _, c := range []struct {
		name  string
		held  *record.Held
		box   *agent.Box
		shell *agent.Shell
		call  agent.Call
		want  bool
	}{
		{"a command of the program outside", enforced, nil, &agent.Shell{}, bash, true},
		{"a file tool of the program outside", enforced, nil, &agent.Shell{}, edit, false},
		{"a command where files alone are held", files, nil, &agent.Shell{}, bash, false},
		{"a program that nothing confines", enforced, nil, nil, bash, false},
		{"a program inside", enforced, &agent.Box{}, nil, edit, true},
		{"a command of waggle", enforced, nil, nil, command, true},
		{"nothing", nil, nil, nil, command, false},
	} {
		if got := worker.Holds(c.held, c.box, c.shell, c.call); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
