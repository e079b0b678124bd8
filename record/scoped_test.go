package record_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

func rule(s string) policy.Rule { return policy.MustRules(s)[0] }

func at(d time.Duration) *time.Time { t := start.Add(d); return &t }

// scopes has rules and hosts for every member, for one and for another, with and without an end.
func scopes() record.PolicySet {
	return record.PolicySet{
		Policy: policy.Policy{Version: 4, Allow: policy.MustRules("Read"), Deny: policy.MustRules("Bash(dd:*)")},
		Rules: []record.Scoped{
			{Rule: rule("Bash(ls:*)")},
			{Rule: rule("Bash(cp:*)"), Instance: "ada"},
			{Rule: rule("Bash(mv:*)"), Instance: "bob"},
			{Rule: rule("Bash(go:*)"), Instance: "ada", Until: at(1)},
			{Rule: rule("Bash(rm:*)"), Instance: "ada", Deny: true, Until: at(0)},
			{Rule: rule("Bash(nc:*)"), Instance: "ada", Deny: true},
		},
		Hosts: []record.HostGrant{
			{Host: "all.test"},
			{Host: "ada.test", Port: "443", Instance: "ada"},
			{Host: "bob.test", Instance: "bob"},
			{Host: "soon.test", Instance: "ada", Until: at(1)},
			{Host: "past.test", Instance: "ada", Until: at(0)},
			{Host: "no.test", Instance: "ada", Deny: true},
		},
	}
}

func texts[T interface{ String() string }](list []T) (out []string) {
	for _, x := range list {
		out = append(out, x.String())
	}
	return out
}

// TestFor: a rule holds for its member, or for every member, and until its time has come; the rules
// of the policy stay as they are.
func TestFor(t *testing.T) {
	set := scopes()
	for who, want := range map[record.Instance][2]string{
		"ada": {"Read Bash(ls:*) Bash(cp:*) Bash(go:*)", "Bash(dd:*) Bash(nc:*)"},
		"bob": {"Read Bash(ls:*) Bash(mv:*)", "Bash(dd:*)"},
		"":    {"Read Bash(ls:*)", "Bash(dd:*)"},
	} {
		p := set.For(who, start)
		if got := [2]string{strings.Join(texts(p.Allow), " "), strings.Join(texts(p.Deny), " ")}; got != want || p.Version != 4 {
			t.Errorf("%q: %q, want %q", who, got, want)
		}
	}
	if d := cmp.Diff(scopes(), set); d != "" {
		t.Errorf("the set has changed: %s", d)
	}
	for until, want := range map[*time.Time]bool{nil: false, at(1): false, at(0): true, at(-1): true} {
		if got := record.Past(until, start); got != want {
			t.Errorf("%v is past: %v", until, got)
		}
	}
}

// TestDuring: a rule for a task holds for its member while that task is worked on, and at no other time.
func TestDuring(t *testing.T) {
	set := scopes()
	set.Rules = append(set.Rules, record.Scoped{Rule: rule("Bash(make:*)"), Instance: "ada", Task: "3", Until: at(1)},
		record.Scoped{Rule: rule("Bash(old:*)"), Instance: "ada", Task: "3", Until: at(0)}, record.Scoped{Rule: rule("Bash(tar:*)"), Task: "4", Deny: true})
	was := slices.Clone(set.Rules)
	for _, c := range []struct {
		who         record.Instance
		task        string
		allow, deny string
		minds       bool
	}{
		{"ada", "3", "Read Bash(ls:*) Bash(cp:*) Bash(go:*) Bash(make:*)", "Bash(dd:*) Bash(nc:*)", true},
		{"ada", "4", "Read Bash(ls:*) Bash(cp:*) Bash(go:*)", "Bash(dd:*) Bash(nc:*) Bash(tar:*)", true},
		{"ada", "", "Read Bash(ls:*) Bash(cp:*) Bash(go:*)", "Bash(dd:*) Bash(nc:*)", false},
		{"ada", "5", "Read Bash(ls:*) Bash(cp:*) Bash(go:*)", "Bash(dd:*) Bash(nc:*)", false},
		{"bob", "3", "Read Bash(ls:*) Bash(mv:*)", "Bash(dd:*)", true},
	} {
		p := set.During(c.task).For(c.who, start)
		if allow, deny := strings.Join(texts(p.Allow), " "), strings.Join(texts(p.Deny), " "); allow != c.allow || deny != c.deny {
			t.Errorf("%s on %q: %s; %s", c.who, c.task, allow, deny)
		}
		if j := set.Judged(policy.ModeSafe, c.task); (j.Task == c.task && c.task != "") != c.minds || j.Mode != policy.ModeSafe || j.Judge != policy.JudgeVersion {
			t.Errorf("%q: %+v", c.task, j)
		}
	}
	if d := cmp.Diff(was, set.Rules); d != "" {
		t.Errorf("the set has changed: %s", d)
	}
}

