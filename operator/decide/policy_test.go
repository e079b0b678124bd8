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

func rule(t *testing.T, s string) policy.Rule {
	t.Helper()
	return testenv.Value(policy.ParseRule(s))(t)
}

// AddRule makes a version of the policy that the members apply; the same rule again makes none.
// RemoveRule takes the rule back, and a rule that does not exist is NotFound.
func TestRules(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Member("ann", operatortest.Idle)
	ls, rm := rule(t, "Bash(ls:*)"), rule(t, "Bash(rm:*)")
	first, err := o.AddRule(t.Context(), "api", ls, false, decide.RuleScope{})
	if err != nil || !first.Changed || len(first.Members) != 1 || first.Members[0].State != decide.PolicyApplied || first.Members[0].Version != first.Version {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := o.AddRule(t.Context(), "api", ls, false, decide.RuleScope{})
	if err != nil || again.Changed || again.Version != first.Version {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	until := time.Now().Add(time.Hour)
	for _, sc := range []decide.RuleScope{{Member: "ann", Until: &until}, {Until: &until}} {
		if c, err := o.AddRule(t.Context(), "api", rm, true, sc); err != nil || !c.Changed {
			t.Errorf("%+v: %+v, %v", sc, c, err)
		}
	}
	_, err = o.AddRule(t.Context(), "api", rm, true, decide.RuleScope{Member: "nobody"})
	operatortest.Is(t, "a rule for nobody", err, operator.NotFound, "nobody")

	v, err := o.Policy(t.Context(), "api", "")
	if err != nil || v.Mode != "default" || v.Team != "api" || v.Version <= first.Version || v.Ceiling != nil || v.Decide["tool"] != "operator" {
		t.Errorf("%+v, %v", v, err)
	}
	if got := rules(v); got != "allow Bash(ls:*) team;deny Bash(rm:*) ann until;deny Bash(rm:*) team until" {
		t.Errorf("the rules are %s", got)
	}
	rig.Member("bob", operatortest.Idle)
	v, err = o.Policy(t.Context(), "api", "bob")
	if err != nil || rules(v) != "allow Bash(ls:*) team;deny Bash(rm:*) team until" || len(v.Members) != 1 || v.Members[0].Name != "bob" {
		t.Errorf("of bob: %+v, %v", v, err)
	}
	_, err = o.Policy(t.Context(), "api", "nobody")
	operatortest.Is(t, "the policy of nobody", err, operator.NotFound, "nobody")

	if c, err := o.RemoveRule(t.Context(), "api", rm, true, "ann"); err != nil || !c.Changed || len(c.Keep) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = o.RemoveRule(t.Context(), "api", ls, true, "")
	operatortest.Is(t, "a rule of the other effect", err, operator.NotFound, "deny Bash(ls:*)")
	if c, err := o.RemoveRule(t.Context(), "api", ls, false, ""); err != nil || !c.Changed {
		t.Errorf("%+v, %v", c, err)
	}
	if v, err = o.Policy(t.Context(), "api", ""); err != nil || rules(v) != "deny Bash(rm:*) team until" {
		t.Errorf("%+v, %v", v, err)
	}
}

func rules(v *decide.PolicyView) string {
	var out []string
	for _, r := range v.Rules {
		s := r.Effect + " " + r.Rule + " " + r.Scope
		if r.Expires != nil {
			s += " until"
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return strings.Join(out, ";")
}

// A rule that is taken back stays with a member that waggle does not run, and the change
// names it.
func TestRemoveRuleNamesWhoKeepsIt(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Joined("ide", record.FileTrust)
	ls := rule(t, "Bash(ls:*)")
	c, err := o.AddRule(t.Context(), "api", ls, false, decide.RuleScope{})
	if err != nil || c.Members[0].State != decide.PolicyUnsupported {
		t.Fatalf("%+v, %v", c, err)
	}
	if c, err = o.RemoveRule(t.Context(), "api", ls, false, ""); err != nil || !slices.Equal(c.Keep, []string{"ide"}) {
		t.Errorf("%+v, %v", c, err)
	}
}

// SetMode sets the mode of the team or of one member. A member with a mode of its own keeps it.
func TestSetMode(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Member("ann", operatortest.Idle)
	rig.Member("bob", operatortest.Idle)
	c, err := o.SetMode(t.Context(), "api", "ann", policy.ModePlan)
	if err != nil || !c.Changed || mode(c, "ann") != "plan applied" || mode(c, "bob") != "default applied" {
		t.Fatalf("%+v, %v", c, err)
	}
	if c, err = o.SetMode(t.Context(), "api", "ann", policy.ModePlan); err != nil || c.Changed {
		t.Errorf("the same again: %+v, %v", c, err)
	}
	if c, err = o.SetMode(t.Context(), "api", "*", policy.ModeLockedDown); err != nil || !c.Changed || mode(c, "bob") != string(policy.ModeLockedDown)+" applied" {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = o.SetMode(t.Context(), "api", "nobody", policy.ModePlan)
	operatortest.Is(t, "the mode of nobody", err, operator.NotFound, "nobody")
	if got := decide.ModeName(""); got != policy.ModeDefault {
		t.Errorf("no mode is %q", got)
	}
}

func mode(c *decide.PolicyChange, name string) string {
	for _, m := range c.Members {
		if m.Name == name {
			return m.Mode + " " + m.State
		}
	}
	return "not there"
}

// TestUnapplied: a mode that was set is listed until the member has applied it.
func TestUnapplied(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	i := rig.Joined("ann", record.Cooperative) // no process of ann ever starts
	testenv.Value(o.SetMode(t.Context(), "api", "ann", policy.ModePlan))(t)
	s := rig.State()
	w, err := s.Worker(i)
	testenv.Must(t, err)
	w.Instance = i
	if got := decide.Unapplied(s.Lead, w); len(got) != 1 || got[0].Commanded.Mode != policy.ModePlan {
		t.Errorf("%+v", got)
	}
	if m, err := decide.Member(s, "ANN"); err != nil || m.Instance != i {
		t.Errorf("%+v, %v", m, err)
	}
	_, err = decide.Member(s, "anna")
	operatortest.Is(t, "somebody else", err, operator.NotFound, "anna")
}

// The next change records the user's ceiling in the journal, and the ceiling bounds the policy.
func TestCeiling(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Member("ann", operatortest.Idle)
	ls := rule(t, "Bash(ls:*)")
	testenv.Value(o.AddRule(t.Context(), "api", rule(t, "Bash(make:*)"), false, decide.RuleScope{}))(t)
	if changed, err := o.Adopt(t.Context(), rig.State()); changed || err != nil {
		t.Errorf("without a file: %v, %v", changed, err)
	}
	o.Ceiling = &record.Ceiling{File: "/etc/x/../ceiling.yaml", SHA256: "ab", Mode: policy.ModeDefault, Allow: []policy.Rule{ls}, Deny: []policy.Rule{rule(t, "Bash(rm:*)")}}
	if changed, err := o.Adopt(t.Context(), rig.State()); !changed || err != nil {
		t.Fatalf("%v, %v", changed, err)
	}
	if changed, err := o.Adopt(t.Context(), rig.State()); changed || err != nil {
		t.Errorf("again: %v, %v", changed, err)
	}
	v, err := o.Policy(t.Context(), "api", "")
	if err != nil || v.Ceiling == nil {
		t.Fatalf("%+v, %v", v, err)
	}
	if c := v.Ceiling; c.File != "/etc/ceiling.yaml" || c.SHA256 != "ab" || !slices.Equal(c.Allow, []string{"Bash(ls:*)"}) || !slices.Equal(c.Deny, []string{"Bash(rm:*)"}) || len(c.Cut) == 0 {
		t.Errorf("%+v", c)
	}
	_, err = o.SetMode(t.Context(), "api", "*", policy.ModeAcceptEdits)
	operatortest.Is(t, "a wider mode", err, operator.Refused, "")
	recorded := rig.State().Lead.Policy.Ceiling
	o.Ceiling = nil
	if got := o.CeilingOf(recorded); got != recorded {
		t.Errorf("without a file the one on record is %+v", got)
	}
	o.Ceiling = &record.Ceiling{}
	if got := o.CeilingOf(recorded); got != nil {
		t.Errorf("a file that bounds nothing is %+v", got)
	}
}

// TestPolicy judges a call as it would be judged now, for the team or a member, and asks nobody.
func TestTestPolicy(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Member("ann", operatortest.Idle)
	for _, r := range []struct {
		rule string
		deny bool
		as   decide.RuleScope
	}{{"Bash(ls:*)", false, decide.RuleScope{}}, {"Bash(make:*)", true, decide.RuleScope{Member: "ann"}}} {
		testenv.Value(o.AddRule(t.Context(), "api", rule(t, r.rule), r.deny, r.as))(t)
	}
	for _, c := range []struct{ as, call, decision, area, by string }{
		{"", "Bash(ls -l)", "allow", "", "Bash(ls:*)"},
		{"ann", "Bash(ls -l)", "allow", "", "Bash(ls:*)"},
		{"", "Bash(make all)", "ask", "", ""},
		{"ann", "Bash(make all)", "deny", "", "Bash(make:*)"},
		{"", "Bash('x)", "ask", "other", ""},
		{"ann", "net example.com:443", "ask", "network", ""},
	} {
		j, err := o.TestPolicy(t.Context(), "api", c.as, c.call, "")
		if err != nil || j.Decision != c.decision || c.area != "" && j.Area != c.area || !strings.Contains(j.Rule, c.by) || j.As != c.as || j.Decider != "operator" || j.Why == "" && j.Rule == "" {
			t.Errorf("%s of %q: %+v, %v", c.call, c.as, j, err)
		}
		if c.by != "" && !slices.ContainsFunc(j.Rules, func(r decide.RuleJudged) bool { return r.Rule == c.by && r.Counts && r.Match == "matches" }) {
			t.Errorf("%s: %+v", c.call, j.Rules)
		}
	}
	for call, says := range map[string]string{"net a b": "", "Bash(": "is not a call"} {
		_, err := o.TestPolicy(t.Context(), "api", "", call, "/")
		operatortest.Is(t, call, err, operator.Usage, says)
	}
	_, err := o.TestPolicy(t.Context(), "api", "nobody", "Bash(ls)", "")
	operatortest.Is(t, "of nobody", err, operator.NotFound, "nobody")
	if n := len(rig.State().Lead.Requests); n != 0 {
		t.Errorf("%d requests are on record", n)
	}
}

// Explain names what decided an earlier call, and what the current policy would decide.
func TestExplain(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	testenv.Value(o.AddRule(t.Context(), "api", rule(t, "Bash(ls:*)"), false, decide.RuleScope{}))(t)
	answers := rig.Asks("ann", operatortest.Bash("ls -l"), operatortest.Bash("make"), operatortest.Ask{Host: "x.org:443"})
	rig.Asks("bob", operatortest.Ask{Plan: "think"})
	if a := operatortest.Answer(t, answers); !a.Allowed || a.By != "rules" {
		t.Fatalf("%+v", a)
	}
	rig.Pending(3)
	s := rig.State()
	seen := map[string]bool{}
	for _, m := range s.Lead.Members {
		w := testenv.Value(s.Worker(m.Instance))(t)
		for _, c := range w.Calls {
			e, err := o.Explain(t.Context(), "api", string(c.ID))
			if err != nil || e.ID != string(c.ID) || e.Member != string(m.Name) || e.Digest != string(c.Digest) {
				t.Errorf("%+v, %v", e, err)
				continue
			}
			what, now := strings.TrimSpace(c.Ask.Tool+c.Ask.Host+c.Ask.Plan), "nothing"
			if e.Now != nil {
				now = e.Now.Decision
			}
			seen[what+" "+e.Decision+" "+e.By+" "+e.Rule+": "+now] = true
		}
	}
	for _, want := range []string{"Bash allow rules allow Bash(ls:*): allow", "Bash   : ask", "x.org   : ask", "think   : nothing"} {
		if !seen[want] {
			t.Errorf("%q is not among %v", want, seen)
		}
	}
	_, err := o.Explain(t.Context(), "api", "perm-")
	operatortest.Is(t, "the beginning of two", err, operator.Usage, "begins several calls")
	_, err = o.Explain(t.Context(), "api", "ooo")
	operatortest.Is(t, "nobody's call", err, operator.NotFound, "ooo")
}

// Suggest proposes a rule for a call that was approved twice, unless the rule would allow a denied
// call or is of high risk.
func TestSuggest(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Asks("ann", operatortest.Bash("make check"), operatortest.Bash("mkdir a"), operatortest.Bash("sudo reboot"), operatortest.Bash("npm run x"))
	rig.Asks("bob", operatortest.Bash("make check"), operatortest.Bash("mkdir b"), operatortest.Bash("sudo reboot"), operatortest.Bash("npm run x"))
	rig.Asks("eve", operatortest.Bash("npm run x"))
	var as []decide.Answer
	for _, r := range rig.Pending(9) {
		m, _ := rig.State().Lead.ByInstance(r.Instance)
		as = append(as, decide.Answer{ID: string(r.ID), Allow: m.Name != "eve", Via: "approve"})
	}
	testenv.Value(o.Decide(t.Context(), "api", as))(t)
	list, err := o.Suggest(t.Context(), "api")
	if err != nil || len(list) == 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	found := false
	for _, sg := range list {
		if strings.Contains(sg.Rule, "sudo") || strings.Contains(sg.Rule, "npm") || sg.Risk == "high" {
			t.Errorf("%+v", sg)
		}
		if strings.Contains(sg.Rule, "make check") {
			found = true
			if !sg.Identical || sg.Approvals != 2 || sg.Scope != "team" || !slices.Equal(slices.Sorted(slices.Values(sg.Members)), []string{"ann", "bob"}) || sg.Total != 2 || len(sg.Matched) != 2 || sg.Looked != 9 {
				t.Errorf("%+v", sg)
			}
		}
	}
	if !found {
		t.Errorf("%+v", list)
	}
}

// A rule is learned from an allow that it covers, for the member that asked, with an end.
func TestLearn(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Asks("ann", operatortest.Bash("make check"), operatortest.Ask{Host: "x.org:443"})
	rs := rig.Pending(2)
	call, host := rs[0], rs[1]
	lesson := &decide.Lesson{Rule: rule(t, "Bash(make check)"), End: time.Now().Add(decide.LessonTime)}
	for what, c := range map[string]struct {
		a    decide.Answer
		says string
	}{
		"a denial":      {decide.Answer{ID: call.Handle, Lesson: lesson}, "learned from an allow"},
		"a host":        {decide.Answer{ID: host.Handle, Allow: true, Lesson: lesson}, "rules are for tool calls"},
		"another call":  {decide.Answer{ID: call.Handle, Allow: true, Lesson: &decide.Lesson{Rule: rule(t, "Bash(ls:*)")}}, "does not cover"},
		"another input": {decide.Answer{ID: call.Handle, Allow: true, UpdatedInput: `{"command":"rm x"}`, Lesson: lesson}, "does not cover"},
	} {
		_, err := o.Decide(t.Context(), "api", []decide.Answer{c.a})
		operatortest.Is(t, what, err, operator.Usage, c.says)
	}
	bounded := o
	bounded.Ceiling = &record.Ceiling{File: "/c", Allow: []policy.Rule{rule(t, "Bash(ls:*)")}}
	_, err := bounded.Decide(t.Context(), "api", []decide.Answer{{ID: call.Handle, Allow: true, Lesson: lesson}})
	operatortest.Is(t, "beyond the ceiling", err, operator.Refused, "")
	rig.Pending(2)

	ds, err := o.Decide(t.Context(), "api", []decide.Answer{{ID: call.Handle, Allow: true, Lesson: lesson}, {ID: host.Handle}, {ID: "ooo", Allow: true, Lesson: lesson}})
	if err != nil || ds[0].Err() != nil || ds[2].Err() == nil {
		t.Fatalf("%+v, %v", ds, err)
	}
	if v, err := o.Policy(t.Context(), "api", "ann"); err != nil || len(v.Rules) != 1 {
		t.Errorf("the rule is not there with the decision: %+v, %v", v, err)
	}
	told, _ := rig.State().Lead.Request(call.Key)
	if env, err := told.Order.Mail.Open(); err != nil || !strings.Contains(env.Text, `"permission_updates":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"make check"}],"behavior":"allow","destination":"session"}]`) {
		t.Errorf("the answer does not tell of the rule: %s, %v", env.Text, err)
	}
	c, err := o.Learn(t.Context(), "api", ds, *lesson)
	if err != nil || !c.Changed {
		t.Fatalf("%+v, %v", c, err)
	}
	v, err := o.Policy(t.Context(), "api", "ann")
	if err != nil || rules(v) != "allow Bash(make check) ann until" || v.Rules[0].From != string(call.ID) {
		t.Errorf("%+v, %v", v, err)
	}
	if c, err = o.Learn(t.Context(), "api", ds[1:], *lesson); err != nil || c.Changed {
		t.Errorf("a denial and a refusal taught: %+v, %v", c, err)
	}
	lesson.Team = true
	if _, err = o.Learn(t.Context(), "api", ds[:1], *lesson); err != nil {
		t.Fatal(err)
	}
	if v, err = o.Policy(t.Context(), "api", ""); err != nil || rules(v) != "allow Bash(make check) ann until;allow Bash(make check) team until" {
		t.Errorf("%+v, %v", v, err)
	}
}
