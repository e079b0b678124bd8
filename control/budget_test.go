package control_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// use records what a member's agent has used, in dollars and tokens.
func (m *member) use(usd float64, tokens int64) {
	m.t.Helper()
	m.do(func() ([]journal.Draft, error) {
		return m.w.Use(record.Usage{Input: tokens, CostMicros: int64(usd * 1e6), Source: record.UsageReported})
	})
}

// pause asks for a larger budget, and returns the open or newest request.
func (m *member) pause() *control.Call {
	m.t.Helper()
	m.do(func() ([]journal.Draft, error) { return m.w.Pause(m.lead, m.mint()) })
	return m.w.BudgetCall()
}

// budgets sets them as the operator.
func (w *world) budgets(b record.Budgets) {
	w.t.Helper()
	w.do(operator, func() ([]journal.Draft, error) { return w.l.SetBudgets(b, operator) })
}

func usd(n int64) record.Limit { return record.Limit{CostMicros: n * 1e6} }

// TestBudget: a member whose budget is used up takes nothing more and asks, whatever rules and modes
// say. Only the operator raises it, by what the request says, and the same again is asked at the
// next limit.
func TestBudget(t *testing.T) {
	set := record.PolicySet{Policy: policy.Policy{Mode: policy.ModeBypassPermissions, Allow: policy.MustRules("Budget", "Bash")},
		Decide: record.Deciders{policy.GateTool: policy.DecideLeader}, Lead: &policy.Policy{Mode: policy.ModeBypassPermissions}}
	w, m := working(t, set, false)
	w.budgets(record.Budgets{Members: map[protocol.MemberName]record.Limit{"ada": {CostMicros: 1e6, Tokens: 1000}}})
	m.use(0.99, 999)
	if e := m.w.Over(m.lead); e != nil || m.pause() != nil {
		t.Fatalf("paused below its budget: %+v", e)
	}
	m.use(0.02, 0)
	m.idle()
	w.assign(m, record.Task{ID: "2", Instructions: "more"})
	w.round()
	if _, err := m.try(func() ([]journal.Draft, error) { return m.w.Take(record.Taken{Task: "2"}, m.lead) }); !errors.Is(err, control.ErrPaused) {
		t.Fatalf("work was taken: %v", err)
	}
	c := m.pause()
	if again := m.pause(); c == nil || again != c || !c.Open() || len(m.w.Calls) != 1 {
		t.Fatalf("asked twice: %+v, %+v", c, again)
	}
	w.round()
	req := w.request(c.Key)
	if want := `{"scope":"member","limit":{"usd":1,"tokens":1000},"used":{"usd":1.01,"tokens":999,"turns":1,"source":"reported"},"raise_to":{"usd":2,"tokens":1000}}`; req.Ask.Tool != "Budget" || req.Ask.Input != want {
		t.Errorf("%+v", req.Ask)
	}
	if lm, _ := w.l.Member("ada"); req.State != machine.RequestPending || lm.State() != machine.AwaitingDecision {
		t.Errorf("the request is %s, the member %s", req.State, lm.State())
	}
	for name, v := range map[string]control.Answer{
		"the leader": {Key: c.Key, Digest: req.Digest, Allow: true, By: policy.RoleLeader}, "the rules": {Key: c.Key, Digest: req.Digest, Allow: true, By: policy.RoleRules},
		"the system": {Key: c.Key, Digest: req.Digest, Allow: true, By: policy.RoleSystem}, "the member": {Key: c.Key, Digest: req.Digest, Allow: true, By: policy.RoleWorker}} {
		if out := w.decide(v, w.lead()); out.Refusal == nil || len(out.Drafts) > 0 {
			t.Errorf("%s: %+v", name, out)
		}
	}
	for _, bad := range []string{`{"scope":"team","raise_to":{"usd":9}}`, `{"scope":"member","raise_to":{"usd":-9}}`, `{"scope":"member"}`} {
		v := verdict(req, true)
		v.UpdatedInput = bad
		if out := w.decide(v, operator); out.Refusal == nil || len(out.Drafts) > 0 {
			t.Errorf("%s: %+v", bad, out)
		}
	}
	if out := w.decide(verdict(req, true), operator); !out.Changed {
		t.Fatalf("%+v", out)
	}
	w.round()
	if limit, used, ok := w.l.BudgetNow(record.ScopeMember, "ada", m.w); !ok || limit.CostMicros != 2e6 || used.CostMicros != 1_010_000 {
		t.Errorf("%v %+v %v", limit, used, ok)
	}
	if e := m.w.Over(m.lead); e != nil {
		t.Errorf("still over: %+v", e)
	}
	if req.State != machine.RequestClosed {
		t.Errorf("the request is %s", req.State)
	}
	m.take()
	m.use(5, 0)
	if c := m.pause(); !c.Open() || !strings.Contains(c.Ask.Input, `"limit":{"usd":2,"tokens":1000}`) || !strings.Contains(c.Ask.Input, `"raise_to":{"usd":7,"tokens":1000}`) || c.Task != "2" {
		t.Errorf("%+v", c)
	}
	w.round()
	w.checkFolds(t, m)
}

