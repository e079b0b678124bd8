package worker_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"waggle/agent"
	"waggle/control"
	"waggle/record"
	"waggle/spawn"
	"waggle/worker"
)

// checkExec runs checks: each takes the next exit status, and the last one for ever.
type checkExec struct {
	agent.Exec
	c     *crew
	codes []int
	ran   []string      // directories and commands
	slow  chan struct{} // a check runs until it is closed; nil: it ends at once
}

func (x *checkExec) Run(ctx context.Context, cmd spawn.Command) (spawn.Exit, error) {
	if cmd.Argv[0] != "sh" || cmd.Argv[2] != "make check" {
		return x.Exec.Run(ctx, cmd)
	}
	x.c.mu.Lock()
	code := x.codes[min(len(x.ran), len(x.codes)-1)]
	x.ran = append(x.ran, cmd.Dir+": "+cmd.Argv[2])
	x.c.mu.Unlock()
	if x.slow != nil {
		select {
		case <-x.slow:
		case <-ctx.Done():
			return spawn.Exit{Code: -1, Signal: "terminated"}, ctx.Err()
		}
	}
	_, err := io.WriteString(cmd.Output, "two tests fail\n")
	return spawn.Exit{Code: code}, err
}

// checks lets the checks of a crew end with these exit statuses. A member is a session or not.
func (c *crew) checks(session bool, codes ...int) *checkExec {
	x := &checkExec{c: c, codes: codes}
	talks := func(*worker.Parts) {}
	if session {
		c.talks(nil)
		talks = c.wrap
	}
	c.wrap = func(p *worker.Parts) {
		talks(p)
		x.Exec, p.Exec = p.Exec, x
	}
	return x
}

// orderChecked assigns a task with a check that gives its output back twice.
func (c *crew) orderChecked(id string, do play) {
	c.t.Helper()
	c.orderTask("ann", record.Task{ID: id, Check: &record.Check{Command: "make check", Dir: "/work", Returns: 2}}, do)
}

// TestCheckDecides: a task is done when its check passes. The output of a check that failed goes back to
// an agent that goes on with it, and no more often than the check says.
func TestCheckDecides(t *testing.T) {
	for name, v := range map[string]struct {
		session bool
		codes   []int
		turns   int
		done    bool
	}{
		"passes at once":     {true, []int{0}, 1, true},
		"passes then":        {true, []int{1, 1, 0}, 3, true},
		"never":              {true, []int{1}, 3, false},
		"nobody goes on":     {false, []int{1, 0}, 1, false},
		"passes for scripts": {false, []int{0}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *crew) {
				x := c.checks(v.session, v.codes...)
				c.starts("ann")
				var given []string
				c.orderChecked("1", func(_ context.Context, _ agent.Host, w agent.Work) (agent.Result, error) {
					c.mu.Lock()
					defer c.mu.Unlock()
					given = append(given, w.Task.Instructions)
					return agent.Result{Summary: "all done"}, nil
				})
				c.until("over", c.finished("ann", "1"))
				if _, done := c.over("ann", "1"); done != v.done || len(given) != v.turns || len(x.ran) != v.turns {
					t.Fatalf("done %v after %d turns and %q", done, len(given), x.ran)
				}
				for i, words := range given {
					back := strings.Contains(words, "make check (exit status 1)") && strings.Contains(words, "two tests fail")
					if !strings.Contains(words, "do 1") || back != (i > 0) {
						t.Errorf("turn %d got %q", i, words)
					}
				}
				c.look("ann", func(l *control.Leader, w *control.Worker) {
					m, _ := l.Member("ann")
					if s := m.Turns["1"]; s.Checked != v.done || s.Failed == v.done || !v.done && !strings.HasPrefix(s.Note, "its check failed (exit status 1): make check") {
						t.Errorf("%+v", s)
					}
					if ts := w.Tasks[0]; ts.Checks != v.turns || ts.Checked.Passed != v.done || ts.Checked.Tail != "two tests fail\n" {
						t.Errorf("%+v, %+v", ts, ts.Checked)
					}
				})
			}, "ann")
		})
	}
}

// TestCheckAfterCrash: a process that goes on with a task whose check had failed gives the agent what it
// said, and counts on.
func TestCheckAfterCrash(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		x := c.checks(true, 1)
		c.starts("ann")
		var given []string
		c.orderChecked("1", func(ctx context.Context, _ agent.Host, w agent.Work) (agent.Result, error) {
			second := keep(c, &given, w.Task.Instructions) == 2
			if second {
				<-ctx.Done()
				return agent.Result{}, ctx.Err()
			}
			return agent.Result{}, nil
		})
		c.until("the second turn", has(c, &given, 2))
		c.restarts("ann")
		c.until("over", c.finished("ann", "1"))
		if _, done := c.over("ann", "1"); done || len(given) != 4 || len(x.ran) != 3 {
			t.Fatalf("done %v after %d turns, %d checks", done, len(given), len(x.ran))
		}
		if !strings.Contains(given[2], "two tests fail") {
			t.Errorf("the new process gave %q", given[2])
		}
	}, "ann")
}

// TestUnansweredIsNotDone: what an agent says is done is not, where a call of it was denied because nobody
// answered, unless a check passes. The reason names the rules that would have allowed it.
func TestUnansweredIsNotDone(t *testing.T) {
	for name, v := range map[string]struct {
		check, done bool
		codes       []int
		says        string
	}{
		"no check":     {false, false, nil, "2 calls were denied because nobody answered; allow: Bash(touch x); no check says that the task is done"},
		"check passes": {true, true, []int{0}, ""},
		"check fails":  {true, false, []int{1}, "its check failed (exit status 1): make check; 2 calls were denied because nobody answered; allow: Bash(touch x)"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *crew) {
				c.checks(false, v.codes...)
				c.policy(func(p *record.PolicySet) { p.Unattended = true })
				c.starts("ann")
				do := func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
					for range 2 {
						if _, err := h.Ask(ctx, bash("touch x")); err != nil {
							return agent.Result{}, err
						}
					}
					return agent.Result{Summary: "all done"}, nil
				}
				if v.check {
					c.orderChecked("1", do)
				} else {
					c.order("ann", "1", do)
				}
				c.until("over", c.finished("ann", "1"))
				c.look("ann", func(l *control.Leader, w *control.Worker) {
					m, _ := l.Member("ann")
					if s := m.Turns["1"]; s.Failed == v.done || s.Note != v.says {
						t.Errorf("failed %v: %q, want %q", s.Failed, s.Note, v.says)
					}
					if !slices.ContainsFunc(w.Calls, func(k *control.Call) bool { return k.Answer.Decision == record.DecisionDeny }) {
						t.Error("nothing was denied")
					}
				})
			}, "ann")
		})
	}
}
