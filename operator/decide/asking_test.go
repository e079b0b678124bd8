package decide_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// terminal answers like a person at a terminal, when the test says so.
type terminal struct {
	mu     sync.Mutex
	asked  map[string]chan decide.Answer // by command
	causes map[string]string
}

func (p *terminal) ask(ctx context.Context, q decide.Request) (decide.Answer, error) {
	p.mu.Lock()
	said := make(chan decide.Answer, 1)
	p.asked[q.Command] = said
	p.mu.Unlock()
	select {
	case a := <-said:
		a.ID, a.Digest = q.ID, q.Digest
		return a, nil
	case <-ctx.Done():
		p.mu.Lock()
		p.causes[q.Command] = context.Cause(ctx).Error()
		p.mu.Unlock()
		return decide.Answer{}, ctx.Err()
	}
}

func (p *terminal) shown(command string) chan decide.Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[command]
}

func (p *terminal) cause(command string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.causes[command]
}

// Put shows each open question on the terminal once. An answer from the terminal is decided; a
// question that is answered elsewhere is taken from the terminal with the reason; End takes away the
// rest.
func TestAsking(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	answers := rig.Asks("ann", operatortest.Bash("make a"), operatortest.Bash("make b"), operatortest.Bash("make c"))
	rig.Pending(3)
	s := rig.State()
	p := &terminal{asked: map[string]chan decide.Answer{}, causes: map[string]string{}}
	a := &decide.Asking{Operator: o, State: s, Ask: p.ask}
	a.End() // before the first Put there is nothing to end
	if a.Replies() != nil {
		t.Error("there are replies before anything was asked")
	}
	for range 2 {
		a.Put(t.Context(), s.Lead.Pending())
	}
	testenv.Eventually(t, "all three are on the screen", func() bool {
		return p.shown("make a") != nil && p.shown("make b") != nil && p.shown("make c") != nil
	})
	p.shown("make a") <- decide.Answer{Allow: true, Via: "prompt", Reason: "fine"}
	reply := <-a.Replies()
	if refused, err := a.Take(t.Context(), reply); refused != "" || err != nil {
		t.Errorf("%q, %v", refused, err)
	}
	if !reply.Answer.Allow || reply.Answer.Via != "prompt" {
		t.Errorf("%+v", reply)
	}

	var b *control.Request
	for _, r := range s.Lead.Pending() {
		if strings.Contains(r.Ask.Input, "make b") {
			b = r
		}
	}
	testenv.Value(o.Decide(t.Context(), "api", []decide.Answer{{ID: string(b.ID), Via: "deny"}}))(t)
	testenv.Must(t, s.Journal.Refresh(t.Context()))
	a.Put(t.Context(), s.Lead.Pending())
	if refused, err := a.Take(t.Context(), <-a.Replies()); refused != "" || err != nil {
		t.Errorf("what was taken away: %q, %v", refused, err)
	}
	if got := p.cause("make b"); got != "deny by operator, from elsewhere (deny)" {
		t.Errorf("it was taken away: %s", got)
	}
	a.End()
	if got := p.cause("make c"); got == "" {
		t.Error("the last question is on the screen after the end")
	}
	if len(p.asked) != 3 {
		t.Errorf("%d were asked", len(p.asked))
	}
	testenv.Value(o.Pass(t.Context(), s))(t)
	for range 2 {
		if got := operatortest.Answer(t, answers); got.Allowed != strings.Contains(got.Input, "make a") {
			t.Errorf("%+v", got)
		}
	}
}