// TestBudgetChanged: an operator may allow another raise than the one that was asked for.
func TestBudgetChanged(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	one := usd(1)
	w.budgets(record.Budgets{Team: &one})
	m.use(1, 0)
	c := m.pause()
	w.round()
	v := verdict(w.request(c.Key), true)
	v.UpdatedInput = `{"scope":"team","raise_to":{"usd":1.5}}`
	if out := w.decide(v, operator); !out.Changed {
		t.Fatalf("%+v", out)
	}
	if limit, _, _ := w.l.BudgetNow(record.ScopeTeam, "", nil); limit.CostMicros != 1_500_000 {
		t.Error(limit)
	}
	// A changed file sets the budgets that it changes; the raise of an unchanged budget stays.
	w.budgets(record.Budgets{Team: &one, Run: &one})
	if limit, _, _ := w.l.BudgetNow(record.ScopeTeam, "", nil); limit.CostMicros != 1_500_000 {
		t.Error(limit)
	}
	w.round()
	if limit, used, ok := w.l.BudgetNow(record.ScopeRun, "", nil); !ok || limit != one || used.CostMicros != 0 {
		t.Errorf("the run begins with %+v of %v used", used, limit)
	}
	two := usd(2)
	w.budgets(record.Budgets{Team: &two})
	if b := w.l.Budgets(); b.Run != nil || *b.Team != two {
		t.Errorf("%+v", b)
	}
	if ds, err := w.l.SetBudgets(record.Budgets{Team: &two}, operator); len(ds) > 0 || err != nil {
		t.Errorf("the same again drafts %v, %v", ds, err)
	}
	if _, err := w.l.SetBudgets(record.Budgets{}, w.lead()); err == nil {
		t.Error("the lead set a budget")
	}
	w.checkFolds(t, m)
}

// TestBudgetRefused: a member whose budget a person did not raise asks no more, until its next
// process. A deadline that nobody met is asked again.
func TestBudgetRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		set record.PolicySet
		no  bool
		// again: it is asked again by the same process.
		again bool
	}{
		"a person":       {no: true},
		"nobody attends": {set: record.PolicySet{Unattended: true}},
		"a deadline":     {set: record.PolicySet{Deadline: 1000}, again: true},
	} {
		w, m := working(t, tc.set, false)
		one := usd(1)
		w.budgets(record.Budgets{Team: &one})
		m.use(1, 0)
		c := m.pause()
		w.round()
		if tc.no {
			w.decide(verdict(w.request(c.Key), false), operator)
		}
		w.now = w.now.Add(time.Minute)
		w.round()
		w.round()
		if c.Open() {
			t.Fatalf("%s: nobody answered", name)
		}
		if broke := m.w.Broke(m.lead) != nil; broke == tc.again {
			t.Errorf("%s: broke is %v", name, broke)
		}
		if again := m.pause() != c; again != tc.again {
			t.Errorf("%s: asked again is %v", name, again)
		}
		m.boot()
		if c := m.pause(); !c.Open() || c.Epoch != 2 && !tc.again {
			t.Errorf("%s: the next process does not ask: %+v", name, c)
		}
		w.checkFolds(t, m)
	}
}

