//go:build unix

package agentcheck_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/agentcheck"
	"waggle/operator/teamfile"
)

// homemade is an agent that does each line of its task with one of these functions.
type homemade struct {
	run  func(ctx context.Context, h agent.Host, t *agent.Task, command string) (agent.Decision, error)
	ask  func(ctx context.Context, h agent.Host, q agent.Question) (agent.Answers, error)
	plan func(ctx context.Context, h agent.Host, words string) (agent.Decision, error)
	mail func(ctx context.Context) error
}

func (a homemade) Turn(ctx context.Context, h agent.Host, w agent.Work) (res agent.Result, err error) {
	if w.Task == nil {
		if a.mail != nil {
			err = a.mail(ctx)
		}
		return agent.Result{}, err
	}
	for _, line := range strings.Split(strings.TrimSpace(w.Task.Instructions), "\n") {
		verb, rest, _ := strings.Cut(line, " ")
		var got agent.Decision
		switch verb {
		case "run":
			got, err = a.run(ctx, h, w.Task, rest)
		case "plan":
			got, err = a.plan(ctx, h, rest)
		case "ask":
			parts := strings.Split(rest, " | ")
			q := agent.Part{Text: parts[0]}
			for _, o := range parts[1:] {
				q.Options = append(q.Options, agent.Option{Label: o})
			}
			var said agent.Answers
			if said, err = a.ask(ctx, h, agent.Question{Parts: []agent.Part{q}}); said.Given {
				_, _ = h.Output().Write([]byte(said.Replies[0].String() + "\n"))
			} else {
				_, _ = h.Output().Write([]byte(agent.NoAnswer + "\n"))
			}
			got.Allowed = true
		}
		if err != nil {
			return res, err
		}
		if !got.Allowed {
			res = agent.Result{Failed: true, Denied: true, Reason: got.Reason}
		}
	}
	return res, nil
}

func sh(t *agent.Task, command string) agent.Ran {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = t.Cwd
	err := cmd.Run()
	return agent.Ran{Failed: err != nil}
}

func bash(command string) agent.Call {
	in, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return agent.Call{Tool: "Bash", Input: in}
}

// honest is an agent without a fault.
func honest() homemade {
	return homemade{
		run: func(ctx context.Context, h agent.Host, t *agent.Task, command string) (agent.Decision, error) {
			c := bash(command)
			c.Cwd = t.Cwd
			out, err := h.Tool(ctx, c, func(context.Context, json.RawMessage) agent.Ran { return sh(t, command) })
			return out.Decision, err
		},
		ask: func(ctx context.Context, h agent.Host, q agent.Question) (agent.Answers, error) {
			return h.Question(ctx, q)
		},
		plan: func(ctx context.Context, h agent.Host, words string) (agent.Decision, error) {
			a, err := h.Plan(ctx, words)
			if err == nil && !a.Allowed && words != "" {
				a, err = h.Plan(ctx, words+" Again.")
			}
			return a, err
		},
	}
}

// check plays a member, in this process.
func check(t *testing.T, m teamfile.FileMember, patience time.Duration) *agentcheck.Table {
	t.Helper()
	dir, err := os.MkdirTemp("", "wk")
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	op := operatortest.New(t)
	op.Environ = os.Environ()
	table, err := agentcheck.Check(t.Context(), op, agentcheck.Options{Dir: dir, Member: m, Backend: operator.BackendInProcess, Patience: patience})
	testenv.Must(t, err)
	var got []agentcheck.Line
	for _, r := range table.Rows {
		got = append(got, r.Line)
		t.Logf("%-12s %-12s %s%s", r.Line, r.Verdict, r.Detail, r.Source)
	}
	if !slices.Equal(got, agentcheck.Lines()) {
		t.Errorf("the table has the lines %q", got)
	}
	return table
}

// not returns the lines of a Table whose answer is no.
func not(table *agentcheck.Table) (lines []agentcheck.Line) {
	for _, r := range table.Rows {
		if r.Verdict == agentcheck.No {
			lines = append(lines, r.Line)
		}
	}
	return lines
}