// An answer at the terminal makes the rule that comes with it; a rule that does not cover the call is refused, and nothing is
// decided by that answer.
func TestAskingWithRule(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	answers := rig.Asks("ann", operatortest.Bash("make a"))
	rig.Pending(1)
	s := rig.State()
	p := &terminal{asked: map[string]chan decide.Answer{}, causes: map[string]string{}}
	a := &decide.Asking{Operator: o, State: s, Ask: p.ask}
	take := func(rule string) string {
		t.Helper()
		a.Put(t.Context(), s.Lead.Pending())
		r, err := policy.ParseRule(rule)
		testenv.Must(t, err)
		testenv.Eventually(t, "it is on the screen", func() bool { return p.shown("make a") != nil })
		said := p.shown("make a")
		p.mu.Lock()
		p.asked["make a"] = nil
		p.mu.Unlock()
		said <- decide.Answer{Allow: true, Via: "prompt", Lesson: &decide.Lesson{Rule: r}}
		refused, err := a.Take(t.Context(), <-a.Replies())
		testenv.Must(t, err)
		return refused
	}
	if refused := take("Bash(make b)"); !strings.Contains(refused, "does not cover") || len(s.Lead.Pending()) != 1 {
		t.Fatalf("%q, %d are open", refused, len(s.Lead.Pending()))
	}
	if refused := take("Bash(make a)"); refused != "" {
		t.Fatal(refused)
	}
	a.End()
	testenv.Value(o.Pass(t.Context(), s))(t)
	if got := operatortest.Answer(t, answers); !got.Allowed {
		t.Errorf("%+v", got)
	}
	if rules := rig.State().Lead.Policy.Rules; len(rules) != 1 || rules[0].Rule.String() != "Bash(make a)" {
		t.Errorf("%+v", rules)
	}
}

// The process that leads decides on the team that it has open, and delivers by its next pass.
func TestDecideOpen(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	answers := rig.Asks("ann", operatortest.Bash("make"))
	rig.Pending(1)
	s := rig.State()
	req := s.Lead.Pending()[0]
	if q := o.Request(s, req); q.ID != string(req.ID) || q.Status != decide.StatusOpen {
		t.Errorf("%+v", q)
	}
	d, err := o.DecideOpen(t.Context(), s, decide.Answer{ID: req.Handle, Allow: true, Via: "prompt"})
	if err != nil || !d.Changed || d.Delivered || d.Decision != record.DecisionAllow {
		t.Fatalf("%+v, %v", d, err)
	}
	if q := o.Request(s, req); q.Status != decide.StatusDecided {
		t.Errorf("%+v", q)
	}
	if qs := o.PendingIn(s, false); len(qs) != 0 {
		t.Errorf("%+v", qs)
	}
	rig.Until("it is delivered", func(l *control.Leader) bool {
		r, _ := l.Request(req.Key)
		return r.Order != nil && r.Order.Sent
	})
	if a := operatortest.Answer(t, answers); !a.Allowed {
		t.Errorf("%+v", a)
	}
}

// DecideGroup takes the id of exactly the group that was shown.
func TestDecideGroup(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	answers := rig.Asks("ann", operatortest.Bash("make a"), operatortest.Ask{Host: "x.org:443"})
	more := rig.Asks("bob", operatortest.Bash("make a"))
	rs := rig.Pending(3)
	var host *control.Request
	for _, r := range rs {
		if r.Ask.Host != "" {
			host = r
		}
	}
	g, err := o.ShowGroup(t.Context(), "api", rs[0].Handle)
	if err != nil || g.Count != 2 || !g.Batch || !decide.IsGroup(g.ID) || strings.Join(g.Members, " ") != "ann bob" {
		t.Fatalf("%+v, %v", g, err)
	}
	for _, word := range []string{g.ID, g.Pattern, string(rs[0].ID)} {
		if same, err := o.ShowGroup(t.Context(), "api", word); err != nil || same.ID != g.ID {
			t.Errorf("%s: %+v, %v", word, same, err)
		}
	}
	hosts, err := o.ShowGroup(t.Context(), "api", host.Handle)
	if err != nil || hosts.Batch || !strings.Contains(strings.Join(hosts.Text, " "), "1 asked for a host, 1 different") {
		t.Fatalf("%+v, %v", hosts, err)
	}
	yes := decide.Answer{Allow: true, Via: "approve"}
	for word, want := range map[string]struct {
		code operator.Kind
		says string
	}{
		g.Pattern:            {operator.Usage, "is no group's id"},
		hosts.ID:             {operator.Refused, "never decided by a group"},
		"g-0000000000000000": {operator.NotFound, "no group g-0000000000000000"},
	} {
		_, err := o.DecideGroup(t.Context(), "api", word, yes)
		operatortest.Is(t, word, err, want.code, want.says)
	}
	_, err = o.ShowGroup(t.Context(), "api", "ooo")
	operatortest.Is(t, "nothing", err, operator.NotFound, "nothing that waits")
	// A request that joins makes another group, with another id.
	rig.Asks("eve", operatortest.Bash("make a"))
	rig.Pending(4)
	_, err = o.DecideGroup(t.Context(), "api", g.ID, yes)
	operatortest.Is(t, "a group that has grown", err, operator.NotFound, "is not what was shown any more")
	if g, err = o.ShowGroup(t.Context(), "api", rs[0].Handle); err != nil || g.Count != 3 {
		t.Fatalf("%+v, %v", g, err)
	}
	ds, err := o.DecideGroup(t.Context(), "api", g.ID, yes)
	if err != nil || len(ds) != 3 {
		t.Fatalf("%+v, %v", ds, err)
	}
	lead := rig.State().Lead
	for i, d := range ds {
		if d.Err() != nil || d.Decision != record.DecisionAllow {
			t.Errorf("%+v", d)
		}
		first := lead.RequestsByID(protocol.RequestID(d.ID))[0].Decided.First
		if i == 0 && first != nil || i > 0 && (first == nil || string(first.ID) != ds[0].ID) {
			t.Errorf("%d was answered with %v", i, first)
		}
	}
	if a, b := operatortest.Answer(t, answers), operatortest.Answer(t, more); !a.Allowed || !b.Allowed {
		t.Errorf("%+v, %+v", a, b)
	}
}

