package control_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// working is a world with one member that has a turn.
func working(t *testing.T, p record.PolicySet, planRequired bool) (*world, *member) {
	t.Helper()
	w := newWorld(t, p, nil)
	m := w.join("ada", planRequired)
	w.assign(m, record.Task{ID: "1", Subject: "Test", Instructions: "go test ./..."})
	w.round()
	m.take()
	return w, m
}

func (m *member) is(t *testing.T, want machine.State) {
	t.Helper()
	if got := m.w.State(); got != want {
		t.Errorf("worker is %s, want %s", got, want)
	}
}

func refused[E error](t *testing.T, err error, words string) {
	t.Helper()
	var want E
	if !errors.As(err, &want) || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want %T with %q", err, want, words)
	}
}

func TestAllowedCallRunsOnce(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	k := m.ask(tool, bash)
	m.is(t, machine.BlockedPermission)
	if err := m.start(k); err == nil {
		t.Fatal("started before it was allowed")
	}
	w.round()
	r := w.request(k)
	if out := w.decide(verdict(r, true), operator); !out.Changed {
		t.Fatalf("%+v", out)
	}
	w.round()
	m.is(t, machine.Executing)
	testenv.Must(t, m.start(k))
	refused[*control.GrantError](t, m.start(k), "used already")
	m.finish(k)
	m.finish(k) // it changes nothing
	refused[*control.GrantError](t, m.start(k), "used already")
	if r.State != machine.RequestClosed || r.Closed != record.KindAnswered {
		t.Errorf("request is %s (%s)", r.State, r.Closed)
	}
	// The next call asks the same: it is a question of its own.
	if again := m.ask(tool, bash); again == k {
		t.Error("a used grant was given again")
	}
}

// The gate wait ends: the agent is told to retry, the question stays open, and
// the approval that comes late is a grant for the same question (trust §3).
func TestGateWait(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	k := m.ask(tool, bash)
	m.do(func() ([]journal.Draft, error) { return m.w.StopWaiting(k, "retry when approved"), nil })
	m.is(t, machine.Executing)
	if c, _ := m.w.Call(k); !c.Open() || c.Answer.Decision != record.DecisionDeny {
		t.Fatalf("%+v", c)
	}
	// A second ask waits for the first request; nothing is sent twice.
	if again := m.ask(tool, bash); again != k {
		t.Errorf("asked anew as %s", again.ID)
	}
	m.is(t, machine.BlockedPermission)
	if n := len(m.w.Outbox); n != 1 {
		t.Errorf("%d messages are on record", n)
	}
	m.do(func() ([]journal.Draft, error) { return m.w.StopWaiting(k, "retry when approved"), nil })
	if ds := m.w.StopWaiting(k, "x"); ds != nil {
		t.Error("nobody waits, and somebody stopped")
	}
	w.answered(k, true)
	m.is(t, machine.Executing)
	if err := m.start(k); err != nil {
		t.Fatalf("a late approval cannot be claimed: %v", err)
	}
}

func TestGrantIsForTheSameQuestionAndForAWhile(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	k := m.ask(tool, bash)
	w.answered(k, true)
	other := bash
	other.Input = `{"command":"go test ./... "}`
	if m.ask(tool, other) == k {
		t.Error("another input claims the grant")
	}
	if m.ask(tool, bash) != k {
		t.Error("the same question does not claim its grant")
	}
	w.now = w.now.Add(time.Hour)
	refused[*control.GrantError](t, m.start(k), "in time")
	if m.ask(tool, bash) == k {
		t.Error("an old grant is claimed")
	}
}

