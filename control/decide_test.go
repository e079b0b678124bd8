package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// asked is a world whose member has one open question.
func asked(t *testing.T, p record.PolicySet, kind protocol.Kind, a record.Ask) (*world, *member, *control.Request) {
	t.Helper()
	w, m := working(t, p, kind == plan)
	k := m.ask(kind, a)
	w.round()
	return w, m, w.request(k)
}

func TestDecidedOnce(t *testing.T) {
	w, m, r := asked(t, record.PolicySet{}, tool, bash)
	v := verdict(r, true)
	v.Digest = v.Digest[:16]
	if out := w.decide(v, operator); !out.Changed || out.Refusal != nil {
		t.Fatalf("%+v", out)
	}
	n := len(w.mem.Records())
	if out := w.decide(v, operator); out.Changed || out.Refusal != nil {
		t.Errorf("the same decision again: %+v", out)
	}
	refused[*control.DecidedError](t, w.decide(verdict(r, false), operator).Refusal, "already decided: allow by operator at 2026-11-20T16:00:00.000Z")
	v.UpdatedInput = `{"command":"true"}`
	refused[*control.DecidedError](t, w.decide(v, operator).Refusal, "already decided")
	if len(w.mem.Records()) != n {
		t.Error("a decision that changed nothing is on record")
	}
	w.round()
	if c, _ := m.w.Call(r.Key); c.Answer.Decision != record.DecisionAllow {
		t.Errorf("%+v", c.Answer)
	}
}

func TestVerdictsThatDecideNothing(t *testing.T) {
	for name, c := range map[string]struct {
		verdict func(*control.Answer)
		by      journal.Writer
		check   func(*testing.T, error)
	}{
		"a short digest":   {func(v *control.Answer) { v.Digest = v.Digest[:15] }, operator, func(t *testing.T, err error) { refused[*control.DigestError](t, err, "look at it again") }},
		"another digest":   {func(v *control.Answer) { v.Digest = v.Digest[1:] + v.Digest[:1] }, operator, func(t *testing.T, err error) { refused[*control.DigestError](t, err, "") }},
		"a long digest":    {func(v *control.Answer) { v.Digest += "0" }, operator, func(t *testing.T, err error) { refused[*control.DigestError](t, err, "") }},
		"no such request":  {func(v *control.Answer) { v.ID = "perm-0" }, operator, func(t *testing.T, err error) { refused[*control.UnknownRequestError](t, err, `"perm-0"`) }},
		"another kind":     {func(v *control.Answer) { v.Kind = plan }, operator, func(t *testing.T, err error) { refused[*control.UnknownRequestError](t, err, "") }},
		"a worker":         {func(v *control.Answer) { v.By = policy.RoleWorker }, operator, func(t *testing.T, err error) { refused[*control.RefusedError](t, err, "never decides") }},
		"the leader":       {func(v *control.Answer) { v.By = policy.RoleLeader }, journal.Writer{Instance: "lead-instance", Epoch: 1}, func(t *testing.T, err error) { refused[*control.RefusedError](t, err, "not by the leader") }},
		"the system":       {func(v *control.Answer) { v.By = policy.RoleSystem }, operator, func(t *testing.T, err error) { refused[*control.RefusedError](t, err, "only denies") }},
		"the rules":        {func(v *control.Answer) { v.By = policy.RoleRules }, operator, func(t *testing.T, err error) { refused[*control.RefusedError](t, err, "the rules say nothing") }},
		"not the operator": {func(v *control.Answer) {}, journal.Writer{Instance: "lead-instance", Epoch: 1}, func(t *testing.T, err error) { refused[*control.RefusedError](t, err, "operator's name") }},
		"no object":        {func(v *control.Answer) { v.UpdatedInput = `[]` }, operator, func(t *testing.T, err error) { refused[*control.RefusedError](t, err, "JSON object") }},
		"not JSON":         {func(v *control.Answer) { v.UpdatedInput = `{` }, operator, func(t *testing.T, err error) { refused[*control.RefusedError](t, err, "JSON object") }},
		"a changed deny":   {func(v *control.Answer) { v.Allow, v.UpdatedInput = false, `{"command":"true"}` }, operator, func(t *testing.T, err error) { refused[*control.RefusedError](t, err, "JSON object") }},
		"a key twice":      {func(v *control.Answer) { v.UpdatedInput = `{"command":"true","command":"rm"}` }, operator, func(t *testing.T, err error) { refused[*control.RefusedError](t, err, "not allowed: input") }},
		"a denied change":  {func(v *control.Answer) { v.UpdatedInput = `{"command":"rm -rf x"}` }, operator, func(t *testing.T, err error) { refused[*control.RefusedError](t, err, "deny Bash(rm:*)") }},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, r := asked(t, record.PolicySet{Policy: policy.Policy{Deny: policy.MustRules("Bash(rm:*)")}}, tool, bash)
			v := verdict(r, true)
			c.verdict(&v)
			out := w.decide(v, c.by)
			c.check(t, out.Refusal)
			if out.Changed || out.Drafts != nil || r.State != machine.RequestPending {
				t.Errorf("%+v, request %s", out, r.State)
			}
		})
	}
}