// TestHostsFor: the same for hosts.
func TestHostsFor(t *testing.T) {
	set := scopes()
	for who, want := range map[record.Instance]string{
		"ada": "net all.test, net ada.test:443, net soon.test, net no.test",
		"bob": "net all.test, net bob.test",
		"":    "net all.test",
	} {
		if got := strings.Join(texts(set.HostsFor(who, start)), ", "); got != want {
			t.Errorf("%q: %s, want %s", who, got, want)
		}
	}
	if d := cmp.Diff(scopes(), set); d != "" {
		t.Errorf("the set has changed: %s", d)
	}
	if got := (record.HostGrant{Host: "::1", Port: "80"}).String(); got != "net [::1]:80" {
		t.Error(got)
	}
}

// TestHostsDenied: what closes a grant: deny rules for hosts, the ceiling's and a member's own too, and a mode that
// denies every host; a mode that asks closes none.
func TestHostsDenied(t *testing.T) {
	set := record.PolicySet{Policy: policy.Policy{Deny: policy.MustRules("WebFetch(domain:*.X.org)", "Bash(curl:*)", "WebFetch(domain:2001:DB8::1)")},
		Rules:   []record.Scoped{{Rule: policy.MustRules("WebFetch(domain:a.y.org)")[0], Deny: true, Instance: "ada"}},
		Ceiling: &record.Ceiling{Deny: policy.MustRules("WebFetch(domain:10.0.0.7)")}}
	closing := func(who record.Instance, mode policy.Mode, host string) (all, part string) {
		for _, d := range set.HostsDenied(who, mode, start) {
			switch a, p := d.Closes(record.HostGrant{Host: host}); {
			case a && all == "":
				all = d.Rule
			case p:
				part = d.Host
			}
		}
		return all, part
	}
	for _, c := range []struct {
		who       record.Instance
		mode      policy.Mode
		host      string
		all, part string
	}{
		{"ada", "", "x.org", "deny WebFetch(domain:*.x.org)", ""},
		{"ada", "", "a.x.org", "deny WebFetch(domain:*.x.org)", ""},
		{"ada", "", "*.a.x.org", "deny WebFetch(domain:*.x.org)", ""},
		{"ada", "", "ax.org", "", ""},
		{"bob", "", "*.org", "", "*.x.org"},
		{"ada", "", "*.y.org", "", "a.y.org"},
		{"ada", "", "a.y.org", "deny WebFetch(domain:a.y.org)", ""},
		{"ada", "", "b.y.org", "", ""},
		{"bob", "", "a.y.org", "", ""},
		{"bob", "", "10.0.0.7", "deny WebFetch(domain:10.0.0.7)", ""},
		{"bob", "", "2001:db8::1", "deny WebFetch(domain:2001:db8::1)", ""},
		{"bob", "", "2001:db8::2", "", ""},
		{"bob", policy.ModePlan, "b.y.org", "", ""},
		{"bob", policy.ModeSafe, "b.y.org", "", ""},
		{"bob", policy.ModeDontAsk, "b.y.org", "", ""},
		{"bob", policy.ModeLockedDown, "b.y.org", "mode locked-down", ""},
	} {
		if all, part := closing(c.who, c.mode, c.host); all != c.all || part != c.part {
			t.Errorf("%s in %q: %s is closed by %q, in part %q", c.who, c.mode, c.host, all, part)
		}
	}
	set.Ceiling.Deny = policy.MustRules("WebFetch")
	if all, _ := closing("bob", "", "b.y.org"); all != "deny WebFetch" {
		t.Errorf("a rule for every host: %q", all)
	}
}