// Start checks again everything that may have changed since the answer.
func TestStartLooksAgain(t *testing.T) {
	for name, c := range map[string]struct {
		policy record.PolicySet
		change func(*testing.T, *world, *member)
		words  string
	}{
		"a deny rule": {change: func(t *testing.T, w *world, m *member) {
			w.setPolicy(policy.Policy{Deny: policy.MustRules("Bash(go test:*)")})
		}, words: "deny Bash(go test:*)"},
		"the mode of the team": {change: func(t *testing.T, w *world, m *member) {
			w.setPolicy(policy.Policy{Mode: policy.ModeLockedDown})
		}, words: "mode locked-down"},
		"the member's mode": {change: func(t *testing.T, w *world, m *member) {
			w.setMode(m, policy.ModePlan, policy.RoleLeader, w.lead())
		}, words: "mode plan"},
		"another process": {change: func(t *testing.T, w *world, m *member) {
			w.append(journal.Writer{Instance: string(m.instance)}, record.KindProcess, record.Process{Instance: m.instance, Epoch: m.epoch + 1})
		}, words: "no longer the member's"},
		"it has left": {change: func(t *testing.T, w *world, m *member) {
			w.command(m, func(lm *control.Member) ([]journal.Draft, error) { return w.l.Let(lm, record.LeftStopped, ""), nil })
		}, words: "no longer the member's"},
		"a rule that is gone": {
			policy: record.PolicySet{Policy: policy.Policy{Allow: policy.MustRules("Bash(go test:*)")}},
			change: func(t *testing.T, w *world, m *member) { w.setPolicy(policy.Policy{}) }, words: "no rule"},
	} {
		t.Run(name, func(t *testing.T) {
			w, m := working(t, c.policy, false)
			k := m.ask(tool, bash)
			w.round()
			if r, ok := w.l.Request(k); ok {
				w.decide(verdict(r, true), operator)
				w.round()
			}
			c.change(t, w, m)
			refused[*control.GrantError](t, m.start(k), c.words)
		})
	}
}

func (w *world) setPolicy(p policy.Policy) {
	w.t.Helper()
	w.do(operator, func() ([]journal.Draft, error) {
		set := w.l.Policy
		set.Policy = p
		return w.l.SetPolicy(set, operator, w.mint())
	})
}

func (w *world) setMode(m *member, mode policy.Mode, by policy.Role, writer journal.Writer) {
	w.t.Helper()
	w.do(writer, func() ([]journal.Draft, error) {
		lm, _ := w.l.ByInstance(m.instance)
		return w.l.SetMode(lm, mode, by, writer, w.mint())
	})
}

func TestStartWhileShuttingDown(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	k := m.ask(tool, bash)
	w.round()
	w.decide(verdict(w.request(k), true), operator)
	w.shutdown(m, policy.RoleOperator)
	w.round()
	m.is(t, machine.ShuttingDown)
	if err := m.start(k); !errors.Is(err, control.ErrShuttingDown) {
		t.Errorf("start while shutting down: %v", err)
	}
	if _, _, err := m.w.Ask(tool, bash, m.lead, m.mint()); !errors.Is(err, control.ErrShuttingDown) {
		t.Errorf("question while shutting down: %v", err)
	}
	m.answer(false)
	m.is(t, machine.Executing)
	if err := m.start(k); err != nil {
		t.Errorf("a rejected shutdown does not reopen the gate: %v", err)
	}
}

func (w *world) shutdown(m *member, by policy.Role) {
	w.t.Helper()
	w.command(m, func(lm *control.Member) ([]journal.Draft, error) { return w.l.AskShutdown(lm, "done", by, w.mint()) })
}

func (m *member) answer(yes bool) {
	m.t.Helper()
	m.do(func() ([]journal.Draft, error) {
		return m.w.AnswerShutdown(yes, "busy", control.Shown{Pane: "%7", Backend: "tmux"}, m.lead, m.mint())
	})
}

func TestNothingOutsideATurn(t *testing.T) {
	w := newWorld(t, record.PolicySet{Policy: policy.Policy{Allow: policy.MustRules("Bash")}}, nil)
	m := w.join("ada", false)
	if _, _, err := m.w.Ask(tool, bash, m.lead, m.mint()); !errors.Is(err, control.ErrNoTurn) {
		t.Errorf("question of an idle worker: %v", err)
	}
	w.assign(m, record.Task{ID: "1"})
	w.round()
	m.take()
	k := m.ask(tool, bash)
	m.idle()
	if err := m.start(k); !errors.Is(err, control.ErrNoTurn) {
		t.Errorf("start after the turn: %v", err)
	}
}

