package control_test

import (
	"testing"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// escalate passes a question on.
func (w *world) escalate(r *control.Request, by policy.Role, writer journal.Writer) control.Outcome {
	w.t.Helper()
	var out control.Outcome
	w.do(writer, func() (ds []journal.Draft, err error) {
		out, err = w.l.Escalate(r.Key, r.Digest, by, "over my head", writer)
		return out.Drafts, err
	})
	return out
}

// TestEscalate: only the operator answers an escalated request, whatever decider the policy names;
// a request is escalated once, by a principal that may.
func TestEscalate(t *testing.T) {
	set := func(d policy.Decider) record.PolicySet {
		return record.PolicySet{Policy: policy.Policy{Allow: policy.MustRules("Bash(go vet:*)")}, Decide: record.Deciders{policy.GateTool: d, policy.GatePlan: d},
			Lead: &policy.Policy{Allow: policy.MustRules("Bash(go test:*)")}}
	}
	w, _, r := asked(t, set(policy.DecideLeader), tool, bash)
	if got := w.l.PendingForLead(); len(got) != 1 || got[0] != r {
		t.Fatalf("the lead is asked %v", got)
	}
	refused[*control.RefusedError](t, w.escalate(r, policy.RoleWorker, w.lead()).Refusal, "passes nothing on")
	refused[*control.RefusedError](t, w.escalate(r, policy.RoleOperator, w.lead()).Refusal, "another's name")
	refused[*control.RefusedError](t, w.escalate(r, policy.RoleLeader, operator).Refusal, "another's name")
	bad := *r
	bad.Digest = "0123456789abcdef"
	refused[*control.DigestError](t, w.escalate(&bad, policy.RoleLeader, w.lead()).Refusal, "look at it again")
	if out := w.escalate(r, policy.RoleLeader, w.lead()); !out.Changed || out.Refusal != nil {
		t.Fatalf("%+v", out)
	}
	n := len(w.mem.Records())
	if out := w.escalate(r, policy.RoleLeader, w.lead()); out.Changed || out.Refusal != nil || len(w.mem.Records()) != n {
		t.Errorf("again: %+v", out)
	}
	v := verdict(r, true)
	v.By = policy.RoleLeader
	refused[*control.RefusedError](t, w.decide(v, w.lead()).Refusal, "decided by operator")
	if len(w.l.PendingForLead()) != 0 || r.Escalated == nil || r.Escalated.Reason != "over my head" {
		t.Errorf("asked %d, %+v", len(w.l.PendingForLead()), r.Escalated)
	}
	if out := w.decide(verdict(r, true), operator); !out.Changed {
		t.Errorf("%+v", out)
	}
	if out := w.escalate(r, policy.RoleOperator, operator); out.Refusal == nil {
		t.Error("a decided question is passed on")
	}

	// After an escalation to the operator, rules and auto do not decide the request.
	_, _, r = asked(t, set(policy.DecideAuto), plan, record.Ask{Plan: "one"})
	if r.Decided == nil {
		t.Fatal("auto did not decide")
	}
	w, m := working(t, set(policy.DecideAuto), true)
	k := m.ask(plan, record.Ask{Plan: "one"})
	m.flush()
	w.see(w.box.entries[len(w.box.entries)-1])
	r = w.request(k)
	w.escalate(r, policy.RoleOperator, operator)
	w.now = w.now.Add(time.Hour)
	if due := w.l.Due(w.now); len(due) != 0 {
		t.Errorf("due: %+v", due)
	}
	w, _, r = asked(t, set(policy.DecideTwo), tool, bash)
	refused[*control.RefusedError](t, w.escalate(r, policy.RoleLeader, w.lead()).Refusal, "takes two")
}

// A record of an escalation that its writer had no right to has no effect.
func TestEscalationsThatAreIgnored(t *testing.T) {
	w, _, r := asked(t, record.PolicySet{Decide: record.Deciders{policy.GateTool: policy.DecideLeader}}, tool, bash)
	good := record.Decided{Key: r.Key, Digest: r.Digest, Decision: record.DecisionEscalate, By: policy.RoleLeader, Policy: 1}
	for name, c := range map[string]struct {
		by     journal.Writer
		change func(*record.Decided)
	}{
		"by a worker's name": {w.lead(), func(d *record.Decided) { d.By = policy.RoleWorker }},
		"in another's name":  {operator, func(*record.Decided) {}},
		"another digest":     {w.lead(), func(d *record.Decided) { d.Digest = "x" }},
		"no such request":    {w.lead(), func(d *record.Decided) { d.ID = "perm-0" }},
	} {
		d, n := good, len(w.l.Ignored)
		c.change(&d)
		if w.append(c.by, record.KindVoted, d); len(w.l.Ignored) != n+1 || r.Escalated != nil {
			t.Errorf("%s: %+v", name, r.Escalated)
		}
	}
	if w.append(w.lead(), record.KindVoted, good); r.Escalated == nil {
		t.Error("the real one has no effect")
	}
}

// TestOnePromptForAHost: one answer about a host goes to everybody in the member
// who waits for it, each by its own id; other hosts, ports and members still wait.
func TestOnePromptForAHost(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	bob := w.join("bob", false)
	w.assign(bob, record.Task{ID: "2"})
	w.round()
	bob.take()
	first := m.ask(host, record.Ask{Host: "x.org", Port: "443", Reason: "to fetch"})
	if twice := m.ask(host, record.Ask{Host: "x.org", Port: "443", Reason: "to fetch more"}); twice != first {
		t.Errorf("two prompts for one host: %s and %s", first.ID, twice.ID)
	}
	twin := m.ask(host, record.Ask{Host: "X.org", Port: "443"}) // other bytes, the same host
	other := m.ask(host, record.Ask{Host: "x.org", Port: "80"})
	peer := bob.ask(host, record.Ask{Host: "x.org", Port: "443"})
	w.round()
	if out := w.decide(verdict(w.request(first), true), operator); !out.Changed || out.Request.Key != first {
		t.Fatalf("%+v", out)
	}
	w.round()
	for k, want := range map[record.Key]bool{first: true, twin: true, other: false, peer: false} {
		r := w.request(k)
		if got := r.Decided != nil; got != want {
			t.Errorf("%s %s:%s decided %t, want %t", r.Instance, r.Ask.Host, r.Ask.Port, got, want)
		}
		c, ok := m.w.Call(k)
		if ok && c.Open() == want || r.Decided != nil && r.Decided.Digest != r.Digest {
			t.Errorf("%s: %+v", k.ID, c)
		}
	}
	a, b := w.request(first).Order.Mail, w.request(twin).Order.Mail
	if a.SHA256 == b.SHA256 || string(a.Envelope) == string(b.Envelope) {
		t.Error("two answers are one message")
	}
	env, err := b.Open()
	if err != nil || len(env.MsgID) != 36 || protocol.Decode(env).Kind != protocol.KindSandboxPermissionResponse {
		t.Errorf("%+v, %v", env, err)
	}
	if len(w.l.Ignored) > 0 {
		t.Errorf("%v", w.l.Ignored)
	}
}

// TestLeadSetsModes: a lead sets a member's mode within its own, and no operator's
// narrower policy after that.
func TestLeadSetsModes(t *testing.T) {
	w, m := working(t, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}, Lead: &policy.Policy{Mode: policy.ModeAcceptEdits}}, false)
	w.setMode(m, policy.ModeBypassPermissions, policy.RoleLeader, w.lead())
	w.round()
	if got := m.mode(); got != policy.ModeAcceptEdits {
		t.Errorf("a lead up to acceptEdits made it %s", got)
	}
	w.setMode(m, policy.ModeLockedDown, policy.RoleLeader, w.lead())
	w.round()
	if got := m.mode(); got != policy.ModeLockedDown {
		t.Errorf("narrowed to %s", got)
	}
	w.setMode(m, policy.ModeAcceptEdits, policy.RoleLeader, w.lead())
	w.setPolicy(policy.Policy{Mode: policy.ModeSafe})
	w.round()
	if got := m.mode(); got != policy.ModeSafe {
		t.Errorf("after the operator's safe it is %s", got)
	}
	plain, n := working(t, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}}, false)
	plain.setMode(n, policy.ModeAcceptEdits, policy.RoleLeader, plain.lead())
	plain.round()
	if got := n.mode(); got != policy.ModeDefault {
		t.Errorf("a lead without a ceiling of its own made it %s", got)
	}
}
