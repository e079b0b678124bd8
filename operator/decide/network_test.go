package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/record"
)

func target(t *testing.T, s string) decide.NetTarget {
	t.Helper()
	return testenv.Value(decide.ParseNetTarget(s))(t)
}

func shown(gs []decide.GrantView) string {
	var out []string
	for _, g := range gs {
		s := g.Effect + " " + g.Shown + " " + g.Scope
		if g.Expires != nil {
			s += " until"
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return strings.Join(out, ";")
}

// The text of a network target has its port, and both spellings of an international name.
func TestNetTarget(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"Example.com": "example.com", "example.com:443": "example.com:443", "example.com:*": "example.com:*",
		"*.example.com:443": "*.example.com:443", "[2001:DB8::0:1]:80": "[2001:db8::1]:80", "[::1]:*": "[::1]:*", "[::1]": "::1", "2001:db8::1": "2001:db8::1", "[::ffff:10.0.0.1]:80": "10.0.0.1:80", "bücher.example:1": "xn--bcher-kva.example:1 (bücher.example)"} {
		n := target(t, in)
		if n.String() != want || n.Wild() != strings.HasPrefix(in, "*.") {
			t.Errorf("%s is %s, wild %v", in, n, n.Wild())
		}
	}
}

// An IPv6 address is answered as every host, also for later requests.
func TestNetAddress(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"[::1", "::1]", "[::1]:", "[::1]:0", "[::1%eth0]:80", "*.::1", "[example.com", "x::y", ":"} {
		if n, err := decide.ParseNetTarget(bad); err == nil {
			t.Errorf("%s is %s", bad, n)
		}
	}
	o, rig := team(t)
	ann := rig.Asks("ann", operatortest.Ask{Host: "[2001:db8:0::1]:80", Why: "one"})
	rig.Pending(1)
	out, err := o.DecideNet(t.Context(), "api", decide.NetAnswer{Target: target(t, "[2001:db8::1]:80"), Allow: true, Session: true})
	if err != nil || len(out.Results) != 1 || shown(out.Grants) != "allow [2001:db8::1]:80 ann" {
		t.Fatalf("%+v, %v", out, err)
	}
	if got := operatortest.Answer(t, ann); !got.Allowed {
		t.Errorf("%+v", got)
	}
	rule, err := o.TestPolicy(t.Context(), "api", "ann", "net [2001:db8::1]:80", "")
	if err != nil || rule.Decision != policy.Allow.String() {
		t.Errorf("the next one: %+v, %v", rule, err)
	}
}

// A host is one question for a member, however many of its calls wait for it, and one
// answer is for all of them.
func TestNetOnce(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	ann := rig.Asks("ann", operatortest.Ask{Host: "db.internal:5432", Why: "first"}, operatortest.Ask{Host: "db.internal:5432", Why: "second"}, operatortest.Ask{Host: "db.internal:80"})
	bob := rig.Asks("bob", operatortest.Ask{Host: "db.internal:5432"})
	rig.Pending(3)
	qs, err := o.NetPending(t.Context(), "api")
	if err != nil || len(qs) != 3 {
		t.Fatalf("%+v, %v", qs, err)
	}
	for _, q := range qs {
		if len(q.IDs) != 1 || q.Shown != q.Host+":"+q.Port || q.Status != decide.StatusOpen {
			t.Errorf("%+v", q)
		}
	}
	out, err := o.DecideNet(t.Context(), "api", decide.NetAnswer{Target: target(t, "db.internal:5432"), Member: "ann", Allow: true, Reason: "yes"})
	if err != nil || len(out.Results) != 1 || out.Policy != nil || len(out.Grants) != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	for range 2 {
		if a := operatortest.Answer(t, ann); !a.Allowed || a.Reason != "yes" {
			t.Errorf("%+v", a)
		}
	}
	rs := rig.Pending(2)
	out, err = o.DecideNet(t.Context(), "api", decide.NetAnswer{ID: string(rs[1].ID), Digest: string(rs[1].Digest), Reason: "no"})
	if err != nil || len(out.Results) != 1 || out.Results[0].Decision != record.DecisionDeny {
		t.Fatalf("%+v, %v", out, err)
	}
	if a := operatortest.Answer(t, bob); a.Allowed || a.Reason != "no" {
		t.Errorf("%+v", a)
	}
	// For a request that is decided, the same answer changes nothing and another answer is refused.
	if out, err = o.DecideNet(t.Context(), "api", decide.NetAnswer{ID: string(rs[1].ID)}); err != nil || out.Results[0].Changed {
		t.Errorf("%+v, %v", out, err)
	}
	_, err = o.DecideNet(t.Context(), "api", decide.NetAnswer{ID: string(rs[1].ID), Allow: true})
	operatortest.Is(t, "the opposite", err, operator.Refused, "")
}