func TestPlanIsAGate(t *testing.T) {
	w, m := working(t, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeBypassPermissions}}, true)
	m.is(t, machine.PlanProposed)
	// Reads are allowed and everything else is not, whatever the team's mode.
	read := m.ask(tool, record.Ask{Tool: "Read", Input: `{"file_path":"a.go"}`, Cwd: "/work"})
	if err := m.start(read); err != nil {
		t.Errorf("reading while planning: %v", err)
	}
	cat := m.ask(tool, record.Ask{Tool: "Bash", Input: `{"command":"cat a.go | head -3"}`, Cwd: "/work"})
	if err := m.start(cat); err != nil {
		t.Errorf("reading by the shell while planning: %v", err)
	}
	outside := m.ask(tool, record.Ask{Tool: "Bash", Input: `{"command":"cat /etc/hostname"}`, Cwd: "/work"})
	w.answered(outside, true)
	if err := m.start(outside); err != nil {
		t.Errorf("reading outside while planning, with the operator's yes: %v", err)
	}
	list := m.ask(tool, record.Ask{Tool: "TaskList", Input: `{}`, Cwd: "/work"})
	if err := m.start(list); err != nil {
		t.Errorf("looking at the tasks while planning: %v", err)
	}
	write := record.Ask{Tool: "Write", Input: `{"file_path":"a.go","content":""}`, Cwd: "/work"}
	for _, a := range []record.Ask{write, {Tool: "Bash", Input: `{"command":"cat a.go > b"}`, Cwd: "/work"}, {Tool: "Bash", Input: `{"command":"make"}`, Cwd: "/work"}} {
		k := m.ask(tool, a)
		if err := m.start(k); err == nil {
			t.Errorf("%s before the plan was approved", a.Input)
		}
	}
	first := m.ask(plan, record.Ask{Plan: "one"})
	w.answered(first, false)
	m.is(t, machine.PlanProposed)
	second := m.ask(plan, record.Ask{Plan: "one"}) // equal text gets a new id too (W5)
	if second == first {
		t.Fatal("a rejected plan was not asked anew")
	}
	w.answered(second, true)
	m.is(t, machine.Executing)
	if err := m.start(m.ask(tool, write)); err != nil {
		t.Errorf("after the plan was approved: %v", err)
	}
	if again := m.ask(plan, record.Ask{Plan: "one"}); again != second {
		t.Error("the plan that is carried out was asked again")
	}
	m.is(t, machine.Executing)
	// Another plan closes the gate again, though none was required, and for what was allowed before it too.
	before := m.ask(tool, record.Ask{Tool: "Bash", Input: `{"command":"make"}`, Cwd: "/work"})
	m.ask(plan, record.Ask{Plan: "two"})
	m.is(t, machine.PlanProposed)
	refused[*control.GrantError](t, m.start(before), "plan is not approved")
}

// A start before the approval of the plan is on record only with a tool that reads by its name, or with what the
// rules found of the call.
func TestStartedWhilePlanning(t *testing.T) {
	for _, reads := range []bool{false, true} {
		_, m := working(t, record.PolicySet{}, true)
		k := m.ask(tool, record.Ask{Tool: "Bash", Input: `{"command":"ls"}`, Cwd: "/work"})
		c, _ := m.w.Call(k)
		err := m.w.Apply(recordOf(t, 1000, record.KindStarted, m.writer(), record.Started{Key: k, Digest: c.Digest, Tool: "Bash", Task: m.w.Turn().Task, Reads: reads}))
		if (err == nil) != reads || err != nil && !strings.Contains(err.Error(), "before the plan was approved") {
			t.Errorf("reads %t: %v", reads, err)
		}
	}
}

