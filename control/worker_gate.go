package control

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"waggle/journal"
	"waggle/machine"
	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
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
func (w *Worker) Ask(kind protocol.Kind, a record.Ask, l *Leader, m record.Mint) (record.Key, []journal.Draft, error) {
	switch {
	case w.leaving || w.gone:
		return record.Key{}, nil, ErrShuttingDown
	case w.turn == nil:
		return record.Key{}, nil, ErrNoTurn
	}
	if record.IsBudget(kind, a) {
		return record.Key{}, nil, fmt.Errorf("tool %s is waggle's own: no agent asks for it", record.BudgetTool)
	}
	a.N = record.SumOf(kind)
	if err := a.Check(kind); err != nil {
		return record.Key{}, nil, err
	}
	if c := w.byAsk[questionOf(kind, a)]; c != nil {
		if ds, ok := w.again(c, a, m.Now); ok {
			return c.Key, ds, nil
		}
	}
	k := record.Key{Instance: w.Instance, Kind: kind, ID: message.NewID(kind, w.Name, w.Team, m)}
	if w.byKey[k] != nil {
		return record.Key{}, nil, fmt.Errorf("ask: id %s is taken", k.ID)
	}
	if kind == protocol.KindPlanApprovalRequest {
		a.Revision = w.revision()
	}
	dig := record.DigestOf(w.UID, k, a)
	if kind == record.KindQuestion { // no rule answers it, and no message has it
		return k, []journal.Draft{{Kind: record.KindAsked, Must: true, Body: record.Asked{Key: k, Digest: dig, Ask: a, Task: w.turn.Task}}}, nil
	}
	v := w.Judge(kind, a, l, m.Now)
	if v.Decision != policy.Ask {
		decision := record.DecisionDeny
		if v.Decision == policy.Allow {
			decision = record.DecisionAllow
		}
		return k, []journal.Draft{{Kind: record.KindAnswered, Must: true, Body: record.Answered{Key: k, Digest: dig, Decision: decision,
			By: policy.RoleRules, Rule: v.Rule, Reason: v.Why, Policy: l.Policy.Policy.Version, Ask: &a,
			Judged: w.judged(l)}}}, nil
	}
	if v.Rule == policy.RuleOrders {
		own := *a.Own
		own.Standing, a.Own = true, &own
	}
	mail, err := w.composed(w.color(l), protocol.Lead, message.Request(k, a, w.Name, w.color(l), l.Policy.Call(a), m), m)
	if err != nil {
		return record.Key{}, nil, err
	}
	ds := w.outrun(kind, a)
	if kind == protocol.KindPlanApprovalRequest {
		ds = w.withdrawPlans()
	}
	return k, append(ds, journal.Draft{Kind: record.KindAsked, Must: true,
		Body: record.Asked{Key: k, Digest: dig, Ask: a, Task: w.turn.Task, Mail: mail}}), nil
}

// again answers a question that was asked before. When its first asking holds, ok
// is true and the drafts are what is left to record: that the session waits
// again, or that it claims an approval that came late.
func (w *Worker) again(c *Call, a record.Ask, now time.Time) (ds []journal.Draft, ok bool) {
	plan := c.Kind == protocol.KindPlanApprovalRequest
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
	case c.Kind == protocol.KindPermissionRequest:
		return nil, true
	}
	return []journal.Draft{{Kind: record.KindStarted, Must: true, Body: record.Started{Key: c.Key, Digest: c.Digest, Task: w.turn.Task}}}, true
}

// Approved is the newest request by which the operator has allowed a command, as it was asked, that is the
// member's own in this accepted file; "": there is none.
func (w *Worker) Approved(file, command string) protocol.RequestID {
	for _, c := range slices.Backward(w.Calls) {
		if c.Ask.Own != nil && c.Ask.Own.File == file && c.Ask.Own.Standing && c.AskedSeq != 0 && c.allowed() && c.Answer.By == policy.RoleOperator && c.Answer.UpdatedInput == "" &&
			record.CommandOf(c.Ask.Input) == command {
			return c.ID
		}
	}
	return ""
}

// claimable reports whether the leader's allow can still be claimed by the same
// question (trust §3).
func (c *Call) claimable(now time.Time) bool {
	return c.AskedSeq != 0 && c.granted() && !c.Started && !c.used && c.Answer.UseBy != nil && now.Before(*c.Answer.UseBy)
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
		if c.Kind == protocol.KindPlanApprovalRequest {
			ds = append(ds, w.Withdraw(c.Key, "a newer plan took its place")...)
		}
	}
	return ds
}

// Effective is the policy of this worker at a time: the newest of the team with the rules for this
// member, a mode that it was given, and plan mode until its plan is approved. Only the operator
// makes a mode wider than the team's.
func (w *Worker) Effective(l *Leader, now time.Time) policy.Policy {
	p := w.policy(l).For(w.Instance, now)
	p.Mode = w.mode(l)
	return p
}

// onTask is the task that it works on, "" when it works on none.
func (w *Worker) onTask() string {
	if w.turn == nil {
		return ""
	}
	return w.turn.Task
}

func (w *Worker) mode(l *Leader) policy.Mode {
	if w.base == machine.PlanProposed {
		return w.bound(l).Meet(policy.ModePlan)
	}
	return w.bound(l)
}