// TestOwn: Own lists the rules and hosts that are allowed to this member alone, spelled as an
// answer spells them.
func TestOwn(t *testing.T) {
	set := scopes()
	for who, want := range map[record.Instance]string{
		"ada": "allow Bash(cp:*), allow Bash(go:*), allow net ada.test:443, allow net soon.test",
		"bob": "allow Bash(mv:*), allow net bob.test",
		"eve": "",
	} {
		if got := strings.Join(set.Own(who, start), ", "); got != want {
			t.Errorf("%s: %s, want %s", who, got, want)
		}
		if got := set.HasOwn(who); got != (want != "") {
			t.Errorf("%s has rules of its own: %v", who, got)
		}
	}
	rules, hosts := set, set
	rules.Hosts, hosts.Rules = nil, nil
	if !rules.HasOwn("ada") || !hosts.HasOwn("ada") {
		t.Error("a rule alone, or a host alone")
	}
	set.Rules, set.Hosts = set.Rules[4:], set.Hosts[5:]
	if set.HasOwn("ada") {
		t.Error("what is denied is no rule that a member was given")
	}
}

// TestDeciderOf: the operator decides where the policy does not say.
func TestDeciderOf(t *testing.T) {
	set := record.PolicySet{Decide: record.Deciders{policy.GatePlan: policy.DecideAuto}}
	for g, want := range map[policy.Gate]policy.Decider{policy.GatePlan: policy.DecideAuto, policy.GateTool: policy.DecideOperator, policy.GateNetwork: policy.DecideOperator} {
		if got := set.DeciderOf(g); got != want {
			t.Errorf("%s: %s, want %s", g, got, want)
		}
	}
}

// TestJudgeHost: a denial is first, no mode opens the network, a grant holds for its port and its
// member, and a text that is no plain host is asked about.
func TestJudgeHost(t *testing.T) {
	set := scopes()
	set.Hosts = append(set.Hosts,
		record.HostGrant{Host: "*.wide.test", Instance: "ada"},
		record.HostGrant{Host: "bad.wide.test", Instance: "ada", Deny: true},
		record.HostGrant{Host: "port.test", Port: "80", Deny: true},
		record.HostGrant{Host: "both.test", Deny: true}, record.HostGrant{Host: "both.test"})
	set.Policy.Allow = policy.MustRules("WebFetch(domain:rule.test)")
	set.Policy.Deny = policy.MustRules("WebFetch(domain:never.test)")
	for _, mode := range []policy.Mode{policy.ModeDefault, policy.ModePlan, policy.ModeBypassPermissions, policy.ModeAcceptEdits} {
		for _, c := range []struct {
			who        record.Instance
			host, port string
			want       policy.Decision
			rule       string
		}{
			{"ada", "all.test", "", policy.Allow, "allow net all.test"},
			{"ada", "all.test", "1", policy.Allow, "allow net all.test"},
			{"ada", "ada.test", "443", policy.Allow, "allow net ada.test:443"},
			{"ada", "ada.test", "80", policy.Ask, ""},
			{"ada", "ada.test", "", policy.Ask, ""},
			{"bob", "ada.test", "443", policy.Ask, ""},
			{"ada", "a.wide.test", "", policy.Allow, "allow net *.wide.test"},
			{"ada", "bad.wide.test", "", policy.Deny, "deny net bad.wide.test"},
			{"bob", "port.test", "80", policy.Deny, "deny net port.test:80"},
			{"bob", "port.test", "81", policy.Ask, ""},
			{"bob", "both.test", "", policy.Deny, "deny net both.test"},
			{"ada", "soon.test", "", policy.Allow, "allow net soon.test"},
			{"ada", "past.test", "", policy.Ask, ""},
			{"ada", "rule.test", "", policy.Allow, "allow WebFetch(domain:rule.test)"},
			{"ada", "never.test", "", policy.Deny, "deny WebFetch(domain:never.test)"},
			{"ada", "unknown.test", "", policy.Ask, ""},
		} {
			v := set.Judge(c.who, mode, protocol.KindSandboxPermissionRequest, record.Ask{Host: c.host, Port: c.port}, start)
			want, rule := c.want, c.rule
			if mode == policy.ModePlan && rule == "" { // no rule: see below
				rule = v.Rule
			}
			if mode == policy.ModePlan && want == policy.Allow { // a member that plans asks for the network
				want, rule = policy.Ask, v.Rule
			}
			if v.Decision != want || rule != "" && v.Rule != rule || v.Why == "" {
				t.Errorf("%s, %s for %s: %+v, want %s by %q", mode, c.host+":"+c.port, c.who, v, want, rule)
			}
		}
	}
	set.Policy.Allow = policy.MustRules("WebFetch")
	for h, want := range map[string]policy.Decision{"a.test": policy.Allow, "a.test/x": policy.Ask, "": policy.Ask, "a b": policy.Ask} {
		v := set.Judge("ada", policy.ModeDefault, protocol.KindSandboxPermissionRequest, record.Ask{Host: h}, start)
		if v.Decision != want {
			t.Errorf("%q: %+v, want %s", h, v, want)
		}
	}
	for _, kind := range []protocol.Kind{plan, protocol.KindText} {
		set.Policy.Mode = policy.ModeBypassPermissions
		if v := set.Judge("ada", policy.ModeBypassPermissions, kind, record.Ask{}, start); v.Decision != policy.Ask {
			t.Errorf("%s: %+v", kind, v)
		}
	}
}