// The Table of an agent of waggle, and of one of another program, has no line with the answer no. A
// line that an agent cannot express names where that is written.
func TestKinds(t *testing.T) {
	t.Parallel()
	cannot := map[string][]agentcheck.Line{
		"":     {agentcheck.HooksOff, agentcheck.HookFails, agentcheck.HookMissing, agentcheck.HookHangs, agentcheck.UserHook, agentcheck.BrokerDead, agentcheck.Resumed, agentcheck.Suspended},
		"exec": {agentcheck.Question, agentcheck.TwoAsks, agentcheck.TwoQuestions, agentcheck.FreeText, agentcheck.NoPlan},
	}
	agent.Register("homemade", func(json.RawMessage) (agent.Agent, error) { return honest(), nil })
	own := filepath.Join(t.TempDir(), "own")
	testenv.Must(t, testenv.Executable(own, []byte("#!/bin/sh\ncat\n")))
	spec := testenv.Value(json.Marshal(agent.ExecSpec{Command: []string{own}}))(t)
	for name, m := range map[string]teamfile.FileMember{"script": {Agent: "script"}, "exec": {Agent: "exec"}, "exec with a command": {Agent: "exec", Spec: spec}, "homemade": {Agent: "homemade"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := check(t, m, time.Minute)
			if lines := not(table); lines != nil || !table.OK {
				t.Errorf("no: %q", lines)
			}
			for _, r := range table.Rows {
				if cannot := slices.Contains(cannot[m.Agent], r.Line) || slices.Contains(cannot[""], r.Line); (r.Verdict == agentcheck.Unsupported) != cannot || cannot != (r.Source != "") {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// check finds each fault of an agent, in its line.
func TestFaults(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	faults := map[string]struct {
		break_ func(*homemade)
		lines  []agentcheck.Line
	}{
		"runs before it asks": {func(a *homemade) {
			ask := a.run
			a.run = func(ctx context.Context, h agent.Host, t *agent.Task, command string) (agent.Decision, error) {
				sh(t, command)
				return ask(ctx, h, t, "true")
			}
		}, []agentcheck.Line{agentcheck.Ask, agentcheck.Denied, agentcheck.Plan, agentcheck.Mode}},
		"runs what was denied": {func(a *homemade) {
			ask := a.run
			a.run = func(ctx context.Context, h agent.Host, t *agent.Task, command string) (agent.Decision, error) {
				got, err := ask(ctx, h, t, command)
				if err == nil && !got.Allowed {
					sh(t, command)
				}
				return got, err
			}
		}, []agentcheck.Line{agentcheck.Denied, agentcheck.Mode}},
		"does not ask": {func(a *homemade) {
			a.run = func(_ context.Context, _ agent.Host, t *agent.Task, command string) (agent.Decision, error) {
				sh(t, command)
				return agent.Decision{Allowed: true}, nil
			}
		}, []agentcheck.Line{agentcheck.Ask, agentcheck.Denied, agentcheck.Plan, agentcheck.Mode}},
		"runs a call twice": {func(a *homemade) {
			ask := a.run
			a.run = func(ctx context.Context, h agent.Host, t *agent.Task, command string) (agent.Decision, error) {
				return ask(ctx, h, t, command+";"+command)
			}
		}, []agentcheck.Line{agentcheck.Ask, agentcheck.Plan, agentcheck.Mode}},
		"invents an answer": {func(a *homemade) {
			a.ask = func(ctx context.Context, h agent.Host, q agent.Question) (agent.Answers, error) {
				got, err := h.Question(ctx, q)
				if err == nil && !got.Given {
					got = agent.Answers{Given: true, Replies: []agent.Reply{{Text: "Left"}}}
				}
				return got, err
			}
		}, []agentcheck.Line{agentcheck.Unanswered}},
		"does not wait for its plan": {func(a *homemade) {
			a.plan = func(_ context.Context, _ agent.Host, words string) (agent.Decision, error) {
				return agent.Decision{Allowed: true}, nil
			}
		}, []agentcheck.Line{agentcheck.Plan}},
		"never ends": {func(a *homemade) {
			a.mail = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		}, []agentcheck.Line{agentcheck.MidTurn}},
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := honest()
			f.break_(&a)
			kind := strings.ReplaceAll(name, " ", "-")
			agent.Register(kind, func(json.RawMessage) (agent.Agent, error) { return a, nil })
			table := check(t, teamfile.FileMember{Agent: kind}, 5*time.Second)
			lines := not(table)
			for _, l := range f.lines {
				if !slices.Contains(lines, l) {
					t.Errorf("%s is no no: %q", l, lines)
				}
			}
			if table.OK {
				t.Error("the table is a yes")
			}
		})
	}
}