// TestTurns: an agent that counts its turns is counted as it says, another one with one for each turn of its
// session; a budget of turns is reached by both, and its raise is in turns.
func TestTurns(t *testing.T) {
	w, ada := working(t, record.PolicySet{}, false)
	bob := w.join("bob", false)
	w.budgets(record.Budgets{Team: &record.Limit{Turns: 8}})
	ada.do(func() ([]journal.Draft, error) {
		return ada.w.Use(record.Usage{Input: 10, Turns: 6, Source: record.UsageReported})
	})
	ada.idle()
	bob.boot()
	w.assign(bob, record.Task{ID: "2", Instructions: "more"})
	w.assign(bob, record.Task{ID: "3", Instructions: "more"})
	w.round()
	for i, id := range []string{"2", "3"} {
		if bob.w.Usage != (record.Usage{Turns: int64(i)}) || bob.w.Over(bob.lead) != nil {
			t.Fatalf("before task %s: %+v, %+v", id, bob.w.Usage, bob.w.Over(bob.lead))
		}
		bob.do(func() ([]journal.Draft, error) { return bob.w.Take(record.Taken{Task: id}, bob.lead) })
		bob.idle()
	}
	if ada.w.Usage.Turns != 6 || bob.w.Usage.Turns != 2 {
		t.Errorf("%+v, %+v", ada.w.Usage, bob.w.Usage)
	}
	w.round()
	w.round()
	e := ada.w.Over(ada.lead)
	if e == nil || e.Used.Turns != 8 || e.Used.Source != record.UsageReported || e.RaiseTo != (record.Limit{Turns: 16}) {
		t.Fatalf("%+v", e)
	}
	w.checkFolds(t, ada)
	w.checkFolds(t, bob)
}

// TestTeamBudget: the usage of all members counts, with the newest of the member's own; the raise
// of one member's request lets the others go on, and their requests are withdrawn.
func TestTeamBudget(t *testing.T) {
	w, ada := working(t, record.PolicySet{}, false)
	bob := w.join("bob", false)
	limit := record.Limit{Tokens: 1000}
	w.budgets(record.Budgets{Team: &limit})
	ada.use(0, 600)
	if e := ada.w.Over(ada.lead); e != nil {
		t.Errorf("%+v", e)
	}
	w.round()
	bob.do(func() ([]journal.Draft, error) { return nil, nil })
	bob.use(0, 399)
	if e := bob.w.Over(bob.lead); e != nil {
		t.Errorf("%+v", e)
	}
	bob.use(0, 1)
	if e := bob.w.Over(bob.lead); e == nil || e.Scope != record.ScopeTeam || e.Used.Tokens() != 1000 || e.RaiseTo.Tokens != 2000 {
		t.Fatalf("%+v", e)
	}
	b := bob.pause()
	w.round()
	a := ada.pause()
	w.round()
	if !a.Open() || !b.Open() || len(w.l.Pending()) != 2 {
		t.Fatalf("%+v %+v", a, b)
	}
	w.decide(verdict(w.request(b.Key), true), operator)
	w.round()
	ada.do(func() ([]journal.Draft, error) { return ada.w.Unpause(ada.lead), nil })
	if a.Open() || ada.w.Over(ada.lead) != nil || bob.w.Over(bob.lead) != nil {
		t.Errorf("%+v", a)
	}
	w.round()
	if n := len(w.l.Pending()); n != 0 {
		t.Errorf("%d requests are open", n)
	}
	w.checkFolds(t, ada)
	w.checkFolds(t, bob)
}

// TestBudgetIsWagglesOwn: no agent asks for a budget, and a record that says so outside of its kind
// is refused.
func TestBudgetIsWagglesOwn(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	one := usd(1)
	w.budgets(record.Budgets{Team: &one})
	forged := record.Ask{Tool: "Budget", Input: `{"scope":"team","raise_to":{"usd":99}}`, Cwd: "/work"}
	if _, err := m.try(func() (ds []journal.Draft, err error) {
		_, ds, err = m.w.Ask(tool, forged, m.lead, m.mint())
		return ds, err
	}); err == nil {
		t.Error("an agent asked for a budget")
	}
	for what, b := range map[string]record.Asked{
		"another tool":   {Key: record.Key{Instance: m.instance, Kind: tool, ID: "perm-1"}, Ask: bash},
		"another digest": {Key: record.Key{Instance: m.instance, Kind: tool, ID: "perm-1"}, Ask: forged, Digest: "00"},
	} {
		if _, err := m.try(drafting(record.KindPaused, b)); err == nil {
			t.Errorf("%s was folded", what)
		}
	}
}

