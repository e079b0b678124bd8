package worker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/policy"
	"waggle/record"
	"waggle/spawn"
	"waggle/task"
)

// untilDone has the agent do a task until its check passes. The output of a check that failed goes
// back to the agent, as often as the check says.
func (w *Worker) untilDone(t *turn, cwd string) (agent.Result, error) {
	var check *record.Check
	w.mu.Lock()
	if m, ok := w.p.Lead.ByInstance(w.p.Fold.Instance); ok {
		check = m.CheckOf(&t.task.Task)
	}
	spent := w.p.Fold.Spent(w.p.Lead.Awake)
	w.mu.Unlock()
	limit := agent.Task{Timeout: time.Duration(t.task.TimeoutMS) * time.Millisecond, Spent: spent}
	ctx, cancel := t.ctx, context.CancelFunc(func() {})
	if check != nil { // of all parts together
		ctx, cancel = limit.Limit(ctx)
	}
	defer cancel()
	if limit.Timeout > 0 && spent >= limit.Timeout {
		return agent.Result{Failed: true, Reason: fmt.Sprintf("ended by the task's timeout of %s", limit.Timeout)}, nil
	}
	for mail := t.heard; ; mail = nil {
		w.mu.Lock()
		plan, words := w.p.Fold.Planning(), instructions(t.task)
		w.mu.Unlock()
		res, err := w.agentTurn(ctx, t, w.resuming(agent.Work{Task: &agent.Task{ID: t.task.ID, Subject: t.task.Subject, Instructions: words,
			Cwd: cwd, PlanRequired: plan, Timeout: limit.Timeout, Spent: spent}, Mail: mail}))
		if err != nil || res.Failed {
			return res, err
		}
		if check == nil {
			return w.said(res), nil
		}
		if err := w.check(ctx, t, *check, cwd); err != nil {
			return agent.Result{}, err
		}
		if t.checked || ctx.Err() != nil || !w.returns(t.task, *check) {
			return w.judged(t, res), nil
		}
	}
}

// instructions are those of a task, with the output of its check where that has failed.
func instructions(t *control.TaskState) string {
	c := t.Checked
	if c == nil || c.Passed {
		return t.Instructions
	}
	return fmt.Sprintf("You said that this task is done, and its check does not pass: %s (%s). The end of its output:\n\n%s\n\nGo on until it passes. What you were asked to do:\n\n%s",
		c.Command, c.Why, strings.TrimSpace(c.Tail), t.Instructions)
}

// returns reports whether the output of a check that failed goes back to the agent.
func (w *Worker) returns(t *control.TaskState, c record.Check) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, _ := w.p.Lead.ByInstance(w.p.Fold.Instance)
	return t.Checks <= c.Returns && m != nil && agent.GoesOn(w.p.Agent, m.Agent)
}

// check runs the check of a task as the member's commands run, and records what it said. The error is
// that of a turn that was interrupted, or of the journal.
func (w *Worker) check(ctx context.Context, t *turn, c record.Check, cwd string) error {
	c.Dir = cmp.Or(c.Dir, cwd)
	w.status(task.MemberRunning, "its check runs: "+c.Command)
	defer w.status(task.MemberRunning, "")
	w.note("check: " + c.Command)
	defer w.checks(t)()
	run, cancel := context.WithTimeoutCause(ctx, c.Timeout(), fmt.Errorf("the time that a check has, %s", c.Timeout()))
	defer cancel()
	ran := agent.RunCommand(run, host{w, t}, spawn.Command{Argv: []string{"sh", "-c", c.Command}, Dir: c.Dir,
		Env: append(slices.Clone(w.p.Environ), agent.TaskEnv(t.task.ID, t.task.Subject)...)})
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	did := record.Checked{Task: t.task.ID, Command: c.Command, Passed: !ran.Failed, Why: ran.Err, Tail: ran.Tail}
	if did.Why == "" && ran.Failed {
		did.Why = fmt.Sprintf("exit status %d", *ran.ExitCode)
	}
	if t.checked = did.Passed; t.checked {
		w.note("check: passed")
	} else {
		w.note("check: failed, " + did.Why)
	}
	return w.record(t.ctx, func() ([]journal.Draft, error) { return w.p.Fold.Check(did) })
}

// checks marks a turn whose check runs: a person who takes the conversation lets it end.
func (w *Worker) checks(t *turn) (over func()) {
	set := func(runs bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		t.checking = runs
	}
	set(true)
	return func() { set(false); w.wake() }
}

// note writes to the member's output.
func (w *Worker) note(line string) {
	if _, err := fmt.Fprintln(w.p.Output, line); err != nil {
		w.p.Log.Warn("output.log", "err", err)
	}
}

// judged is the result of a task whose check has run.
func (w *Worker) judged(t *turn, res agent.Result) agent.Result {
	if t.checked {
		return res
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c := t.task.Checked
	res.Failed, res.Reason = true, fmt.Sprintf("its check failed (%s): %s", c.Why, c.Command)
	if denied := w.p.Fold.Unanswered(w.p.Lead); len(denied) > 0 {
		res.Denied, res.Reason = true, fmt.Sprintf("%s; %s", res.Reason, unanswered(denied))
	}
	return res
}

// said is the result of a task that its agent says is done, without a check: in a run it failed where calls
// were denied because nobody answered.
func (w *Worker) said(res agent.Result) agent.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, ok := w.p.Lead.ByInstance(w.p.Fold.Instance)
	if denied := w.p.Fold.Unanswered(w.p.Lead); len(denied) > 0 && ok && agent.SaysSo(m.Agent) {
		res.Failed, res.Denied, res.Reason = true, true, unanswered(denied)+"; no check says that the task is done"
	}
	return res
}

// mostRules is how many rules a reason names.
const mostRules = 5

// unanswered says of calls that were denied because nobody answered, and which rules would have allowed
// them.
func unanswered(denied []*control.Call) string {
	var rules []string
	for _, c := range denied {
		if rs := policy.Suggest(c.Ask.Call()); len(rs) > 0 && len(rules) < mostRules && !slices.Contains(rules, rs[0].String()) {
			rules = append(rules, rs[0].String())
		}
	}
	text := fmt.Sprintf("%d calls were denied because nobody answered", len(denied))
	if len(denied) == 1 {
		text = "a call was denied because nobody answered"
	}
	if len(rules) > 0 {
		text += "; allow: " + strings.Join(rules, ", ")
	}
	return text
}