func TestChangedInputIsWhatRuns(t *testing.T) {
	w, m, r := asked(t, record.PolicySet{}, tool, bash)
	v := verdict(r, true)
	v.UpdatedInput = `{"command":"go vet ./..."}`
	w.decide(v, operator)
	w.round()
	testenv.Must(t, m.start(r.Key))
	c, _ := m.w.Call(r.Key)
	changed := r.Ask
	changed.Input = v.UpdatedInput
	if c.Input() != v.UpdatedInput || c.RunDigest() != record.DigestOf(uid, r.Key, changed) || c.RunDigest() == r.Digest {
		t.Errorf("runs %s under %s", c.Input(), c.RunDigest())
	}
}

func TestExpiry(t *testing.T) {
	minute := record.PolicySet{Deadline: time.Minute.Milliseconds()}
	w, m, r := asked(t, minute, tool, bash)
	if vs := w.l.Due(w.now.Add(time.Minute - 1)); len(vs) != 0 {
		t.Errorf("due early: %+v", vs)
	}
	w.now = w.now.Add(time.Minute)
	// A late answer records the expiry and returns an error.
	out := w.decide(verdict(r, true), operator)
	refused[*control.ExpiredError](t, out.Refusal, "expired at 2026-11-20T16:01:00.000Z")
	if out.Changed || r.Decided == nil || r.Decided.By != policy.RoleSystem || r.Decided.Decision != record.DecisionDeny || r.Decided.Via != control.ViaExpiry {
		t.Fatalf("%+v", r.Decided)
	}
	// A clock that goes back does not reopen an expired request.
	w.now = w.now.Add(-time.Hour)
	refused[*control.DecidedError](t, w.decide(verdict(r, true), operator).Refusal, "deny by system")
	w.round()
	if c, _ := m.w.Call(r.Key); c.Answer.Decision != record.DecisionDeny {
		t.Errorf("%+v", c.Answer)
	}
	// A verdict cannot call itself the expiry.
	w, _, r = asked(t, minute, tool, bash)
	w.now = w.now.Add(time.Hour)
	v := verdict(r, true)
	v.Via = control.ViaExpiry
	refused[*control.ExpiredError](t, w.decide(v, operator).Refusal, "expired")
	if r.Decided.Decision != record.DecisionDeny {
		t.Errorf("allowed after the deadline: %+v", r.Decided)
	}
}

