package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/control"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// TestLose: the end of a member's process is on record once for each start, with the next start
// where a leader gives it one.
func TestLose(t *testing.T) {
	restart := &record.Restart{Most: 3, Window: 60_000, First: 1000, Longest: 10_000}
	soon := start.Add(time.Second)
	died := func(detail string, again *time.Time, attempt int) *record.Died {
		return &record.Died{Instance: "ann", Epoch: 4, Detail: detail, Again: again, Attempt: attempt}
	}
	for what, c := range map[string]struct {
		m                  control.Member
		supervised, failed bool
		want               *record.Died
	}{
		"without a restart":       {control.Member{}, true, false, died("gone", nil, 0)},
		"with one":                {control.Member{Joined: record.Joined{Restart: restart}}, true, false, died("gone", &soon, 0)},
		"without a leader":        {control.Member{Joined: record.Joined{Restart: restart}}, false, false, died("gone", nil, 0)},
		"being stopped":           {control.Member{Joined: record.Joined{Restart: restart}, Stopping: &record.Stopping{}}, true, false, died("gone", nil, 0)},
		"said yes":                {control.Member{Joined: record.Joined{Restart: restart}, Approved: true}, true, false, died("gone", nil, 0)},
		"left":                    {control.Member{Left: &record.Left{}}, true, false, nil},
		"on record":               {control.Member{Died: died("before", nil, 2)}, true, false, nil},
		"on record, to start":     {control.Member{Joined: record.Joined{Restart: restart}, Died: died("before", &soon, 2)}, true, false, nil},
		"on record, given up":     {control.Member{Joined: record.Joined{Restart: restart}, Died: &record.Died{GaveUp: true}}, true, false, nil},
		"while no leader ran":     {control.Member{Joined: record.Joined{Restart: restart}, Died: died("before", nil, 2), Deaths: []time.Time{start}}, true, false, died("before", &soon, 2)},
		"the start failed":        {control.Member{Joined: record.Joined{Restart: restart}, Died: died("before", &soon, 2)}, true, true, died("gone", &soon, 3)},
		"the start failed, alone": {control.Member{Died: died("before", &soon, 2)}, false, true, died("gone", nil, 3)},
		"failed, and left":        {control.Member{Died: died("before", &soon, 2), Left: &record.Left{}}, true, true, nil},
		"too often":               {control.Member{Joined: record.Joined{Restart: restart}, Deaths: []time.Time{start, start, start}}, true, false, &record.Died{Instance: "ann", Epoch: 4, Detail: "gone", GaveUp: true}},
	} {
		c.m.Instance, c.m.Process = "ann", &record.Process{Epoch: 4}
		var got *record.Died
		ds := control.NewLeader(nil).RecordDeath(&c.m, "gone", c.supervised, c.failed, start)
		if len(ds) > 0 {
			b := ds[0].Body.(record.Died)
			got = &b
			if len(ds) > 1 || ds[0].Kind != record.KindDied || !ds[0].Must {
				t.Errorf("%s: %+v", what, ds)
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	if ds := control.NewLeader(nil).RecordDeath(&control.Member{}, "gone", false, false, start); ds[0].Body.(record.Died).Epoch != 0 {
		t.Errorf("before its first start: %+v", ds)
	}
}

// TestHow: Member.How tests its conditions in order; the first that holds is how the member ended.
func TestHow(t *testing.T) {
	died, stopping := &record.Died{}, &record.Stopping{}
	file := func(m control.Member) control.Member { m.Trust = record.FileTrust; return m }
	for _, c := range []struct {
		m    control.Member
		want string
	}{
		{control.Member{Approved: true, Died: died, Stopping: stopping}, record.LeftHandshake},
		{control.Member{Died: died, Stopping: stopping}, record.LeftDied},
		{control.Member{Stopping: stopping}, record.LeftStopped},
		{control.Member{}, record.LeftDied},
		{control.Member{AgreedAt: start, Stopping: stopping}, record.LeftStopped},
		{file(control.Member{AgreedAt: start, Died: died}), record.LeftHandshake},
		{file(control.Member{Stopping: stopping}), record.LeftReleased},
		{file(control.Member{Died: died, Stopping: stopping}), record.LeftDied},
		{file(control.Member{Approved: true}), record.LeftHandshake},
	} {
		if got := c.m.How(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.m, got, c.want)
		}
	}
}

// TestLeadingProcess: the process that leads is on record, and the operator's request that it ends
// or detaches is for that process only.
func TestLeadingProcess(t *testing.T) {
	w := newWorld(t, record.PolicySet{}, nil)
	led := func(pid int) record.LeadingProcess { return record.LeadingProcess{ID: spawn.Identity{PID: pid}} }
	w.append(w.lead(), record.KindLeading, led(7))
	ignored := len(w.l.Ignored)
	w.append(w.lead(), record.KindEnding, record.Ending{})
	w.append(w.lead(), record.KindDetached, record.Detached{})
	if got := len(w.l.Ignored) - ignored; got != 2 || w.l.Closing != nil || w.l.Detached {
		t.Errorf("of the lead itself: %d are ignored, %v, %v", got, w.l.Closing, w.l.Detached)
	}
	w.append(operator, record.KindEnding, record.Ending{})
	w.append(operator, record.KindDetached, record.Detached{})
	if w.l.Closing == nil || !w.l.Detached || w.l.Led.ID.PID != 7 {
		t.Errorf("%v, %v, %+v", w.l.Closing, w.l.Detached, w.l.Led)
	}
	w.append(w.lead(), record.KindLeading, led(7))
	if w.l.Closing == nil || !w.l.Detached {
		t.Error("the same process once more has lost the wish")
	}
	w.append(w.lead(), record.KindLeading, led(8))
	if w.l.Closing != nil || w.l.Detached || w.l.Led.ID.PID != 8 {
		t.Errorf("another process: %v, %v, %+v", w.l.Closing, w.l.Detached, w.l.Led)
	}
}

// TestSession: a report of an agent about itself is on record once, within its bounds, and steps
// belong to a turn.
func TestSession(t *testing.T) {
	_, ann := withAnn(t)
	long := strings.Repeat("x", 256)
	for _, c := range []struct {
		c  record.Conversation
		ok bool
	}{
		{record.Conversation{ID: "c1", Model: "m"}, true}, {record.Conversation{ID: long, Model: long}, true}, {record.Conversation{ID: "c1"}, true},
		{record.Conversation{Model: "m"}, false}, {record.Conversation{ID: long + "x"}, false}, {record.Conversation{ID: "c", Model: long + "x"}, false},
		{record.Conversation{ID: "c\xff"}, false}, {record.Conversation{ID: "c", Model: "m\xff"}, false},
	} {
		ds, err := ann.w.Converse(c.c)
		if (err == nil) != c.ok || (len(ds) == 1) != c.ok {
			t.Errorf("%+v: %+v, %v", c.c, ds, err)
		}
	}
	c := record.Conversation{ID: "c1", Model: "m"}
	ann.do(func() ([]journal.Draft, error) { return ann.w.Converse(c) })
	if got := ann.w.Conversation; got == nil || *got != c {
		t.Errorf("%+v", got)
	}
	if ds, err := ann.w.Converse(c); ds != nil || err != nil {
		t.Errorf("once more: %+v, %v", ds, err)
	}
	c.Resumed = true
	if ds, err := ann.w.Converse(c); len(ds) != 1 || err != nil {
		t.Errorf("resumed: %+v, %v", ds, err)
	}

	use := func(id string, n int64) record.Usage {
		return record.Usage{ID: id, Input: n, Source: record.UsageReported}
	}
	for _, bad := range []record.Usage{{Input: 1}, use("r", -1), use(long+"x", 1), use("r\xff", 1)} {
		if ds, err := ann.w.Use(bad); ds != nil || err == nil {
			t.Errorf("%+v: %+v, %v", bad, ds, err)
		}
	}
	for _, u := range []record.Usage{use("r1", 5), use("r1", 5), use("", 1), use("", 1), use(long, 100)} {
		ann.do(func() ([]journal.Draft, error) { return ann.w.Use(u) })
	}
	if got := ann.w.Usage; got.Input != 107 || got.Source != record.UsageReported {
		t.Errorf("%+v", got)
	}
	if _, err := ann.try(func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindUsed, Body: use("r2", -1)}}, nil
	}); err == nil {
		t.Error("a usage that counts backward is folded")
	}

	step := func(state string) []record.Step { return []record.Step{{Text: " build ", State: state}} }
	if _, err := ann.w.Declare(step("pending")); err != control.ErrNoTurn {
		t.Errorf("without a turn: %v", err)
	}
	ann.do(func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindSteps, Body: record.Steps{Steps: step("pending")}}}, nil
	})
	if ann.w.Steps != nil {
		t.Errorf("without a turn: %+v", ann.w.Steps)
	}
	ann.do(func() ([]journal.Draft, error) { return ann.w.Take(record.Taken{}, ann.lead) })
	many := func(n int) (steps []record.Step) {
		for range n {
			steps = append(steps, step("completed")...)
		}
		return steps
	}
	for _, c := range []struct {
		steps []record.Step
		why   string
	}{
		{step("pending"), ""}, {step("in_progress"), ""}, {many(200), ""}, {many(201), "201 steps: at most 200"}, {step("done"), `step 1: state "done" is not one of`},
		{append(step("pending"), step("")...), `step 2: state "" is`},
	} {
		if _, err := ann.w.Declare(c.steps); (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%d steps: %v, want %q", len(c.steps), err, c.why)
		}
	}
	ann.do(func() ([]journal.Draft, error) { return ann.w.Declare(step("in_progress")) })
	if d := cmp.Diff([]record.Step{{Text: "build", State: "in_progress"}}, ann.w.Steps); d != "" {
		t.Error(d)
	}
	ann.open()
	if ann.w.Usage.Input != 107 || ann.w.Conversation == nil || len(ann.w.Steps) != 1 {
		t.Errorf("folded anew: %+v, %+v, %+v", ann.w.Usage, ann.w.Conversation, ann.w.Steps)
	}
}

