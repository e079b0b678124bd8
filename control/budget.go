package control

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"waggle/internal/budget"
	"waggle/journal"
	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// ErrPaused: the member's budget is used up, and it takes no work.
var ErrPaused = errors.New("a budget is used up")

// SetBudgets drafts the budgets of the team. The same again drafts nothing.
func (l *Leader) SetBudgets(b record.Budgets, w journal.Writer) ([]journal.Draft, error) {
	switch {
	case !w.Operator:
		return nil, &RefusedError{Why: "only the operator sets a budget"}
	case l.budgets.Same(b):
		return nil, nil
	}
	b.From = l.budgets.Used("", record.Usage{})
	return []journal.Draft{{Kind: record.KindBudget, Must: true, Body: b}}, nil
}

// Budgets are the budgets as they were set, nil without any.
func (l *Leader) Budgets() *record.Budgets { return l.budgets.AsSet() }

// BudgetNow is a budget as it holds now, with raises, and what has been used of it. own is the
// member's journal for the budget of a member, and may be nil.
func (l *Leader) BudgetNow(scope record.BudgetScope, name protocol.MemberName, own *Worker) (limit record.Limit, used record.Usage, ok bool) {
	of := budget.Of{Scope: scope}
	if scope == record.ScopeMember {
		of.Name = name
	}
	b, ok := l.budgets.Limits[of]
	switch {
	case !ok:
	case scope == record.ScopeMember && own != nil:
		used = own.Usage
	case scope == record.ScopeRun:
		used = l.budgets.OfRun(l.spentWith(own))
	case scope == record.ScopeTeam, scope == record.ScopeBrake:
		used = l.spentWith(own)
	}
	return b.Now, used, ok
}

// spentWith is what all members have used, with the newest of one of them.
func (l *Leader) spentWith(own *Worker) record.Usage {
	if own == nil {
		return l.budgets.Used("", record.Usage{})
	}
	return l.budgets.Used(own.Instance, own.Usage)
}

// count drafts what a member has used. The same again drafts nothing.
func (l *Leader) count(peer *Worker) []journal.Draft {
	if l.byInst[peer.Instance] == nil || !l.budgets.Counts(peer.Instance, peer.Usage) {
		return nil
	}
	return []journal.Draft{{Kind: record.KindSpent, Body: record.Spent{Instance: peer.Instance, Usage: peer.Usage}}}
}

func (l *Leader) budgetRec(_ journal.Record, b record.Budgets) error {
	l.budgets.Set(b)
	return nil
}

func (l *Leader) spentRec(r journal.Record, b record.Spent) error {
	switch {
	case l.byInst[b.Instance] == nil:
		return l.ignore(r, "it is about no member")
	case !b.Usage.Valid():
		return l.ignore(r, "it counts backward")
	}
	l.budgets.Count(b.Instance, b.Usage)
	return nil
}

// asksBudget reports a request for a larger budget: of a member that waggle runs.
func (l *Leader) asksBudget(req *Request) bool {
	return record.IsBudget(req.Kind, req.Ask) && !l.byFile(req)
}

// raises returns why an allow of a Budget request raises nothing, "" when it does or the request is
// another.
func (l *Leader) raises(req *Request, input string) (of budget.Of, to record.Limit, why string) {
	scope, to, err := record.RaiseOf(input)
	if err != nil {
		return of, to, err.Error()
	}
	if of.Scope = scope; scope == record.ScopeMember {
		of.Name = l.byInst[req.Instance].Name
	}
	if asked, _, err := record.RaiseOf(req.Ask.Input); err == nil && asked != scope {
		return of, to, "the request is about the budget of another scope"
	}
	return of, to, ""
}

// overspends returns why an allow of a Budget request is refused, "" when it is not, or when the
// request is another.
func (l *Leader) overspends(req *Request, v Answer) string {
	if !v.Allow || !l.asksBudget(req) {
		return ""
	}
	_, _, why := l.raises(req, cmp.Or(v.UpdatedInput, req.Ask.Input))
	return why
}

// raised applies an allowed Budget request.
func (l *Leader) raised(req *Request, d record.Decided) {
	if !l.asksBudget(req) || d.Decision != record.DecisionAllow {
		return
	}
	if of, to, why := l.raises(req, cmp.Or(d.UpdatedInput, req.Ask.Input)); why == "" {
		l.budgets.Raise(of, to)
	}
}

// Over is the budget that a worker has used up, nil when it may go on. Its own, the team's and the
// run's are looked at in this order, and the brake of a team that has none of them.
func (w *Worker) Over(l *Leader) *record.Excess {
	if w.Guest {
		return nil
	}
	for _, scope := range record.BudgetScopes {
		limit, used, ok := l.BudgetNow(scope, w.Name, w)
		if !ok || !limit.Reached(used) {
			continue
		}
		of := budget.Of{Scope: scope}
		if scope == record.ScopeMember {
			of.Name = w.Name
		}
		used.ID = ""
		e := &record.Excess{Scope: scope, Limit: limit, Used: used}
		if scope != record.ScopeBrake {
			e.RaiseTo = limit.Above(l.budgets.Limits[of].Set, used)
		}
		return e
	}
	return nil
}

// BudgetCall is the newest request for a larger budget, nil when there was none.
func (w *Worker) BudgetCall() *Call { return w.budget }