// A newer plan withdraws those before it; an approval of an older one has no effect, whenever it
// comes.
func TestOldPlanIsWithdrawn(t *testing.T) {
	for name, when := range map[string]int{"decided before": 0, "decided between": 1, "decided after": 2} {
		t.Run(name, func(t *testing.T) {
			w, m := working(t, record.PolicySet{}, true)
			old := m.ask(plan, record.Ask{Plan: "one"})
			w.round()
			m.do(func() ([]journal.Draft, error) { return m.w.StopWaiting(old, "retry"), nil })
			approve := func(at int) {
				if when == at {
					w.decide(verdict(w.request(old), true), operator)
					w.deliver()
				}
			}
			approve(0)
			next := m.ask(plan, record.Ask{Plan: "two"})
			if next == old {
				t.Fatal("another plan has the same id")
			}
			approve(1)
			for _, m := range w.members {
				m.flush()
			}
			w.pass()
			approve(2)
			w.round()
			m.is(t, machine.PlanProposed)
			r := w.request(old)
			if when == 2 {
				refused[*control.RefusedError](t, w.decide(verdict(r, true), operator).Refusal, "withdrawn")
			}
			if r.State != machine.RequestClosed || r.Closed != "withdrawn" {
				t.Errorf("the old plan is %s (%s)", r.State, r.Closed)
			}
			if again := m.ask(plan, record.Ask{Plan: "two"}); again != next {
				t.Error("the open plan was asked twice")
			}
			w.decide(verdict(w.request(next), true), operator)
			w.round()
			m.is(t, machine.Executing)
		})
	}
}

func TestLatePlanIsClaimedByTheSamePlan(t *testing.T) {
	w, m := working(t, record.PolicySet{}, true)
	k := m.ask(plan, record.Ask{Plan: "one"})
	w.round()
	m.do(func() ([]journal.Draft, error) { return m.w.StopWaiting(k, "retry"), nil })
	w.decide(verdict(w.request(k), true), operator)
	w.round()
	m.is(t, machine.PlanProposed) // it never runs by itself
	if m.ask(plan, record.Ask{Plan: "one"}) != k {
		t.Error("the approved plan was asked again")
	}
	m.is(t, machine.Executing)
}

// An unclaimed approval is void once another plan was proposed.
func TestReplacedPlanCannotBeClaimed(t *testing.T) {
	w, m := working(t, record.PolicySet{}, true)
	old := m.ask(plan, record.Ask{Plan: "one"})
	w.round()
	m.do(func() ([]journal.Draft, error) { return m.w.StopWaiting(old, "retry"), nil })
	w.decide(verdict(w.request(old), true), operator)
	w.round()
	m.ask(plan, record.Ask{Plan: "two"})
	if m.ask(plan, record.Ask{Plan: "one"}) == old {
		t.Error("the approval of a plan that was replaced is claimed")
	}
	m.is(t, machine.PlanProposed)
}

func TestPlanOfOtherWork(t *testing.T) {
	w, m := working(t, record.PolicySet{}, true)
	k := m.ask(plan, record.Ask{Plan: "one"})
	w.round()
	m.do(func() ([]journal.Draft, error) { return m.w.StopWaiting(k, "retry"), nil })
	m.idle()
	w.decide(verdict(w.request(k), true), operator)
	w.assign(m, record.Task{ID: "2"})
	w.round()
	m.take()
	if m.ask(plan, record.Ask{Plan: "one"}) == k {
		t.Error("a plan for one task was approved for another")
	}
	m.is(t, machine.PlanProposed)
}

// A process that ends while it waits leaves its question open. The answer that
// comes before it is asked again is claimed by the next process, once.
func TestRestartWhileBlocked(t *testing.T) {
	for name, q := range map[string]struct {
		kind protocol.Kind
		ask  record.Ask
		in   machine.State
	}{
		"tool":    {tool, bash, machine.BlockedPermission},
		"plan":    {plan, record.Ask{Plan: "one"}, machine.PlanProposed},
		"network": {host, record.Ask{Host: "x.org"}, machine.BlockedSandbox},
	} {
		for _, asks := range []bool{false, true} { // before the answer comes
			t.Run(name, func(t *testing.T) {
				w, m := working(t, record.PolicySet{}, q.kind == plan)
				k := m.ask(q.kind, q.ask)
				w.round()
				m.boot()
				m.is(t, q.in)
				if asks && m.ask(q.kind, q.ask) != k {
					t.Error("asked anew after a restart")
				}
				w.decide(verdict(w.request(k), true), operator)
				w.round()
				if m.ask(q.kind, q.ask) != k && (q.kind != host || !asks) {
					t.Error("the answer that came is not claimed")
				}
				if q.kind == plan || q.kind == tool {
					m.is(t, machine.Executing)
				}
				if q.kind == tool {
					if err := m.start(k); err != nil {
						t.Error(err)
					}
					m.boot()
					if c, _ := m.w.Call(k); !c.Unknown {
						t.Error("its end is known")
					}
					if ds := m.w.Lost("again"); ds != nil {
						t.Error("lost twice")
					}
					refused[*control.GrantError](t, m.start(k), "used already")
				}
			})
		}
	}
}

