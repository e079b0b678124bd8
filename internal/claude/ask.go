package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"waggle/agent"
	"waggle/internal/cut"
	"waggle/internal/json/jsonobj"
)

// asker asks the gate, in one turn, for what a client asks its host.
type asker struct {
	*begun // the client
	h      agent.Host
	ctx    context.Context          // of the turn
	inPlan func() bool              // the client is in plan mode
	lacks  func(tool string) string // why the member has no such tool, "" when it has
	own    func(tool string) bool   // it is a tool of the member's own server, which asks and records by itself

	mu       sync.Mutex             // guards what follows
	claims   map[string]agent.Claim // calls that were allowed and have not ended, by the client's id
	planning bool                   // in plan mode, before a plan was approved
	required bool                   // the task needs an approved plan
	past     bool                   // what it is asked about is of earlier work
}

// Answer asks for what the client wants to do.
func (t *asker) Answer(ctx context.Context, a Asked) Reply {
	switch {
	case a.Ambiguous != "":
		if a.Subtype == elicits {
			return Reply{response: []byte(cancelled)}
		}
		return deny(a.Ambiguous)
	case a.Subtype == elicits:
		return t.elicit(ctx, a.Request)
	case t.past && a.Tool == exitPlanMode:
		return deny("the turn in which you planned is over, and other work waits: plan again when you are asked to")
	case a.Input == nil || a.Tool == "" || a.UseID == "":
		return deny("the request names no tool, no input or no tool_use_id")
	}
	if t.own(a.Tool) {
		return allow(a.Input)
	}
	if why := t.lacks(a.Tool); why != "" {
		return deny(why)
	}
	switch a.Tool {
	case "AskUserQuestion":
		return t.question(ctx, a)
	case "ExitPlanMode":
		return t.plan(ctx, a)
	case "SendMessage":
		return t.send(ctx, a)
	}
	if t.plansFile(a.Tool, a.Input) {
		return allow(a.Input)
	}
	if slices.Contains(inner, a.Tool) {
		if why := t.refuses(ctx, agent.Call{Tool: a.Tool, Input: a.Input, Cwd: t.dir, UseID: a.UseID}); why != "" {
			return deny(why)
		}
		return allow(a.Input)
	}
	return t.call(ctx, a)
}

// inner are the tools whose effect stays in the client's session: its list of steps, its own commands in
// the background, what it knows of its tools. They run unless a rule denies them.
var inner = []string{"TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput", "TaskStop", "BashOutput", "KillShell", "KillBash",
	"ToolSearch", "ListAgents", "CronList", "ReportFindings", "EnterPlanMode"}

