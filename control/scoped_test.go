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

const network = protocol.KindSandboxPermissionRequest

// set gives the team a policy with these rules and host grants.
func (w *world) set(change func(*record.PolicySet)) {
	w.t.Helper()
	w.do(operator, func() ([]journal.Draft, error) {
		set := w.l.Policy
		change(&set)
		return w.l.SetPolicy(set, operator, w.mint())
	})
	w.round()
}

// ruled is what the rules made of a question: "" when it was asked.
func (m *member) ruled(k record.Key) (decision, rule string) {
	c, _ := m.w.Call(k)
	if c.Answer == nil {
		return "", ""
	}
	return c.Answer.Decision, c.Answer.Rule
}

// A rule from an answer holds for its member and for its time, and Start checks it again.
func TestScopedRule(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	bob := w.join("bob", false)
	w.assign(bob, record.Task{ID: "2", Subject: "Test", Instructions: "go test ./..."})
	w.round()
	bob.take()
	until := w.now.Add(time.Minute)
	w.set(func(p *record.PolicySet) {
		p.Rules = []record.Scoped{{Rule: policy.MustRules("Bash(go test:*)")[0], Instance: m.instance, Until: &until}}
	})
	for _, x := range []*member{m, bob} {
		if x.w.PolicyVersion != w.l.Policy.Policy.Version {
			t.Errorf("%s applied %d", x.name, x.w.PolicyVersion)
		}
	}
	k := m.ask(tool, bash)
	if d, rule := m.ruled(k); d != record.DecisionAllow || rule != "allow Bash(go test:*)" {
		t.Errorf("the member's own rule: %q by %q", d, rule)
	}
	if d, _ := bob.ruled(bob.ask(tool, bash)); d != "" {
		t.Errorf("another member's rule: %q", d)
	}
	w.now = until
	refused[*control.GrantError](t, m.start(k), "no longer allowed")
	later := bash
	later.Input = `{"command":"go test ./x"}`
	if d, _ := m.ruled(m.ask(tool, later)); d != "" {
		t.Errorf("a rule whose time is over: %q", d)
	}
	w.set(func(*record.PolicySet) {})
	if n := len(w.l.Policy.Rules); n != 0 {
		t.Errorf("the next version has %d rules whose time is over", n)
	}
	w.set(func(p *record.PolicySet) {
		p.Policy.Allow = policy.MustRules("Bash(go test:*)")
		p.Rules = []record.Scoped{{Rule: policy.MustRules("Bash(go test:*)")[0], Deny: true, Instance: m.instance}}
	})
	last := bash
	last.Input = `{"command":"go test ./y"}`
	if d, _ := m.ruled(m.ask(tool, last)); d != record.DecisionDeny {
		t.Errorf("a member's own denial: %q", d)
	}
}

func TestHostGrants(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	until := w.now.Add(time.Hour)
	grants := []record.HostGrant{
		{Host: "db.internal", Port: "5432", Instance: m.instance, Until: &until},
		{Host: "*.example.com"},
		{Host: "bad.example.com", Deny: true},
		{Host: "peer.org", Instance: "another"},
	}
	asks := []struct {
		host, port, decision, rule string
		mode                       policy.Mode
	}{
		{"db.internal", "5432", "allow", "allow net db.internal:5432", ""},
		{"db.internal", "22", "", "", ""},
		{"db.internal", "", "", "", ""},
		{"api.example.com", "443", "allow", "allow net *.example.com", ""},
		{"API.Example.com", "80", "allow", "allow net *.example.com", ""},
		{"example.com", "443", "", "", ""},
		{"bad.example.com", "443", "deny", "deny net bad.example.com", ""},
		{"peer.org", "443", "", "", ""},
		{"::1", "443", "", "", ""},
		{"api.example.com", "81", "allow", "allow net *.example.com", policy.ModeDontAsk},
		{"api.example.com", "82", "deny", "mode locked-down", policy.ModeLockedDown},
		{"other.org", "83", "", "", policy.ModeBypassPermissions},
	}
	w.set(func(p *record.PolicySet) { p.Hosts = grants })
	for _, a := range asks {
		w.set(func(p *record.PolicySet) { p.Hosts, p.Policy.Mode = grants, a.mode })
		d, rule := m.ruled(m.ask(network, record.Ask{Host: a.host, Port: a.port}))
		if d != a.decision || rule != a.rule {
			t.Errorf("%s:%s in %q is %q by %q, want %q by %q", a.host, a.port, a.mode, d, rule, a.decision, a.rule)
		}
	}
	w.set(func(p *record.PolicySet) { p.Hosts, p.Policy.Mode = grants, "" })
	if got := w.l.Policy.HostsFor(m.instance, w.now); len(got) != 3 {
		t.Errorf("an enforcer is told %v", got)
	}
	if got := w.l.Policy.HostsFor(m.instance, until); len(got) != 2 {
		t.Errorf("later an enforcer is told %v", got)
	}
	w.now = until
	if d, rule := m.ruled(m.ask(network, record.Ask{Host: "db.internal", Port: "5432"})); d != "" {
		t.Errorf("a grant whose time is over: %q by %q", d, rule)
	}
}