// An answer that stands is a part of the policy until it is taken back by a denial.
func TestNetStanding(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Member("ann", operatortest.Idle)
	until := time.Now().Add(time.Hour)
	for _, c := range []struct {
		a    decide.NetAnswer
		want string
	}{
		{decide.NetAnswer{Target: target(t, "x.org:443"), Member: "ann", Allow: true, Session: true}, "allow x.org:443 ann"},
		{decide.NetAnswer{Target: target(t, "y.org:*"), Member: "*", Allow: true, Until: &until}, "allow y.org:* team until"},
		{decide.NetAnswer{Target: target(t, "*.z.org:443"), Member: "ann", Allow: true, Until: &until, Wildcard: true}, "allow *.z.org:443 ann until"},
	} {
		out, err := o.DecideNet(t.Context(), "api", c.a)
		if err != nil || shown(out.Grants) != c.want || out.Policy == nil || !out.Policy.Changed || len(out.Results) != 0 {
			t.Errorf("%s: %+v, %v", c.want, out, err)
		}
	}
	hosts := func() string {
		v := testenv.Value(o.Policy(t.Context(), "api", ""))(t)
		return shown(v.Hosts)
	}
	if got := hosts(); got != "allow *.z.org:443 ann until;allow x.org:443 ann;allow y.org:* team until" {
		t.Errorf("%s", got)
	}
	for call, want := range map[string]string{"net x.org:443": "allow", "net a.z.org:443": "allow", "net y.org:80": "allow", "net x.org:80": "ask", "net q.org:443": "ask"} {
		if j, err := o.TestPolicy(t.Context(), "api", "ann", call, ""); err != nil || j.Decision != want {
			t.Errorf("%s: %+v, %v", call, j, err)
		}
	}
	out, err := o.DecideNet(t.Context(), "api", decide.NetAnswer{Target: target(t, "x.org:443"), Member: "ann"})
	if err != nil || out.Policy == nil || len(out.Grants) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err = o.DecideNet(t.Context(), "api", decide.NetAnswer{Target: target(t, "y.org:*"), Member: "*", Session: true}); err != nil {
		t.Error(err)
	}
	if got := hosts(); got != "allow *.z.org:443 ann until;deny y.org:* team" {
		t.Errorf("%s", got)
	}
}

// A standing answer to a question holds for the member that asked, with the port of the question
// unless the target has every port, and its grant names the question.
func TestNetStandingOfAQuestion(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"x.org": "allow x.org:443 ann", "x.org:*": "allow x.org:* ann"} {
		o, rig := team(t)
		answers := rig.Asks("ann", operatortest.Ask{Host: "x.org:443"})
		req := rig.Pending(1)[0]
		out, err := o.DecideNet(t.Context(), "api", decide.NetAnswer{Target: target(t, in), Allow: true, Session: true})
		if err != nil || shown(out.Grants) != want || out.Grants[0].From != string(req.ID) || len(out.Results) != 1 {
			t.Fatalf("%s: %+v, %v", in, out, err)
		}
		if a := operatortest.Answer(t, answers); !a.Allowed {
			t.Errorf("%+v", a)
		}
	}
}

func TestNetRefuses(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Asks("ann", operatortest.Bash("make"), operatortest.Ask{Host: "x.org:443"})
	rs := rig.Pending(2)
	call, host := rs[0], rs[1]
	for what, c := range map[string]struct {
		a    decide.NetAnswer
		code operator.Kind
		says string
	}{
		"many hosts that nobody confirmed": {decide.NetAnswer{Target: target(t, "*.x.org"), Allow: true}, operator.Question, "every host below x.org"},
		"what nobody asks for":             {decide.NetAnswer{Target: target(t, "y.org"), Allow: true}, operator.NotFound, "no member asks for y.org"},
		"ahead, for nobody":                {decide.NetAnswer{Target: target(t, "y.org:443"), Allow: true, Session: true}, operator.Usage, "no member asks for y.org:443"},
		"ahead, without a port":            {decide.NetAnswer{Target: target(t, "y.org"), Member: "ann", Allow: true, Session: true}, operator.Usage, "no member asks for y.org"},
		"for somebody else":                {decide.NetAnswer{Target: target(t, "x.org:443"), Member: "eve", Allow: true}, operator.NotFound, "eve"},
		"a call":                           {decide.NetAnswer{ID: call.Handle, Allow: true}, operator.Usage, "does not ask for a host"},
		"an id that nobody has":            {decide.NetAnswer{ID: "ooo", Allow: true}, operator.NotFound, "ooo"},
		"a short digest":                   {decide.NetAnswer{ID: host.Handle, Digest: string(host.Digest)[:8], Allow: true}, operator.Refused, "digest"},
	} {
		_, err := o.DecideNet(t.Context(), "api", c.a)
		operatortest.Is(t, what, err, c.code, c.says)
	}
	rig.Pending(2)
}
