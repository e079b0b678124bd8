package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"waggle"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/record"
)

// ErrNoTurn: questions and starts belong to a turn, and none runs.
var ErrNoTurn = errors.New("no turn runs")

// Ask takes a call from the agent. A call that the rules allow or deny outright is answered at once
// and recorded with the rule; any other call is asked. A call that this worker has open already, or
// whose grant is not claimed, is not asked twice: Ask returns the key of the first one.
//
// A plan replaces every plan before it: those are withdrawn, and answers to them have no effect any
// more.
func (w *Worker) Ask(kind waggle.Kind, a record.Ask, l *Leader, m record.Mint) (record.Key, []journal.Draft, error) {
	switch {
	case w.leaving || w.gone:
		return record.Key{}, nil, ErrShuttingDown
	case w.turn == nil:
		return record.Key{}, nil, ErrNoTurn
	}
	a.N = record.SumN
	if err := a.Check(kind); err != nil {
		return record.Key{}, nil, err
	}
	if c := w.byAsk[questionOf(kind, a)]; c != nil {
		if ds, ok := w.again(c, a, m.Now); ok {
			return c.Key, ds, nil
		}
	}
	k := record.Key{Instance: w.Instance, Kind: kind, ID: w.newID(kind, m)}
	if w.byKey[k] != nil {
		return record.Key{}, nil, fmt.Errorf("ask: id %s is taken", k.ID)
	}
	if kind == waggle.KindPlanApprovalRequest {
		a.Revision = w.revision()
	}
	dig := record.DigestOf(w.UID, k, a)
	if v := w.judge(kind, a, l, m.Now); v.Decision != policy.Ask {
		decision := record.DecisionDeny
		if v.Decision == policy.Allow {
			decision = record.DecisionAllow
		}
		return k, []journal.Draft{{Kind: record.KindAnswered, Must: true, Body: record.Answered{Key: k, Digest: dig, Decision: decision,
			By: policy.RoleRules, Rule: v.Rule, Reason: v.Why, Policy: l.Policy.Policy.Version, Ask: &a,
			Judged: record.Judged{Judge: policy.JudgeVersion, Mode: w.mode(l)}}}}, nil
	}
	mail, err := w.composed(w.color(l), waggle.Lead, w.question(k, a, l, m), m)
	if err != nil {
		return record.Key{}, nil, err
	}
	ds := w.outrun(kind, a)
	if kind == waggle.KindPlanApprovalRequest {
		ds = w.withdrawPlans()
	}
	return k, append(ds, journal.Draft{Kind: record.KindAsked, Must: true,
		Body: record.Asked{Key: k, Digest: dig, Ask: a, Task: w.turn.Task, Mail: mail}}), nil
}

// again answers a question that was asked before. When its first asking holds, ok
// is true and the drafts are what is left to record: that the session waits
// again, or that it claims an approval that came late.
func (w *Worker) again(c *Call, a record.Ask, now time.Time) (ds []journal.Draft, ok bool) {
	plan := c.Kind == waggle.KindPlanApprovalRequest
	if plan && c.turn != w.turn && (c.Task == "" || c.Task != w.turn.Task) {
		return nil, false // the plan of other work
	}
	switch {
	case c.Open() && w.waits(c):
		return nil, true
	case c.Open():
		return []journal.Draft{{Kind: record.KindAsked, Must: true, Body: record.Asked{Key: c.Key, Digest: c.Digest, Ask: a, Task: w.turn.Task}}}, true
	case plan && c.used && c.allowed() && c.turn == w.turn && w.base == machine.Executing:
		return nil, true // the plan that is being carried out
	case !c.claimable(now) || plan && w.base != machine.PlanProposed:
		return nil, false
	case c.Kind == waggle.KindPermissionRequest:
		return nil, true
	}
	return []journal.Draft{{Kind: record.KindStarted, Must: true, Body: record.Started{Key: c.Key, Digest: c.Digest, Task: w.turn.Task}}}, true
}

// claimable reports whether the leader's allow can still be claimed by the same
// question (trust §3).
func (c *Call) claimable(now time.Time) bool {
	return c.AskedSeq != 0 && c.allowed() && !c.Started && !c.used && c.Answer.UseBy != nil && now.Before(*c.Answer.UseBy)
}

// Withdraw closes an open request: it is answered here, a later answer has no effect, and the
// leader closes it. Nothing when it is not open.
func (w *Worker) Withdraw(k record.Key, why string) []journal.Draft {
	c, ok := w.byKey[k]
	if !ok || !c.Open() {
		return nil
	}
	return []journal.Draft{{Kind: record.KindAnswered, Must: true, Body: record.Answered{Key: k, Digest: c.Digest,
		Decision: record.DecisionDeny, By: policy.RoleWorker, Reason: "withdrawn: " + why}}}
}