// A process that takes a turn up again gets answers from the record for calls that ran, were denied
// or were opened, and asks those that are open (trust §3).
func TestReplay(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	deny := record.Ask{Tool: "Bash", Input: `{"command":"git push"}`, Cwd: "/work"}
	open := record.Ask{Tool: "Bash", Input: `{"command":"make"}`, Cwd: "/work"}
	x := record.Ask{Host: "x.org"}
	var keys []record.Key
	for _, q := range []struct {
		kind  protocol.Kind
		ask   record.Ask
		allow bool
	}{{tool, bash, true}, {tool, deny, false}, {host, x, true}} {
		k := m.ask(q.kind, q.ask)
		w.answered(k, q.allow)
		keys = append(keys, k)
	}
	w.must(m.start(keys[0]))
	k := m.ask(tool, open)
	past := map[record.Key]bool{}
	if c := m.w.Replay(tool, bash, past); c != nil {
		t.Error("the same process is answered from the record")
	}
	m.boot()
	for i, q := range []struct {
		kind protocol.Kind
		ask  record.Ask
	}{{tool, bash}, {tool, deny}, {host, x}} {
		c := m.w.Replay(q.kind, q.ask, past)
		if c == nil || c.Key != keys[i] {
			t.Fatalf("%v: %+v", q, c)
		}
		past[c.Key] = true
		if m.w.Replay(q.kind, q.ask, past) != nil {
			t.Errorf("%v was replayed twice", q)
		}
	}
	if m.w.Replay(tool, open, past) != nil || m.ask(tool, open) != k {
		t.Error("what is open is not asked again")
	}
	m.idle()
	if m.w.Replay(tool, bash, nil) != nil {
		t.Error("replayed outside a turn")
	}
	w.assign(m, record.Task{ID: "2"})
	w.round()
	m.take()
	if m.w.Replay(tool, bash, nil) != nil || m.w.Planning() {
		t.Error("another turn is answered from the record")
	}
}

func TestNetworkQuestions(t *testing.T) {
	rules := policy.Policy{Allow: policy.MustRules("WebFetch(domain:good.org)"), Deny: policy.MustRules("WebFetch(domain:bad.org)")}
	in := func(mode policy.Mode) policy.Policy { p := rules; p.Mode = mode; return p }
	for _, c := range []struct {
		name, host, port string
		policy           policy.Policy
		plan             bool
		want             string // "" asks
	}{
		{"a rule", "good.org", "", rules, false, "allow"},
		{"a rule and a port", "good.org", "443", rules, false, "allow"},
		{"no rule", "else.org", "", rules, false, ""},
		{"denied", "bad.org", "", rules, false, "deny"},
		{"denied below", "x.bad.org", "443", rules, false, "deny"},
		{"no mode opens it", "else.org", "", in(policy.ModeBypassPermissions), false, ""},
		{"silent", "else.org", "", in(policy.ModeDontAsk), false, "deny"},
		{"silent, a rule", "good.org", "", in(policy.ModeDontAsk), false, "allow"},
		{"locked", "good.org", "", in(policy.ModeLockedDown), false, "deny"},
		{"planning asks", "good.org", "", rules, true, ""},
		{"planning, denied", "bad.org", "", rules, true, "deny"},
		{"a user in front", "x@good.org", "", rules, false, ""},
		{"a path behind", "good.org/x", "", rules, false, ""},
		{"a fragment", "good.org#.evil.org", "", rules, false, ""},
		{"a port in the name", "good.org:1", "2", rules, false, ""},
		{"upper case", "GOOD.org", "", rules, false, "allow"},
		{"an address", "::1", "443", rules, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, m := working(t, record.PolicySet{Policy: c.policy}, c.plan)
			k := m.ask(host, record.Ask{Host: c.host, Port: c.port})
			got := ""
			if call, _ := m.w.Call(k); call.Answer != nil {
				got = call.Answer.Decision
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", c.host, got, c.want)
			}
			if got != "" {
				return
			}
			w.answered(k, true)
			p := protocol.DecodeText(m.box.entries[len(m.box.entries)-1].env.Text).Payload.(protocol.SandboxPermissionResponse)
			asked := protocol.DecodeText(w.box.entries[len(w.box.entries)-1].env.Text).Payload.(protocol.SandboxPermissionRequest)
			if p.Host != asked.HostPattern.Host || !p.Allow {
				t.Errorf("asked for %q, answered for %q", asked.HostPattern.Host, p.Host)
			}
			if m.ask(host, record.Ask{Host: c.host, Port: c.port}) == k {
				t.Error("one answer opens the network twice")
			}
		})
	}
}