func TestDue(t *testing.T) {
	deny := policy.Policy{Deny: policy.MustRules("Bash(go test:*)", "WebFetch(domain:x.org)")}
	allow := policy.Policy{Allow: policy.MustRules("Bash(go test:*)", "WebFetch(domain:x.org)")}
	for name, c := range map[string]struct {
		before record.PolicySet
		after  policy.Policy
		kind   protocol.Kind
		want   string // Via and decision
	}{
		"nobody":              {record.PolicySet{}, allow, tool, ""},
		"rules allow":         {record.PolicySet{Decide: record.Deciders{policy.GateTool: policy.DecideRules}}, allow, tool, "rules true"},
		"rules deny":          {record.PolicySet{Decide: record.Deciders{policy.GateTool: policy.DecideRules}}, deny, tool, "rules false"},
		"rules say nothing":   {record.PolicySet{Decide: record.Deciders{policy.GateTool: policy.DecideRules}}, policy.Policy{}, tool, ""},
		"rules allow a host":  {record.PolicySet{Decide: record.Deciders{policy.GateNetwork: policy.DecideRules}}, allow, host, "rules true"},
		"rules deny a host":   {record.PolicySet{Decide: record.Deciders{policy.GateNetwork: policy.DecideRules}}, deny, host, "rules false"},
		"rules of a plan":     {record.PolicySet{Decide: record.Deciders{policy.GatePlan: policy.DecideRules}}, allow, plan, ""},
		"auto":                {record.PolicySet{Decide: record.Deciders{policy.GatePlan: policy.DecideAuto}}, policy.Policy{}, plan, "auto true"},
		"auto is for plans":   {record.PolicySet{Decide: record.Deciders{policy.GateTool: policy.DecideAuto}}, policy.Policy{}, tool, ""},
		"unattended":          {record.PolicySet{Unattended: true}, policy.Policy{}, tool, "headless false"},
		"unattended by rules": {record.PolicySet{Unattended: true, Decide: record.Deciders{policy.GateTool: policy.DecideRules}}, allow, tool, "rules true"},
	} {
		t.Run(name, func(t *testing.T) {
			w, m := working(t, c.before, c.kind == plan)
			k := m.ask(c.kind, map[protocol.Kind]record.Ask{tool: bash, host: {Host: "x.org"}, plan: {Plan: "one"}}[c.kind])
			w.setPolicy(c.after)
			m.flush()
			w.seeAll()
			vs := w.l.Due(w.now)
			got := ""
			if len(vs) > 0 {
				got = fmt.Sprint(vs[0].Via, " ", vs[0].Allow)
			}
			if got != c.want {
				t.Fatalf("%q, want %q", got, c.want)
			}
			w.round()
			if r := w.request(k); (r.Decided != nil) != (c.want != "") {
				t.Errorf("%+v", r.Decided)
			}
		})
	}
	// Rules that changed between Due and Decide decide nothing.
	w, m := working(t, record.PolicySet{Decide: record.Deciders{policy.GateTool: policy.DecideRules}}, false)
	m.ask(tool, bash)
	w.setPolicy(allow)
	m.flush()
	w.seeAll()
	vs := w.l.Due(w.now)
	w.setPolicy(policy.Policy{})
	refused[*control.RefusedError](t, w.decide(vs[0], w.lead()).Refusal, "any more")
	w.setPolicy(deny)
	w.decide(vs[0], w.lead())
	if d := w.l.Requests[0].Decided; d.Decision != record.DecisionDeny || d.By != policy.RoleRules {
		t.Errorf("the rules deny by now, and %+v", d)
	}
}

func TestEnding(t *testing.T) {
	w, m, r := asked(t, record.PolicySet{}, tool, bash)
	for _, v := range w.l.Ending() {
		w.decide(v, w.lead())
	}
	w.round()
	if r.Decided.Via != control.ViaEnding || r.Decided.Decision != record.DecisionDeny || len(w.l.Ending()) != 0 {
		t.Errorf("%+v", r.Decided)
	}
	m.is(t, machine.Executing)
}