// TestCeilingOfLinks: a rule that the ceiling covers as text allows nothing where a link leads out
// of what the ceiling allows; a mode that never asks denies it.
func TestCeilingOfLinks(t *testing.T) {
	set := record.PolicySet{Policy: policy.Policy{Allow: policy.MustRules("Read(/w/link/**)")}, Ceiling: &record.Ceiling{File: "c", Allow: policy.MustRules("Read(/w/**)")}}
	ask := record.Ask{N: 2, Tool: "Read", Input: `{"file_path":"/w/link/a"}`, Cwd: "/x", Bound: record.Bound{
		Paths: []record.RealPath{{Spelled: "/x", Real: "/x"}, {Spelled: "/w", Real: "/w"}, {Spelled: "/w/link", Real: "/etc"}, {Spelled: "/w/link/a", Real: "/etc/a"}}}}
	for mode, want := range map[policy.Mode]policy.Decision{policy.ModeDefault: policy.Ask, policy.ModeDontAsk: policy.Deny, policy.ModeSafe: policy.Ask} {
		v := set.Judge("i", mode, tool, ask, start)
		if v.Decision != want || !strings.HasPrefix(v.Rule, "ceiling, ") || v.Why == "" {
			t.Errorf("%s: %+v, want %s", mode, v, want)
		}
	}
	set.Ceiling.Allow = append(set.Ceiling.Allow, rule("Read"))
	if v := set.Judge("i", policy.ModeDefault, tool, ask, start); v.Decision != policy.Allow || strings.Contains(v.Rule, "ceiling") {
		t.Errorf("under a ceiling that allows both: %+v", v)
	}
}

// TestRulesAreNotShared: For, Cut and Judge do not change the list of rules that the policy was made
// from, also behind its end.
func TestRulesAreNotShared(t *testing.T) {
	allow, deny := policy.MustRules("Read", "Write"), policy.MustRules("Bash(rm:*)", "Bash(dd:*)")
	set := record.PolicySet{Policy: policy.Policy{Allow: allow[:1], Deny: deny[:1]}, Rules: scopes().Rules, Ceiling: &record.Ceiling{Allow: policy.MustRules("Bash")}}
	set.For("ada", start)
	set.Cut()
	set.Judge("ada", "", host, record.Ask{Host: "a.test"}, start)
	if allow[1].String() != "Write" || deny[1].String() != "Bash(dd:*)" {
		t.Errorf("%s, %s", allow, deny)
	}
}