// A request that does not fit into the journal and into a message is refused when it is asked,
// because it could never be answered.
func TestQuestionsNobodyCouldAnswer(t *testing.T) {
	_, m := working(t, record.PolicySet{}, false)
	for name, q := range map[string]struct {
		kind protocol.Kind
		ask  record.Ask
	}{
		"bytes in a path": {tool, record.Ask{Tool: "Bash", Input: bash.Input, Cwd: "/work/\xff"}},
		"bytes in a plan": {plan, record.Ask{Plan: "\xff"}},
		"too long":        {plan, record.Ask{Plan: strings.Repeat("x", protocol.MaxText)}},
		"no plan":         {plan, record.Ask{}},
		"a space behind":  {tool, record.Ask{Tool: "Bash", Input: bash.Input + " ", Cwd: "/work"}},
		"no question":     {protocol.KindIdleNotification, record.Ask{}},
	} {
		if _, ds, err := m.w.Ask(q.kind, q.ask, m.lead, m.mint()); err == nil || ds != nil {
			t.Errorf("%s: asked", name)
		}
	}
	k := m.ask(tool, record.Ask{Tool: "Bash", Input: `{"command":"a","command":"b"}`, Cwd: "/work"})
	if c, _ := m.w.Call(k); c.Answer == nil || c.Answer.Decision != record.DecisionDeny || c.Answer.By != policy.RoleRules {
		t.Errorf("an input with a key twice: %+v", c.Answer)
	}
	mint := m.mint()
	m.do(func() ([]journal.Draft, error) {
		_, ds, err := m.w.Ask(tool, bash, m.lead, mint)
		return ds, err
	})
	other := bash
	other.Cwd = "/else"
	if _, _, err := m.w.Ask(tool, other, m.lead, mint); err == nil {
		t.Error("two questions of one id")
	}
}

func TestReadOnlyIsWhatPlanModeAllows(t *testing.T) {
	plan := policy.Policy{Mode: policy.ModePlan}
	for _, name := range []string{"Read", "NotebookRead", "Glob", "Grep", "LS", "TaskList", "TaskGet", "ListAgents", "EnterPlanMode", "ExitPlanMode",
		"Write", "Edit", "MultiEdit", "NotebookEdit", "Bash", "WebFetch", "WebSearch", "Task", "Agent", "SendMessage", "TaskCreate", "TodoWrite", "mcp__x__y", "", "read"} {
		v := plan.Judge(policy.Call{Tool: name, Input: []byte(`{"file_path":"a","notebook_path":"a","path":"a","pattern":"*"}`), Cwd: "/work"})
		if got := control.ReadOnly(name); got != (v.Decision != policy.Deny) {
			t.Errorf("%q: read only %t, and plan mode says %s", name, got, v.Decision)
		}
	}
}