// TestGrants: standing answers hold for their member until their time; an answer for one time holds
// for its turn, unless it is denied by now.
func TestGrants(t *testing.T) {
	until := start.Add(time.Hour)
	w := newWorld(t, record.PolicySet{Hosts: []record.HostGrant{{Host: "all.test", Port: "80"}, {Host: "no.test", Deny: true}, {Host: "bob.test", Instance: "bob"},
		{Host: "soon.test", Until: &until, From: &record.Key{ID: "r7"}}}}, nil)
	ann := w.join("ann", false)
	standing := []control.Grant{{Host: "all.test", Port: "80", Scope: control.ScopeSession}, {Host: "no.test", Deny: true, Scope: control.ScopeSession},
		{Host: "soon.test", Scope: control.ScopeUntil, Until: &until, Request: "r7"}}
	grants := func(now time.Time) []control.Grant { return ann.w.Grants(ann.lead, now) }
	if d := cmp.Diff(standing, grants(start)); d != "" {
		t.Errorf("at first: %s", d)
	}
	if d := cmp.Diff(standing[:2], grants(until)); d != "" {
		t.Errorf("at its end: %s", d)
	}
	w.assign(ann, record.Task{ID: "1", Subject: "s", Instructions: "do it"})
	w.round()
	ann.take()
	k := ann.ask(host, record.Ask{Host: "once.test", Port: "443"})
	denied := ann.ask(host, record.Ask{Host: "never.test"})
	call := ann.ask(tool, bash)
	w.round()
	if d := cmp.Diff(standing, grants(start)); d != "" {
		t.Errorf("before an answer: %s", d)
	}
	w.decide(verdict(w.request(k), true), operator)
	w.decide(verdict(w.request(denied), false), operator)
	w.decide(verdict(w.request(call), true), operator)
	w.round()
	once := append(standing[:3:3], control.Grant{Host: "once.test", Port: "443", Scope: control.ScopeOnce, Request: k.ID})
	if d := cmp.Diff(once, grants(start)); d != "" {
		t.Errorf("answered: %s", d)
	}
	set := w.l.Policy
	set.Policy.Version++
	set.Hosts = append(set.Hosts[:3:3], record.HostGrant{Host: "once.test", Deny: true})
	w.append(operator, record.KindPolicy, set)
	w.must(ann.lj.Refresh(t.Context()))
	if d := cmp.Diff([]control.Grant{standing[0], standing[1], {Host: "once.test", Deny: true, Scope: control.ScopeSession}}, grants(start)); d != "" {
		t.Errorf("denied since: %s", d)
	}
	set.Policy.Version++
	set.Policy.Deny = policy.MustRules("WebFetch(domain:*.all.test)", "WebFetch(domain:x.soon.test)")
	w.append(operator, record.KindPolicy, set)
	w.must(ann.lj.Refresh(t.Context()))
	ruled := []control.Grant{standing[1], {Host: "once.test", Deny: true, Scope: control.ScopeSession},
		{Host: "*.all.test", Deny: true, Scope: control.ScopeSession, Rule: "deny WebFetch(domain:*.all.test)"},
		{Host: "x.soon.test", Deny: true, Scope: control.ScopeSession, Rule: "deny WebFetch(domain:x.soon.test)"}}
	if d := cmp.Diff(ruled, grants(start)); d != "" {
		t.Errorf("under a rule: %s", d)
	}
	set.Policy.Version++
	set.Policy.Deny, set.Policy.Mode = nil, policy.ModeLockedDown
	w.append(operator, record.KindPolicy, set)
	w.must(ann.lj.Refresh(t.Context()))
	for _, g := range grants(start) {
		if !g.Deny {
			t.Errorf("in mode locked-down: %+v", g)
		}
	}
	set.Policy.Version++
	set.Policy.Mode = ""
	w.append(operator, record.KindPolicy, set)
	w.must(ann.lj.Refresh(t.Context()))
	ann.idle()
	if n := len(grants(start)); n != 3 {
		t.Errorf("after the turn: %+v", grants(start))
	}
}