// TestBound: under a ceiling every deny rule of both holds, an allow rule holds where the other side
// covers it, in whatever mode, and the mode is the narrower one.
func TestBound(t *testing.T) {
	p := policy.Policy{Version: 4, Mode: policy.ModeAcceptEdits, Allow: policy.MustRules("Bash(go test:*)", "Read"), Deny: policy.MustRules("Bash(rm:*)"), Sandboxed: true}
	for what, c := range map[string]struct {
		ceiling     *record.Ceiling
		mode        policy.Mode
		allow, deny string
		sandboxed   bool
	}{
		"none":      {nil, policy.ModeAcceptEdits, "Bash(go test:*) Read", "Bash(rm:*)", true},
		"empty":     {&record.Ceiling{File: "f"}, policy.ModeAcceptEdits, "Bash(go test:*) Read", "Bash(rm:*)", true},
		"deny":      {&record.Ceiling{Deny: policy.MustRules("Write")}, policy.ModeAcceptEdits, "Bash(go test:*) Read", "Bash(rm:*) Write", true},
		"mode":      {&record.Ceiling{Mode: policy.ModePlan}, policy.ModePlan, "Bash(go test:*) Read", "Bash(rm:*)", true},
		"rules":     {&record.Ceiling{Allow: policy.MustRules("Bash(go:*)")}, policy.ModeDefault, "Bash(go test:*)", "Bash(rm:*)", false},
		"sandboxed": {&record.Ceiling{Mode: policy.ModeBypassPermissions, Allow: policy.MustRules("Bash(go test ./...)"), Sandboxed: true}, policy.ModeAcceptEdits, "Bash(go test:*) Read Bash(go test ./...)", "Bash(rm:*)", true},
		"nothing":   {&record.Ceiling{Mode: policy.ModeSafe, Allow: []policy.Rule{}}, policy.ModeSafe, "", "Bash(rm:*)", false},
	} {
		got := c.ceiling.Bound(p)
		if allow, deny := strings.Join(texts(got.Allow), " "), strings.Join(texts(got.Deny), " "); allow != c.allow || deny != c.deny || got.Mode != c.mode || got.Sandboxed != c.sandboxed || got.Version != 4 {
			t.Errorf("%s: %+v", what, got)
		}
	}
	for _, sandboxed := range []bool{false, true} {
		set := record.PolicySet{Policy: policy.Policy{Sandboxed: !sandboxed}, Sandboxed: sandboxed}
		if got := set.For("i", start); got.Sandboxed != sandboxed {
			t.Errorf("sandboxed: %v, and the set says %v", got.Sandboxed, sandboxed)
		}
		set.Ceiling = &record.Ceiling{Allow: []policy.Rule{}}
		if got := strings.Join(set.Cut(), ", "); got != map[bool]string{true: policy.SandboxedAllow}[sandboxed] {
			t.Errorf("sandboxed %v: %q is cut", sandboxed, got)
		}
		set.Ceiling.Sandboxed = true
		if got := set.Cut(); got != nil {
			t.Errorf("sandboxed %v under sandboxed: %q is cut", sandboxed, got)
		}
	}
}

// TestCheckCeiling: a version may not ask for more than its ceiling allows, but for what the
// version before it asked for already.
func TestCheckCeiling(t *testing.T) {
	c := &record.Ceiling{File: "/home/c.yaml", Mode: policy.ModeAcceptEdits, Allow: policy.MustRules("Bash(go:*)"), Deny: policy.MustRules("Write")}
	set := func(mode policy.Mode, rules ...string) record.PolicySet {
		return record.PolicySet{Policy: policy.Policy{Mode: mode, Allow: policy.MustRules(rules...)}, Ceiling: c,
			Rules: []record.Scoped{{Rule: rule("Bash(nc:*)"), Deny: true}}}
	}
	if err := set(policy.ModeDefault, "Bash(go:*)", "Bash(go test:*)").CheckCeiling(record.PolicySet{}); err != nil {
		t.Error(err)
	}
	wide := set(policy.ModeBypassPermissions, "Bash(go:*)", "Bash(git:*)", "Write", "Write(a)")
	want := []string{"mode bypassPermissions", "allow Bash(git:*)", "allow Write", "allow Write(a)"}
	if d := cmp.Diff(want, wide.Cut()); d != "" {
		t.Error(d)
	}
	var over *record.CeilingError
	err := wide.CheckCeiling(record.PolicySet{})
	if !errors.As(err, &over) || !slices.Equal(over.Over, want) || over.Ceiling != c {
		t.Errorf("%v", err)
	}
	if want := "mode bypassPermissions, allow Bash(git:*), allow Write, allow Write(a): beyond the ceiling in /home/c.yaml (widest mode acceptEdits)"; err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := wide.CheckCeiling(wide); err != nil {
		t.Errorf("what was there before: %v", err)
	}
	if err := wide.CheckCeiling(set(policy.ModeBypassPermissions, "Bash(git:*)", "Write")); !errors.As(err, &over) || !slices.Equal(over.Over, want[3:]) {
		t.Errorf("one more rule: %v", err)
	}
	learned := set(policy.ModeDefault)
	learned.Rules = append(learned.Rules, record.Scoped{Rule: rule("Bash(git:*)"), Instance: "i"})
	if err := learned.CheckCeiling(set(policy.ModeDefault)); !errors.As(err, &over) || !slices.Equal(over.Over, want[1:2]) {
		t.Errorf("a learned rule: %v", err)
	}
	for _, none := range []*record.Ceiling{nil, {File: "f"}} {
		wide.Ceiling = none
		if err := wide.CheckCeiling(record.PolicySet{}); err != nil || none.Bounds() || wide.Cut() != nil {
			t.Errorf("no limit: %v, %v", err, wide.Cut())
		}
	}
	if err := (&record.CeilingError{Ceiling: &record.Ceiling{File: "f"}, Over: []string{"a"}}); err.Error() != "a: beyond the ceiling in f" {
		t.Error(err)
	}
}