// plansFile reports whether a call writes the file in which the client keeps the plan of its plan
// mode: without it ExitPlanMode has no plan. The gate decides about the plan itself.
func (t *asker) plansFile(tool string, input json.RawMessage) bool {
	if !t.inPlan() || t.plans == "" || !slices.Contains([]string{"Write", "Edit", "MultiEdit"}, tool) {
		return false
	}
	o, err := jsonobj.Parse(input)
	if err != nil || len(o.Duplicates()) > 0 {
		return false
	}
	name, ok := strings.CutPrefix(o.Text("file_path"), t.plans+"/")
	return ok && strings.HasSuffix(name, ".md") && !strings.ContainsAny(name, `/\`) && !strings.HasPrefix(name, ".")
}

// call asks the gate about a call that the client runs itself.
func (t *asker) call(ctx context.Context, a Asked) Reply {
	call := agent.Call{Tool: a.Tool, Input: a.Input, Cwd: t.dir, Reason: a.Why, UseID: a.UseID}
	var denied string
	if denied, call.MustAsk = t.rules.judge(call); denied != "" {
		return deny(denied)
	}
	c, err := t.h.Ask(ctx, call)
	if err != nil {
		return deny("it could not be asked: " + err.Error())
	}
	if !c.Allowed || c.Input == nil {
		return deny(reasonOf(c.Decision))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, twice := t.claims[a.UseID]; twice {
		return deny("the client asks for " + clipped(a.UseID) + " a second time")
	}
	t.claims[a.UseID] = c
	r := allow(c.Input)
	if !r.allowed() {
		delete(t.claims, a.UseID)
		_ = c.Done(t.ctx, agent.Ran{Failed: true, Err: r.reason() + ", so it was not run"})
		return r
	}
	r.undo = func() {
		t.mu.Lock()
		delete(t.claims, a.UseID)
		t.mu.Unlock()
		_ = c.Done(context.WithoutCancel(t.ctx), agent.Ran{Failed: true, Err: "the client took the request back, so it was not run"})
	}
	return r
}

// reasonOf is the text of a denial for the model.
func reasonOf(a agent.Decision) string {
	reason := strings.TrimSpace(a.Reason)
	switch {
	case reason == "":
		return "denied by " + a.By + " without a reason"
	case a.By == "system":
		return reason
	}
	return "denied by " + a.By + ": " + reason
}

// question asks a person. Without an answer it is denied: the client would treat an allow as an
// empty answer.
func (t *asker) question(ctx context.Context, a Asked) Reply {
	q, err := questions(a.Input)
	if err != nil {
		return deny("it cannot be asked: " + err.Error())
	}
	ans, err := t.h.Question(ctx, q)
	switch {
	case err != nil:
		return deny(agent.NoAnswer + " (" + err.Error() + ")")
	case !ans.Given && ans.Reason == "":
		return deny(agent.NoAnswer)
	case !ans.Given:
		return deny(ans.Reason)
	}
	input, err := withAnswers(a.Input, q, ans.Replies)
	if err != nil {
		return deny(agent.NoAnswer + " (" + err.Error() + ")")
	}
	return allow(input)
}

// plan requests a decision about the client's plan.
func (t *asker) plan(ctx context.Context, a Asked) Reply {
	o, err := jsonobj.Parse(a.Input)
	if err != nil || len(o.Duplicates()) > 0 {
		return deny("the plan cannot be read in one way only")
	}
	words := o.Text("plan")
	if strings.TrimSpace(words) == "" {
		return deny("There is no plan yet: write it into the plan file, then call ExitPlanMode again.")
	}
	ans, err := t.h.Plan(ctx, words)
	if err != nil {
		return deny("the plan could not be asked for: " + err.Error())
	}
	if !ans.Allowed {
		return deny(reasonOf(ans))
	}
	t.mu.Lock()
	t.planning = false
	t.mu.Unlock()
	return allow(a.Input)
}

// send delivers the client's SendMessage to a member of this team, because the client's own teams
// are disabled. The model reads a denial with the result, since the client's tool does not run.
func (t *asker) send(ctx context.Context, a Asked) Reply {
	o, err := jsonobj.Parse(a.Input)
	if err != nil || len(o.Duplicates()) > 0 {
		return deny("the message cannot be read in one way only")
	}
	to, words := o.Text("to"), o.Text("message")
	if to == "" || words == "" {
		return deny("waggle sends words to one member: to and message are texts")
	}
	if err := t.h.Say(ctx, to, words, o.Text("summary")); err != nil {
		return deny("not sent: " + err.Error())
	}
	return deny("Sent: waggle has put this message into the mailbox of " + to + ", in place of this tool. Do not send it again.")
}

// owes reports whether the task needs an approved plan and has none yet.
func (t *asker) owes() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.required && t.planning
}

// refuse returns the rule that denies a call, "" when none does.
func (t *asker) refuse(ctx context.Context, e Event) string {
	if t.ctx.Err() != nil {
		return "the turn is being ended"
	}
	if why := t.lacks(e.Tool); why != "" && !t.own(e.Tool) {
		return why
	}
	if t.plansFile(e.Tool, e.Input) {
		return ""
	}
	return t.refuses(ctx, agent.Call{Tool: e.Tool, Input: e.Input, Cwd: t.dir, UseID: e.UseID})
}

// refuses returns the team's rule that denies a call, "" when none does.
func (t *asker) refuses(ctx context.Context, c agent.Call) string {
	if r, ok := t.h.(agent.Refuser); ok {
		return r.Refuses(ctx, c)
	}
	return ""
}

// finish records how a call ended that the client ran itself. It reports false for a call that was
// not allowed here.
func (t *asker) finish(id string, failed bool, text string) bool {
	t.mu.Lock()
	c, ok := t.claims[id]
	delete(t.claims, id)
	t.mu.Unlock()
	if !ok {
		return false
	}
	ran := agent.Ran{Failed: failed, Tail: tail(text)}
	if code, ok := exitCode(text); ok && failed {
		ran.ExitCode = &code
	}
	if err := c.Done(t.ctx, ran); err != nil {
		fmt.Fprintf(t.h.Output(), "the end of %s is not on record: %v\n", c.ID, err)
	}
	return true
}

// exitCode reads the exit code from the client's text about a failed command.
func exitCode(s string) (int, bool) {
	first, _, _ := strings.Cut(s, "\n")
	n, ok := strings.CutPrefix(first, "Exit code ")
	if !ok {
		return 0, false
	}
	code, err := strconv.Atoi(strings.TrimSpace(n))
	return code, err == nil
}

// tail is the end of a tool's result.
func tail(s string) string { return cut.End(s, agent.TailSize) }