// TestByHandle: ByHandle finds the newest request with a handle, in upper or lower case; an empty
// or unknown handle finds none.
func TestByHandle(t *testing.T) {
	w, ann := working(t, record.PolicySet{}, false)
	first, second := ann.ask(tool, bash), ann.ask(host, record.Ask{Host: "a.test"})
	w.round()
	for _, k := range []record.Key{first, second} {
		r := w.request(k)
		for _, typed := range []string{r.Handle, strings.ToLower(r.Handle), " " + r.Handle + "\n"} {
			if got, ok := w.l.ByHandle(typed); !ok || got != r {
				t.Errorf("%q: %v, %v", typed, got, ok)
			}
		}
	}
	for _, none := range []string{"", " ", "ZZZZZZ", w.request(first).Handle + "2"} {
		if got, ok := w.l.ByHandle(none); ok || got != nil {
			t.Errorf("%q: %+v", none, got)
		}
	}
	w.request(first).Handle = w.request(second).Handle
	if got, _ := w.l.ByHandle(w.request(second).Handle); got != w.request(second) {
		t.Errorf("of two requests the older: %v", got.Key)
	}
}

// TestEntriesOfTheLead: words in the lead's mailbox are for its agent while one is there, and so is
// an order that the journal has for it; everything else is for the leader's process.
func TestEntriesOfTheLead(t *testing.T) {
	w, ann := withAnn(t)
	words := incoming(protocol.Lead, w.box.put(envelope("ann", "hello"), false))
	report := incoming(protocol.Lead, w.box.put(envelope("ann", encode(t, protocol.IdleNotification{From: "ann", Timestamp: stamp, IdleReason: "available"})), false))
	if _, ok := w.l.LeadAgent(); ok || w.l.ForAgent(words) || w.l.ForAgent(report) {
		t.Error("without an agent")
	}
	w.append(operator, record.KindJoined, record.Joined{Instance: "b055", Name: protocol.Lead, Lead: "boss", Agent: "exec", Trust: record.Cooperative})
	boss, ok := w.l.LeadAgent()
	if !ok || boss.Instance != "b055" || !boss.Leads() || !w.l.ForAgent(words) || w.l.ForAgent(report) {
		t.Errorf("%+v: words %v, a report %v", boss, w.l.ForAgent(words), w.l.ForAgent(report))
	}
	if m, _ := w.l.ByInstance(ann.instance); m.Leads() {
		t.Error("a member leads")
	}
	w.do(operator, func() ([]journal.Draft, error) {
		return w.l.Assign(boss, record.Task{ID: "1", Subject: "s", Instructions: "do it"}, policy.RoleOperator, w.mint())
	})
	o, _ := w.l.Assignment("1")
	env := envelopeOf(t, o.Mail)
	order := incoming(protocol.Lead, w.box.put(env, false))
	env.From = "ann"
	copied := incoming(protocol.Lead, w.box.put(env, false))
	agent, other := control.NewWorker(nil), control.NewWorker(nil)
	agent.Instance, other.Instance = "b055", "another"
	if !w.l.ForAgent(order) || w.l.ForAgent(copied) || !agent.Addressed(order, w.l) || other.Addressed(order, w.l) || agent.Addressed(copied, w.l) || !agent.Addressed(words, w.l) {
		t.Errorf("an order: %v, from a member: %v, for its start: %v, for another: %v", w.l.ForAgent(order), w.l.ForAgent(copied), agent.Addressed(order, w.l), other.Addressed(order, w.l))
	}
	w.append(operator, record.KindLeft, record.Left{Instance: "b055", How: record.LeftStopped})
	if _, ok := w.l.LeadAgent(); ok || w.l.ForAgent(words) {
		t.Error("after it has left")
	}
}