// TestCeilings checks whether a ceiling limits anything (Bounds), which mode is its widest
// (Widest), a mode under it (Meet), and which two ceilings are the same (Same).
func TestCeilings(t *testing.T) {
	rules := policy.MustRules("Bash")
	for _, c := range []struct {
		c      *record.Ceiling
		bounds bool
		widest policy.Mode
		of     policy.Mode // acceptEdits under it
	}{
		{nil, false, "", policy.ModeAcceptEdits},
		{&record.Ceiling{File: "f", SHA256: "s"}, false, "", policy.ModeAcceptEdits},
		{&record.Ceiling{Mode: policy.ModePlan}, true, policy.ModePlan, policy.ModePlan},
		{&record.Ceiling{Mode: policy.ModeBypassPermissions}, true, policy.ModeBypassPermissions, policy.ModeAcceptEdits},
		{&record.Ceiling{Allow: []policy.Rule{}}, true, policy.ModeDefault, policy.ModeDefault},
		{&record.Ceiling{Mode: policy.ModeAcceptEdits, Allow: rules}, true, policy.ModeAcceptEdits, policy.ModeAcceptEdits},
		{&record.Ceiling{Deny: rules}, true, "", policy.ModeAcceptEdits},
	} {
		if got := c.c.Bounds(); got != c.bounds {
			t.Errorf("%+v bounds: %v", c.c, got)
		}
		if got := c.c.Widest(); got != c.widest {
			t.Errorf("%+v: widest %q", c.c, got)
		}
		if got := c.c.Meet(policy.ModeAcceptEdits); got != c.of {
			t.Errorf("%+v: acceptEdits is %q", c.c, got)
		}
	}
	if m := (&record.Ceiling{Mode: policy.ModePlan}).Meet(""); m != policy.ModePlan {
		t.Errorf("no mode under plan is %q", m)
	}
	if m := (&record.Ceiling{Deny: rules}).Meet(""); m != "" {
		t.Errorf("no mode without a widest is %q", m)
	}
	base := record.Ceiling{File: "f", SHA256: "s", Mode: policy.ModePlan, Allow: rules, Deny: rules}
	var none *record.Ceiling
	if !none.Same(nil) || none.Same(&base) || base.Same(nil) {
		t.Error("no ceiling is the same as none, and as no other")
	}
	if other := base; !base.Same(&other) {
		t.Error("a copy is another")
	}
	for what, change := range map[string]func(*record.Ceiling){
		"file": func(c *record.Ceiling) { c.File = "g" }, "sum": func(c *record.Ceiling) { c.SHA256 = "t" }, "mode": func(c *record.Ceiling) { c.Mode = "" },
		"allow": func(c *record.Ceiling) { c.Allow = policy.MustRules("Read") }, "no allow": func(c *record.Ceiling) { c.Allow = nil },
		"deny": func(c *record.Ceiling) { c.Deny = nil },
	} {
		other := base
		if change(&other); base.Same(&other) || other.Same(&base) {
			t.Errorf("another %s is the same", what)
		}
	}
	empty, nothing := base, base
	if empty.Allow, nothing.Allow = []policy.Rule{}, nil; empty.Same(&nothing) {
		t.Error("a list that allows nothing is no list")
	}
	if d := cmp.Diff(policy.Policy{Mode: policy.ModeDefault, Allow: rules, Deny: rules}, (&record.Ceiling{Allow: rules, Deny: rules}).Policy()); d != "" {
		t.Error(d)
	}
}