// A question past its time has StatusExpired. The question of a member by file has that trust level,
// and Unheld says that only a file speaks for it.
func TestQuestionStatus(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	i := rig.Joined("ann", record.FileTrust)
	past := time.Now().Add(-time.Minute)
	ask := record.Ask{Tool: "Bash", Input: `{"command":"make"}`, Cwd: "/"}
	key := record.Key{Instance: i, Kind: protocol.KindPermissionRequest, ID: "perm-1"}
	s := rig.Write(journal.Draft{Kind: record.KindSeen, Must: true, Body: record.Seen{Entry: "1", Instance: i, Kind: key.Kind, ID: key.ID,
		Digest: record.DigestOf(rig.State().Lead.UID, key, ask), Ask: &ask, Expires: &past, Channel: "file"}})
	r, ok := s.Lead.Request(key)
	if !ok {
		t.Fatal("the request is not on record")
	}
	q := o.Request(s, r)
	if q.Status != decide.StatusExpired || q.File != string(record.FileTrust) || !q.Expires.Equal(past) || !strings.Contains(q.Unheld, "only a file says") {
		t.Errorf("%+v", q)
	}
	for _, c := range []struct{ what, want string }{
		{decide.Describe(protocol.KindPermissionRequest, ask), `Bash {"command":"make"}`},
		{decide.Describe(protocol.KindPermissionRequest, record.Ask{Tool: "Bash", Input: "{"}), "Bash {"},
		{decide.Describe(protocol.KindPlanApprovalRequest, record.Ask{Plan: "x"}), "plan"},
		{decide.Describe(protocol.KindSandboxPermissionRequest, record.Ask{Host: "x.org"}), "network to x.org"},
		{decide.Describe(protocol.KindSandboxPermissionRequest, record.Ask{Host: "x.org", Port: "1"}), "network to x.org:1"},
		{decide.ShownJSON(`{"a":"\u0026\u0007"}`), `{"a":"&\u0007"}`},
		{decide.ShownJSON("{\x07"), `{\x07`},
		{string(decide.RiskOf(nil, r)), string(q.Risk)},
		{string(decide.InputOf(r)), ask.Input},
	} {
		if c.what != c.want {
			t.Errorf("%q, want %q", c.what, c.want)
		}
	}
}

// TestRiskOfTree: a removal is of less risk only where the directory of the call is in the member's own worktree, however
// its path is spelled.
func TestRiskOfTree(t *testing.T) {
	t.Parallel()
	m := &control.Member{Joined: record.Joined{Worktree: &record.Worktree{Path: "/tree"}}}
	for cwd, want := range map[string]policy.Risk{
		"/tree": policy.RiskMedium, "/tree/": policy.RiskMedium, "/tree/a": policy.RiskMedium, "/tree/a/../b": policy.RiskMedium,
		"/tree/../x": policy.RiskHigh, "/tree/a/../..": policy.RiskHigh, "/trees": policy.RiskHigh, "/": policy.RiskHigh, "": policy.RiskHigh,
	} {
		ask := record.Ask{Tool: "Bash", Input: `{"command":"rm -rf build"}`, Cwd: cwd}
		if got := decide.RiskOf(m, &control.Request{Key: record.Key{Kind: protocol.KindPermissionRequest}, Ask: ask}); got != want {
			t.Errorf("in %q: %s, want %s", cwd, got, want)
		}
	}
}