// TestNews: NewsAfter has the first idle of a member after the lead gave it work, every result and
// failure, and once that all members are idle. An idle without work from the lead is no event.
func TestNews(t *testing.T) {
	w := newWorld(t, record.PolicySet{}, nil)
	ann, bob := w.join("ann", false), w.join("bob", false)
	idle := func(m *member, said record.Said, reason string) {
		m.says(protocol.IdleNotification{From: string(m.name), Timestamp: protocol.FormatTime(w.now), IdleReason: reason}, said)
		w.round()
	}
	seen := journal.Seq(0)
	news := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, n := range w.l.NewsAfter(seen) {
			got = append(got, strings.TrimSpace(string(n.Member)+" "+string(n.What)+" "+n.Task+" "+n.Note))
			if n.Seq <= seen || n.Seq > w.l.Head() || n.Time.IsZero() {
				t.Errorf("%s: %+v", what, n)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		seen = w.l.Head()
	}
	idle(ann, record.Said{}, "available")
	news("idle at first")
	for id, m := range map[string]*member{"1": ann, "2": bob} {
		w.assign(m, record.Task{ID: id, Subject: "s", Instructions: "do it"})
	}
	w.round()
	ann.take()
	bob.take()
	ann.says(protocol.TaskCompleted{From: "ann", TaskID: "1", Timestamp: stamp}, record.Said{Task: "1", Note: "it works"})
	w.round()
	news("a result", "ann result 1 it works")
	ann.says(protocol.TaskProgress{RequestID: "1", Timestamp: stamp, Progress: protocol.Progress{Phase: "done", Message: "x"}}, record.Said{Task: "1"})
	w.round()
	news("progress")
	idle(ann, record.Said{Task: "1"}, "available")
	news("the first idle", "ann idle 1")
	idle(ann, record.Said{}, "available")
	news("the second idle")
	idle(bob, record.Said{Task: "2", Failed: true, Note: "no disk"}, "failed")
	news("a failure, and all idle", "bob failed 2 no disk", "all idle")
	idle(bob, record.Said{}, "available")
	idle(ann, record.Said{}, "available")
	news("idle again")
}