// Pause asks for a larger budget, unless that is open already, or was refused since this process
// began. A deadline that nobody met is no refusal: it is asked again.
func (w *Worker) Pause(l *Leader, m record.Mint) ([]journal.Draft, error) {
	e := w.Over(l)
	switch {
	case e == nil || l.Closing != nil || l.Ended != nil:
		return nil, nil // a team that ends is asked nothing
	case w.leaving || w.gone:
		return nil, ErrShuttingDown
	case w.budget != nil && (w.budget.Open() || w.refused(*e, l)):
		return nil, nil
	}
	a := record.Ask{N: record.SumOf(protocol.KindPermissionRequest), Tool: record.BudgetTool, Input: e.Input(), Reason: e.String(), ToolUseID: "toolu_waggle_" + m.Nonce}
	if w.Ready != nil {
		a.Cwd = w.Ready.Cwd
	}
	if err := a.Check(protocol.KindPermissionRequest); err != nil {
		return nil, err
	}
	k := record.Key{Instance: w.Instance, Kind: protocol.KindPermissionRequest, ID: message.NewID(protocol.KindPermissionRequest, w.Name, w.Team, m)}
	mail, err := w.composed(w.color(l), protocol.Lead, message.Request(k, a, w.Name, w.color(l), l.Policy.Call(a), m), m)
	if err != nil {
		return nil, err
	}
	b := record.Asked{Key: k, Digest: record.DigestOf(w.UID, k, a), Ask: a, Mail: mail}
	if w.turn != nil {
		b.Task = w.turn.Task
	}
	return []journal.Draft{{Kind: record.KindPaused, Must: true, Body: b}}, nil
}

// Broke is the budget that a worker has used up and that was refused to be raised since its process
// began, nil when it may go on or an answer is still due.
func (w *Worker) Broke(l *Leader) *record.Excess {
	if e := w.Over(l); e != nil && w.budget != nil && w.refused(*e, l) {
		return e
	}
	return nil
}

// refused reports whether the newest request was about this budget, at this limit, and has been denied
// since this process began: by a person, or in a run to completion or an unattended team by anyone.
func (w *Worker) refused(e record.Excess, l *Leader) bool {
	c := w.budget
	if c.Answer == nil || c.Answer.Decision != record.DecisionDeny || c.Epoch != w.Epoch || prefixOf(c.Ask.Input) != prefixOf(e.Input()) {
		return false
	}
	switch c.Answer.By {
	case policy.RoleWorker: // withdrawn
		return false
	case policy.RoleSystem:
		return l.Policy.Unattended || l.Led != nil && l.Led.Run || l.Closing != nil
	}
	return true
}

// prefixOf is the scope and the limit of a request's input.
func prefixOf(input string) string {
	head, _, _ := strings.Cut(input, `,"used":`)
	return head
}

// Unpause withdraws a request for a larger budget that is not needed any more.
func (w *Worker) Unpause(l *Leader) []journal.Draft {
	if w.budget == nil || !w.budget.Open() || w.Over(l) != nil {
		return nil
	}
	return w.Withdraw(w.budget.Key, "the budget is not used up any more")
}

func (w *Worker) pausedRec(r journal.Record, b record.Asked) error {
	switch err := b.Ask.CheckSum(b.Kind); {
	case err != nil:
		return err
	case w.leaving || w.gone:
		return fmt.Errorf("request %s while shutting down", b.ID)
	case b.Instance != w.Instance || !record.IsBudget(b.Kind, b.Ask) || w.Guest:
		return fmt.Errorf("request %s for a budget of kind %q for %q", b.ID, b.Kind, b.Instance)
	case b.Digest != record.DigestOf(w.UID, b.Key, b.Ask):
		return fmt.Errorf("request %s does not have its digest", b.ID)
	case b.Mail == nil || b.Mail.Kind != b.Kind:
		return fmt.Errorf("request %s has no message", b.ID)
	case w.byKey[b.Key] != nil || w.budget != nil && w.budget.Open():
		return fmt.Errorf("request %s was asked twice", b.ID)
	}
	c := &Call{Key: b.Key, Digest: b.Digest, Ask: b.Ask, Task: b.Task, AskedSeq: r.Seq, Asked: r.Time, Epoch: w.Epoch}
	w.Calls, w.byKey[b.Key], w.budget = append(w.Calls, c), c, c
	w.vouch(b.Mail, b.ID, &Vouched{Mark: markOf(r), Call: c})
	return nil
}

// maxLimited bounds the reason of a usage limit.
const maxLimited = 1000

// Limit records that the agent's account has reached a usage limit, in the turn that runs. The turn
// stays open.
func (w *Worker) Limit(until time.Time, reason string) ([]journal.Draft, error) {
	if w.turn == nil {
		return nil, ErrNoTurn
	}
	if !utf8.ValidString(reason) || len(reason) > maxLimited {
		reason = message.Clip(strings.ToValidUTF8(reason, "\uFFFD"))
	}
	return []journal.Draft{{Kind: record.KindLimited, Body: record.Limited{Until: until.UTC(), Reason: reason}}}, nil
}

func (w *Worker) limitedRec(r journal.Record, b record.Limited) error {
	if w.turn != nil {
		w.Limited, w.LimitedAt = &b, r.Time
		w.rests(r.Time)
	}
	return nil
}

// LimitedUntil is when the turn goes on that a usage limit has cut short; false when none has, or
// that time has come.
func (w *Worker) LimitedUntil(now time.Time) (time.Time, bool) {
	if w.Limited == nil || !now.Before(w.Limited.Until) {
		return time.Time{}, false
	}
	return w.Limited.Until, true
}