func TestTwo(t *testing.T) {
	two := record.PolicySet{Policy: policy.Policy{Version: 1}, Decide: record.Deciders{policy.GateTool: policy.DecideTwo},
		Lead: &policy.Policy{Allow: policy.MustRules("Bash(go test:*)")}}
	lead := func(r *control.Request, allow bool) control.Answer {
		v := verdict(r, allow)
		v.By = policy.RoleLeader
		return v
	}
	t.Run("operator then lead", func(t *testing.T) {
		w, m, r := asked(t, two, tool, bash)
		for range 3 { // one person on several faces counts once
			if out := w.decide(verdict(r, true), operator); out.Changed || !out.Voted || out.Refusal != nil {
				t.Fatalf("%+v", out)
			}
		}
		if len(r.Votes) != 1 || r.State != machine.RequestPending {
			t.Fatalf("%d votes, %s", len(r.Votes), r.State)
		}
		if out := w.decide(lead(r, true), w.lead()); !out.Changed {
			t.Fatalf("%+v", out)
		}
		w.round()
		if err := m.start(r.Key); err != nil {
			t.Error(err)
		}
	})
	t.Run("lead then operator", func(t *testing.T) {
		w, _, r := asked(t, two, tool, bash)
		w.decide(lead(r, true), w.lead())
		if out := w.decide(verdict(r, true), operator); !out.Changed {
			t.Errorf("%+v", out)
		}
	})
	t.Run("a deny takes effect alone", func(t *testing.T) {
		w, _, r := asked(t, two, tool, bash)
		w.decide(lead(r, true), w.lead())
		if out := w.decide(verdict(r, false), operator); !out.Changed || r.Decided.Decision != record.DecisionDeny {
			t.Errorf("%+v", out)
		}
	})
	t.Run("different inputs", func(t *testing.T) {
		w, _, r := asked(t, two, tool, bash)
		w.decide(lead(r, true), w.lead())
		v := verdict(r, true)
		v.UpdatedInput = `{"command":"go test ./control"}`
		if out := w.decide(v, operator); out.Changed {
			t.Errorf("two votes on two inputs decide: %+v", out)
		}
		if out := w.decide(verdict(r, true), operator); !out.Changed {
			t.Errorf("who changes their mind votes anew: %+v", out)
		}
	})
	t.Run("votes of an older policy", func(t *testing.T) {
		w, _, r := asked(t, two, tool, bash)
		w.decide(lead(r, true), w.lead())
		w.setPolicy(policy.Policy{})
		if out := w.decide(verdict(r, true), operator); out.Changed {
			t.Errorf("%+v", out)
		}
	})
	t.Run("in another's name", func(t *testing.T) {
		w, _, r := asked(t, two, tool, bash)
		w.decide(verdict(r, true), operator)
		refused[*control.RefusedError](t, w.decide(lead(r, true), operator).Refusal, "lead's name")
	})
	t.Run("a record without a second", func(t *testing.T) {
		w, _, r := asked(t, two, tool, bash)
		w.append(operator, record.KindDecided, record.Decided{Key: r.Key, Digest: r.Digest, Decision: record.DecisionAllow, By: policy.RoleOperator,
			Policy: 1, Mail: mailOf(protocol.KindPermissionResponse, "ada")})
		if r.State != machine.RequestPending || len(w.l.Ignored) != 1 {
			t.Errorf("%s, ignored %v", r.State, w.l.Ignored)
		}
	})
}

// A lead agent allows only what it could do itself without asking, below high
// risk; plans it may approve, the network it may not open (trust §3).
func TestLeadAgent(t *testing.T) {
	all := record.Deciders{policy.GateTool: policy.DecideLeader, policy.GatePlan: policy.DecideLeader, policy.GateNetwork: policy.DecideLeader}
	own := policy.Policy{Mode: policy.ModeBypassPermissions, Deny: policy.MustRules("Bash(git push:*)")}
	for name, c := range map[string]struct {
		kind  protocol.Kind
		ask   record.Ask
		allow bool
		own   *policy.Policy
		ok    bool
	}{
		"its own":              {tool, bash, true, &own, true},
		"not its own":          {tool, record.Ask{Tool: "Bash", Input: `{"command":"git push"}`, Cwd: "/work"}, true, &own, false},
		"high risk":            {tool, record.Ask{Tool: "Bash", Input: `{"command":"rm -rf x"}`, Cwd: "/work"}, true, &own, false},
		"deny what it likes":   {tool, record.Ask{Tool: "Bash", Input: `{"command":"rm -rf x"}`, Cwd: "/work"}, false, &own, true},
		"no policy of its own": {tool, bash, true, nil, false},
		"a plan":               {plan, record.Ask{Plan: "one"}, true, &own, true},
		"a host":               {host, record.Ask{Host: "x.org"}, true, &own, false},
		"deny a host":          {host, record.Ask{Host: "x.org"}, false, &own, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, r := asked(t, record.PolicySet{Decide: all, Lead: c.own}, c.kind, c.ask)
			v := verdict(r, c.allow)
			v.By, v.Channel = policy.RoleLeader, policy.ChannelJournal
			if out := w.decide(v, w.lead()); out.Changed != c.ok {
				t.Errorf("%+v", out.Refusal)
			}
		})
	}
}