// withdrawPlans withdraws the open plans.
func (w *Worker) withdrawPlans() []journal.Draft {
	var ds []journal.Draft
	for _, c := range w.Calls {
		if c.Kind == waggle.KindPlanApprovalRequest {
			ds = append(ds, w.Withdraw(c.Key, "a newer plan took its place")...)
		}
	}
	return ds
}

// Effective is the policy of this worker at a time: the newest of the team with the rules for this
// member, a mode that it was given, and plan mode until its plan is approved. Only the operator
// makes a mode wider than the team's.
func (w *Worker) Effective(l *Leader, now time.Time) policy.Policy {
	p := l.policyOf(w.Instance).For(w.Instance, now)
	p.Mode = w.mode(l)
	return p
}

func (w *Worker) mode(l *Leader) policy.Mode {
	mode := l.ModeOf(w.Instance)
	if w.base == machine.PlanProposed {
		return mode.Meet(policy.ModePlan)
	}
	return mode
}

// ModeOf is the mode of a member apart from the plan that it may owe: the team's, or its own. The
// operator may set any mode; the lead one no wider than the team's mode, or than the lead's own
// where the policy gives it one (PolicySet.Lead), until the operator sets the policy anew. None is
// wider than the user's ceiling.
func (l *Leader) ModeOf(i record.Instance) policy.Mode {
	p := l.Policy
	p.Policy.Mode = l.policyOf(i).Policy.Mode
	if m, ok := l.byInst[i]; ok {
		return ownMode(p, m)
	}
	return p.Ceiling.Meet(p.Policy.Mode)
}

// ownMode is ModeOf under a policy that may not be on record yet.
func ownMode(p record.PolicySet, m *Member) policy.Mode {
	mode := p.Policy.Mode
	switch {
	case m.Mode == "":
	case m.ModeBy == policy.RoleOperator:
		mode = m.Mode
	case p.Lead != nil && m.modeVersion > p.Policy.Version:
		mode = p.Lead.Mode.Meet(m.Mode)
	default:
		mode = mode.Meet(m.Mode)
	}
	return p.Ceiling.Meet(mode)
}

// modeOf is ownMode by its name on the wire.
func modeOf(p record.PolicySet, m *Member) policy.Mode {
	if mode := ownMode(p, m); mode != "" {
		return mode
	}
	return policy.ModeDefault
}

// Judge is what the rules say of a question at this moment.
func (w *Worker) Judge(kind waggle.Kind, a record.Ask, l *Leader, now time.Time) policy.Verdict {
	return w.judge(kind, a, l, now)
}

// judge is what the rules say of a question.
func (w *Worker) judge(kind waggle.Kind, a record.Ask, l *Leader, now time.Time) policy.Verdict {
	return l.policyOf(w.Instance).Judge(w.Instance, w.mode(l), kind, a, now)
}

// newID makes a request id in the form that real clients use.
func (w *Worker) newID(kind waggle.Kind, m record.Mint) waggle.RequestID {
	ms := strconv.FormatInt(m.Now.UnixMilli(), 10)
	switch kind {
	case waggle.KindPlanApprovalRequest:
		// The nonce keeps two plans of one millisecond apart.
		return waggle.RequestID("plan_approval-" + ms + m.Nonce + "@" + string(w.Name) + "@" + string(w.Team))
	case waggle.KindSandboxPermissionRequest:
		return waggle.RequestID("sandbox-" + ms + "-" + m.Nonce)
	}
	return waggle.RequestID("perm-" + ms + "-" + m.Nonce)
}

// question is the wire form of what is asked.
func (w *Worker) question(k record.Key, a record.Ask, l *Leader, m record.Mint) waggle.Payload {
	switch k.Kind {
	case waggle.KindPlanApprovalRequest:
		return waggle.PlanApprovalRequest{From: string(w.Name), Timestamp: waggle.FormatTime(m.Now), PlanFilePath: a.PlanFile, PlanContent: a.Plan, RequestID: string(k.ID)}
	case waggle.KindSandboxPermissionRequest:
		return waggle.SandboxPermissionRequest{RequestID: string(k.ID), WorkerID: string(w.Name), WorkerName: string(w.Name), WorkerColor: w.color(l),
			HostPattern: waggle.HostPattern{Host: a.Hostport()}, CreatedAt: m.Now.UnixMilli()}
	}
	return waggle.PermissionRequest{RequestID: string(k.ID), AgentID: string(w.Name), ToolName: a.Tool, ToolUseID: a.ToolUseID,
		Description: a.Reason, Input: []byte(a.Input), PermissionSuggestions: suggestions(l.Policy.Call(a))}
}