// bound is the mode of this worker apart from the plan that it may owe.
func (w *Worker) bound(l *Leader) policy.Mode {
	if w.narrowed != "" {
		return l.ModeOf(w.Instance).Meet(w.narrowed)
	}
	return l.ModeOf(w.Instance)
}

// ModeOf is the mode of a member apart from the plan that it may owe: the team's, or its own. The
// operator may set any mode; the lead one no wider than the team's mode, or than the lead's own
// where the policy gives it one (PolicySet.Lead), until the operator sets the policy anew. None is
// wider than the user's ceiling.
func (l *Leader) ModeOf(i record.Instance) policy.Mode {
	p := l.Policy
	p.Policy.Mode = l.policyOf(i).Policy.Mode
	if m, ok := l.byInst[i]; ok {
		return p.ModeOf(m.Mode, m.ModeBy, m.modeVersion)
	}
	return p.Ceiling.Meet(p.Policy.Mode)
}

// Judge is what the rules say of a question at this moment.
func (w *Worker) Judge(kind protocol.Kind, a record.Ask, l *Leader, now time.Time) policy.Verdict {
	return w.policy(l).Judge(w.Instance, w.mode(l), kind, a, now)
}

// JudgeCall is Judge for a call of a tool that nobody asks about: its Links need not be a record. Of a member that does
// nothing now it is what its gate would say in its next task (Upcoming).
func (w *Worker) JudgeCall(c policy.Call, l *Leader, now time.Time) policy.Verdict {
	return w.policy(l).JudgeCall(w.Instance, w.Upcoming(l), c, now)
}

// Upcoming is the mode of the calls that the worker would make now: that of its turn, or of the next one, which begins in
// plan mode where the member owes a plan for each task.
func (w *Worker) Upcoming(l *Leader) policy.Mode {
	if m, ok := l.ByInstance(w.Instance); ok && m.PlanRequired && w.turn == nil {
		return w.bound(l).Meet(policy.ModePlan)
	}
	return w.mode(l)
}

// policy is the policy that holds for this worker in its task, with what a guest's lead denies it.
func (w *Worker) policy(l *Leader) record.PolicySet {
	p := l.policyOf(w.Instance).During(w.onTask())
	p.Policy = p.Policy.Narrow(w.denied...)
	return p
}

// judged is what a verdict's record says of how it was judged.
func (w *Worker) judged(l *Leader) record.Judged {
	j := l.policyOf(w.Instance).Judged(w.mode(l), w.onTask())
	j.Denied = w.denied
	return j
}

// revision is the number of the next plan for the work of this turn: one more than
// were proposed, those that were taken back included.
func (w *Worker) revision() int {
	n := 1
	for _, c := range w.Calls {
		if c.Kind == protocol.KindPlanApprovalRequest && c.AskedSeq != 0 && c.Task == w.turn.Task {
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
	case !ok || k.Kind != protocol.KindPermissionRequest || !c.allowed():
		return nil, &GrantError{"it was not allowed"}
	case c.Started:
		return nil, &GrantError{"the grant was used already"}
	case l.TakenBack(k):
		return nil, &GrantError{takenBackText}
	case w.Epoch != epoch:
		return nil, &GrantError{ErrSuperseded.Error()}
	case w.leaving || w.gone:
		return nil, ErrShuttingDown
	case w.turn == nil:
		return nil, ErrNoTurn
	case c.Answer.UseBy != nil && !now.Before(*c.Answer.UseBy):
		return nil, &GrantError{"the grant was not used in time"}
	}
	m, ok := l.ByInstance(w.Instance)
	if !ok || m.Left != nil || (m.Process != nil && m.Process.Epoch != epoch) {
		return nil, &GrantError{"this process is no longer the member's"}
	}
	owed := w.base == machine.PlanProposed
	switch v, mode := w.Judge(k.Kind, c.Run(), l, now), "mode "+string(w.mode(l)); {
	case v.Decision == policy.Deny && owed && v.Rule == mode: // that of a plan allows what only reads
		return nil, &GrantError{"the plan is not approved yet"}
	case v.Decision == policy.Deny || v.Decision == policy.Ask && c.AskedSeq == 0:
		return nil, &GrantError{"no longer allowed: " + v.Rule}
	}
	return []journal.Draft{{Kind: record.KindStarted, Must: true, Body: record.Started{Key: k, Digest: c.RunDigest(), Tool: c.Ask.Tool, Task: w.turn.Task,
		Reads: owed && !ReadOnly(c.Ask.Tool)}}}, nil
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

// TakeAnswers takes the answers to this worker's open questions from the leader's journal: no message
// brings them.
func (w *Worker) TakeAnswers(l *Leader) []journal.Draft {
	if w.gone {
		return nil
	}
	var ds []journal.Draft
	for _, c := range w.Calls {
		if c.Kind != record.KindQuestion || !c.Open() {
			continue
		}
		if r, ok := l.Request(c.Key); ok && r.Decided != nil && !r.Order.TakenBack && r.Digest == c.Digest {
			ds = append(ds, r.Order.taken(""))
		}
	}
	return ds
}

// GiveUp marks a call whose end nobody will report. It drafts nothing for one that has an end.
func (w *Worker) GiveUp(k record.Key, why string) []journal.Draft {
	if c, ok := w.byKey[k]; !ok || !c.running() {
		return nil
	}
	return []journal.Draft{{Kind: record.KindUnknown, Must: true, Body: record.UnknownEnd{Key: k, Why: why}}}
}