// A decided record that its principal, its writer or its policy did not warrant
// has no effect (trust §3, "By whom").
func TestDecidedRecordsThatAreIgnored(t *testing.T) {
	lead := journal.Writer{Instance: "lead-instance", Epoch: 1}
	for name, c := range map[string]struct {
		by     journal.Writer
		change func(*record.Decided)
	}{
		"by a member":           {journal.Writer{Instance: "ada-1", Epoch: 1}, func(d *record.Decided) {}},
		"by an older lead":      {journal.Writer{Instance: "lead-instance", Epoch: 0}, func(d *record.Decided) { d.By = policy.RoleSystem; d.Decision = record.DecisionDeny }},
		"operator, by the lead": {lead, func(d *record.Decided) {}},
		"by a worker":           {operator, func(d *record.Decided) { d.By = policy.RoleWorker }},
		"by the leader":         {lead, func(d *record.Decided) { d.By = policy.RoleLeader }},
		"by the system":         {lead, func(d *record.Decided) { d.By = policy.RoleSystem }},
		"by the rules":          {lead, func(d *record.Decided) { d.By = policy.RoleRules }},
		"by nobody":             {operator, func(d *record.Decided) { d.By = "" }},
		"another digest":        {operator, func(d *record.Decided) { d.Digest = d.Digest[1:] + "0" }},
		"another instance":      {operator, func(d *record.Decided) { d.Instance = "else" }},
		"another kind":          {operator, func(d *record.Decided) { d.Kind = plan }},
		"another id":            {operator, func(d *record.Decided) { d.ID = "else" }},
		"no decision":           {operator, func(d *record.Decided) { d.Decision = "" }},
		"an older policy":       {operator, func(d *record.Decided) { d.Policy = 0 }},
		"a newer policy":        {operator, func(d *record.Decided) { d.Policy = 2 }},
		"no answer":             {operator, func(d *record.Decided) { d.Mail = nil }},
		"another's answer":      {operator, func(d *record.Decided) { d.Mail = mailOf(protocol.KindPermissionResponse, "bob") }},
		"another message":       {operator, func(d *record.Decided) { d.Mail = mailOf(protocol.KindShutdownRequest, "ada") }},
		"input without digest":  {operator, func(d *record.Decided) { d.UpdatedInput = `{}` }},
		"digest without input":  {operator, func(d *record.Decided) { d.UpdatedDigest = d.Digest }},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, r := asked(t, record.PolicySet{}, tool, bash)
			d := record.Decided{Key: r.Key, Digest: r.Digest, Decision: record.DecisionAllow, By: policy.RoleOperator, Channel: policy.ChannelOperator,
				Policy: 1, Mail: mailOf(protocol.KindPermissionResponse, "ada")}
			c.change(&d)
			w.append(c.by, record.KindDecided, d)
			if r.State != machine.RequestPending || r.Decided != nil || len(w.l.Ignored) != 1 || len(w.l.Outbox()) != 0 {
				t.Errorf("request %s, ignored %v", r.State, w.l.Ignored)
			}
			if out := w.decide(verdict(r, false), operator); !out.Changed {
				t.Errorf("the real decision: %+v", out)
			}
			n := len(w.l.Ignored)
			w.append(operator, record.KindDecided, *r.Decided) // doubled
			if len(w.l.Ignored) != n+1 || r.Decided.Decision != record.DecisionDeny {
				t.Error("a doubled decision had an effect")
			}
		})
	}
}

// TestOneDecision races approve, deny, expire, supersede (by a newer plan, by a later start of the asker) and kill from
// three processes on one request with a stepping clock: in every order it is decided at most once, every process folds
// the same decision, and the worker runs what was allowed (trust §3).
func TestOneDecision(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	outcomes := map[string]int{}
	for range testenv.Scale(300, 10_000) {
		outcomes[oneDecision(t, rng)]++
		if t.Failed() {
			return
		}
	}
	testenv.Measured(t, "interleavings of approve, deny, expire, supersede and kill from three processes: %v, each decided at most once and run at most once, as decided", outcomes)
	for _, want := range []string{"allow by operator", "deny by operator", "deny by system", "closed"} {
		if outcomes[want] == 0 {
			t.Errorf("never %s", want)
		}
	}
}

// quickAsked is a request on record with as few records as it takes.
func quickAsked(t *testing.T, kind protocol.Kind, a record.Ask) (*world, *member, record.Key) {
	w := newWorld(t, record.PolicySet{Deadline: 3000}, nil)
	m := w.join("ada", false)
	m.do(func() ([]journal.Draft, error) { return m.w.Take(record.Taken{Entries: []string{"chat"}}, m.lead) })
	k := m.ask(kind, a)
	m.flush()
	w.see(w.box.entries[0])
	return w, m, k
}