// suggestions are the rules that would have allowed a call, narrowest first, as real
// clients write them (protocol §1.1). They are shown and never act.
func suggestions(c policy.Call) []json.RawMessage {
	list := []json.RawMessage{}
	for _, r := range policy.Suggest(c) {
		content := ""
		if r.Pattern != "" {
			content = `,"ruleContent":` + quote(r.Pattern)
		}
		list = append(list, json.RawMessage(`{"type":"addRules","rules":[{"toolName":`+quote(r.Tool)+content+`}],"behavior":"allow","destination":"session"}`))
	}
	return list
}

// revision is the number of the next plan for the work of this turn: one more than
// were proposed, those that were taken back included.
func (w *Worker) revision() int {
	n := 1
	for _, c := range w.Calls {
		if c.Kind == waggle.KindPlanApprovalRequest && c.AskedSeq != 0 && c.Task == w.turn.Task {
			n++
		}
	}
	return n
}

// GrantError says why an allow cannot be used any more.
type GrantError struct{ Why string }

func (e *GrantError) Error() string { return e.Why }

// Start claims the grant of a tool call (trust §3, the moment of truth): the caller appends the
// draft before the tool runs and runs nothing when that fails. It checks again everything that may
// have changed since the answer.
func (w *Worker) Start(k record.Key, epoch uint64, l *Leader, now time.Time) ([]journal.Draft, error) {
	c, ok := w.byKey[k]
	switch {
	case !ok || k.Kind != waggle.KindPermissionRequest || !c.allowed():
		return nil, &GrantError{"it was not allowed"}
	case c.Started:
		return nil, &GrantError{"the grant was used already"}
	case w.Epoch != epoch:
		return nil, &GrantError{ErrSuperseded.Error()}
	case w.leaving || w.gone:
		return nil, ErrShuttingDown
	case w.turn == nil:
		return nil, ErrNoTurn
	case c.Answer.UseBy != nil && !now.Before(*c.Answer.UseBy):
		return nil, &GrantError{"the grant was not used in time"}
	case w.base == machine.PlanProposed && !ReadOnly(c.Ask.Tool):
		return nil, &GrantError{"the plan is not approved yet"}
	}
	m, ok := l.ByInstance(w.Instance)
	if !ok || m.Left != nil || (m.Process != nil && m.Process.Epoch != epoch) {
		return nil, &GrantError{"this process is no longer the member's"}
	}
	v := w.judge(k.Kind, c.Run(), l, now)
	if v.Decision == policy.Deny || v.Decision == policy.Ask && c.AskedSeq == 0 {
		return nil, &GrantError{"no longer allowed: " + v.Rule}
	}
	return []journal.Draft{{Kind: record.KindStarted, Must: true, Body: record.Started{Key: k, Digest: c.RunDigest(), Tool: c.Ask.Tool, Task: w.turn.Task}}}, nil
}

// Finish ends a call that was started. A second end drafts nothing.
func (w *Worker) Finish(f record.Finished) []journal.Draft {
	if c, ok := w.byKey[f.Key]; !ok || !c.running() {
		return nil
	}
	return []journal.Draft{{Kind: record.KindFinished, Must: true, Body: f}}
}

// StopWaiting ends the session's patience with an open question: the agent is
// told to retry, the question stays open (trust §3, gate wait).
func (w *Worker) StopWaiting(k record.Key, reason string) []journal.Draft {
	c, ok := w.byKey[k]
	if !ok || w.asked[k] == nil {
		return nil
	}
	return []journal.Draft{{Kind: record.KindAnswered, Must: true, Body: record.Answered{Key: k, Digest: c.Digest, Decision: record.DecisionDeny,
		By: policy.RoleSystem, Reason: reason, Waited: true}}}
}

// Lost marks every call that an earlier epoch started and did not finish: its
// end is unknown and it is never run again.
func (w *Worker) Lost(why string) []journal.Draft {
	var ds []journal.Draft
	for _, c := range w.Calls {
		if c.running() && c.Epoch < w.Epoch {
			ds = append(ds, journal.Draft{Kind: record.KindUnknown, Must: true, Body: record.UnknownEnd{Key: c.Key, Why: why}})
		}
	}
	return ds
}

// quote writes s as a JSON string.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // strings always encode
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