// TestLimited: a usage limit leaves the turn open and its work with it, over a crash, until the turn
// ends.
func TestLimited(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	until := w.now.Add(time.Hour)
	m.do(func() ([]journal.Draft, error) { return m.w.Limit(until, "five_hour") })
	m.boot()
	if at, ok := m.w.LimitedUntil(w.now); !ok || !at.Equal(until) || m.w.Turn() == nil || m.w.Turn().Task != "1" {
		t.Errorf("%v %v, turn %+v", at, ok, m.w.Turn())
	}
	if _, ok := m.w.LimitedUntil(until); ok {
		t.Error("limited at its end")
	}
	m.idle()
	if _, ok := m.w.LimitedUntil(w.now); ok || m.w.Limited != nil {
		t.Error("limited after its turn")
	}
	if _, err := m.w.Limit(until, ""); !errors.Is(err, control.ErrNoTurn) {
		t.Error(err)
	}
	w.round()
	w.checkFolds(t, m)
}

// TestBrake: a team for which nobody set a budget asks once, for the whole team; allowed it never asks
// again, denied it is a budget that is used up, and any budget that is set takes its place. What costs
// nothing never reaches it.
func TestBrake(t *testing.T) {
	for _, tc := range []string{"allowed", "raised", "denied"} {
		w, m := working(t, record.PolicySet{}, false)
		bob := w.join("bob", false)
		bob.boot()
		brake := usd(20)
		w.budgets(record.Budgets{Brake: &brake})
		m.use(0, 1e9)
		m.use(19.99, 0)
		if c := m.pause(); c != nil {
			t.Fatalf("asked below the brake: %+v", c)
		}
		m.use(0.02, 0)
		c := m.pause()
		w.round()
		w.round()
		if want := `"used":{"usd":20.01,"tokens":1000000000,"source":"reported"},"raise_to":{}}`; !strings.Contains(c.Ask.Input, want) || !strings.HasPrefix(c.Ask.Input, `{"scope":"brake","limit":{"usd":20},`) {
			t.Errorf("%s", c.Ask.Input)
		}
		if !strings.Contains(c.Ask.Reason, "nobody set a budget, and the team has used $20 ($20.01,") || !strings.Contains(c.Ask.Reason, "budget set") {
			t.Error(c.Ask.Reason)
		}
		if e := bob.w.Over(bob.lead); e == nil || e.Scope != record.ScopeBrake {
			t.Errorf("another member goes on: %+v", e)
		}
		v := verdict(w.request(c.Key), tc != "denied")
		if tc == "raised" {
			v.UpdatedInput = `{"scope":"brake","raise_to":{"usd":50}}`
		}
		if out := w.decide(v, operator); !out.Changed {
			t.Fatalf("%+v", out)
		}
		w.round()
		if broke := m.w.Broke(m.lead) != nil; broke != (tc == "denied") {
			t.Errorf("%s: broke is %v", tc, broke)
		}
		m.use(20, 0)
		if over := m.w.Over(m.lead) != nil; over != (tc == "denied") {
			t.Errorf("%s: over is %v at $40", tc, over)
		}
		m.use(20, 0)
		if over := m.w.Over(m.lead) != nil; over == (tc == "allowed") {
			t.Errorf("%s: over is %v at $60", tc, over)
		}
		w.checkFolds(t, m)
		much := usd(1000)
		w.budgets(record.Budgets{Team: &much})
		w.round()
		if e := m.w.Over(m.lead); e != nil || w.l.Budgets().Brake != nil {
			t.Errorf("%s: the brake holds beside a budget: %+v", tc, e)
		}
	}
}