func oneDecision(t *testing.T, rng *rand.Rand) string {
	kind, a := tool, bash
	if rng.IntN(3) == 0 {
		kind, a = plan, record.Ask{Plan: "one"}
	}
	w, m, k := quickAsked(t, kind, a)
	old := m.writer() // of the first process
	var folds [3]*control.Leader
	var handles [3]*journal.Handle
	for i := range folds {
		folds[i] = control.NewLeader(nil)
		handles[i] = w.mem.Open(folds[i])
	}
	changed, runs := 0, 0
	for range 8 {
		w.now = w.now.Add(time.Duration(rng.IntN(1000)) * time.Millisecond)
		i := rng.IntN(3)
		act := func(by journal.Writer, step func() ([]journal.Draft, error)) {
			if _, err := handles[i].Append(context.Background(), by, step); err != nil {
				t.Fatal(err)
			}
		}
		decide := func(v control.Answer, by journal.Writer) {
			act(by, func() ([]journal.Draft, error) {
				out, err := folds[i].Decide(v, by, w.mint())
				if out.Changed && v.Key == k {
					changed++
				}
				var expired *control.ExpiredError
				if errors.As(out.Refusal, &expired) && len(out.Drafts) > 0 && v.Key == k {
					changed++
				}
				return out.Drafts, err
			})
		}
		switch rng.IntN(9) {
		case 0, 1:
			r := w.request(k)
			decide(verdict(r, true), operator)
		case 2:
			decide(verdict(w.request(k), false), operator)
		case 3:
			for _, v := range folds[i].Due(w.now) {
				decide(v, w.lead())
			}
		case 4:
			if rng.IntN(4) == 0 {
				act(w.lead(), func() ([]journal.Draft, error) {
					lm, _ := folds[i].ByInstance(m.instance)
					return folds[i].Let(lm, record.LeftDied, ""), nil
				})
			}
		case 5:
			w.must(w.j.Refresh(context.Background()))
			w.deliver()
			m.poll()
		case 6:
			if m.start(k) == nil {
				runs++
			}
		case 7: // superseded
			if kind == plan && m.w.Turn() != nil {
				m.ask(plan, record.Ask{Plan: "two"})
				m.flush()
			} else if lm, _ := w.l.ByInstance(m.instance); lm.Left == nil {
				m.boot()
			}
			w.seeAll()
		case 8:
			if m.writer() != old { // an overtaken process does nothing any more
				if _, err := m.j.Append(context.Background(), old, func() ([]journal.Draft, error) {
					return m.w.Start(k, old.Epoch, m.lead, m.now)
				}); err == nil {
					t.Errorf("an older process started %s", k.ID)
				}
			}
		}
		w.must(w.j.Refresh(context.Background()))
	}
	for i := range handles {
		w.must(handles[i].Refresh(context.Background()))
		if !reflect.DeepEqual(w.l.Requests, folds[i].Requests) {
			t.Errorf("process %d sees another request: %s", i, cmp.Diff(w.l.Requests, folds[i].Requests, sameFold))
		}
	}
	r := w.request(k)
	decisions := 0
	for _, rec := range w.mem.Records() {
		var d record.Decided
		if rec.Kind != record.KindDecided {
			continue
		}
		if w.must(json.Unmarshal(rec.Body, &d)); d.Key == k {
			decisions++
		}
	}
	if decisions > 1 || changed != decisions || len(w.l.Ignored) > 0 || (r.Decided != nil) != (decisions == 1) {
		t.Errorf("%d decided records, %d said to have changed it, %d ignored", decisions, changed, len(w.l.Ignored))
	}
	if runs > 1 || runs == 1 && r.Decided.Decision != record.DecisionAllow {
		t.Errorf("%d runs of %+v", runs, r.Decided)
	}
	if kind == plan && m.w.State() == machine.Executing && (r.Decided == nil || r.Decided.Decision != record.DecisionAllow) {
		t.Errorf("the plan is carried out and was not approved: %+v", r.Decided)
	}
	if c, _ := m.w.Call(k); c.Answer != nil && c.Answer.Leader != 0 && (r.Decided == nil || c.Answer.Decision != r.Decided.Decision) {
		t.Errorf("the worker took %+v, decided was %+v", c.Answer, r.Decided)
	}
	if r.Decided == nil {
		return string(r.State)
	}
	return r.Decided.Decision + " by " + string(r.Decided.By)
}
