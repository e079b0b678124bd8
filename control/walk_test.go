package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if args := os.Getenv(deciderEnv); args != "" {
		if err := decideForever(args); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	_ = flag.Set("rapid.checks", strconv.Itoa(testenv.Scale(40, 10_000))) // the walk checks itself as often as it wants
	os.Exit(m.Run())
}

// walk is a random walk over one leader and three members: the model of what has
// happened, beside the machines.
type walk struct {
	*world
	rt       *rapid.T
	decided  map[record.Key]string          // by the first Decide that said so
	runs     map[record.Key]int             // calls that really ran
	gone     map[record.Instance]bool       // members that were seen to be terminated
	over     map[record.Instance]bool       // workers that were
	done     map[string]bool                // box and entry id: judged
	versions map[record.Instance]uint64     // policy applied
	effects  map[string]map[uint64]bool     // instance: leader seqs that had an effect
	plans    map[record.Instance]record.Key // the plan that unlocked the turn
	told     told
}

var asks = []struct {
	kind protocol.Kind
	ask  record.Ask
}{
	{tool, bash},
	{tool, record.Ask{Tool: "Bash", Input: `{"command":"make"}`, Cwd: "/work", ToolUseID: "toolu_2"}},
	{tool, record.Ask{Tool: "Read", Input: `{"file_path":"a.go"}`, Cwd: "/work"}},
	{tool, record.Ask{Tool: "Bash", Input: `{"command":"rm -rf /"}`, Cwd: "/work"}},
	{host, record.Ask{Host: "x.org", Port: "443"}},
	{host, record.Ask{Host: "bad.org"}},
	{plan, record.Ask{Plan: "one"}},
	{plan, record.Ask{Plan: "two"}},
}

func newWalk(rt *rapid.T) *walk {
	set := record.PolicySet{Policy: policy.Policy{Deny: policy.MustRules("Bash(rm:*)", "WebFetch(domain:bad.org)")},
		Decide: record.Deciders{policy.GateTool: rapid.SampledFrom([]policy.Decider{policy.DecideOperator, policy.DecideRules, policy.DecideTwo, policy.DecideLeader}).Draw(rt, "decide tool"),
			policy.GatePlan: rapid.SampledFrom([]policy.Decider{policy.DecideOperator, policy.DecideAuto}).Draw(rt, "decide plan")},
		Lead:       &policy.Policy{Allow: policy.MustRules("Bash(go test:*)")},
		Deadline:   rapid.SampledFrom([]int64{0, 60_000}).Draw(rt, "deadline"),
		Unattended: rapid.IntRange(0, 9).Draw(rt, "attended") == 0}
	seen := told{rt: rt, all: map[string]machine.Observation{}, at: map[string]machine.State{}}
	w := &walk{world: newWorld(rt, set, seen.observe), told: seen, rt: rt, decided: map[record.Key]string{}, runs: map[record.Key]int{},
		gone: map[record.Instance]bool{}, over: map[record.Instance]bool{}, done: map[string]bool{},
		versions: map[record.Instance]uint64{}, effects: map[string]map[uint64]bool{}, plans: map[record.Instance]record.Key{}}
	for i, name := range []protocol.MemberName{"ada", "bob", "cleo"} {
		m := w.join(name, i == 1)
		if rapid.IntRange(0, 4).Draw(rt, "idle") > 0 {
			w.assign(m, record.Task{ID: "9", Instructions: "begin"})
			w.deliver()
			w.doReceiveAll(m)
			m.take()
		}
	}
	return w
}

func (w *walk) any(label string) *member {
	return w.members[rapid.IntRange(0, len(w.members)-1).Draw(w.rt, label)]
}

// left reports whether the member is recorded as left and its process has ended.
func (w *walk) left(m *member) bool {
	lm, _ := w.l.ByInstance(m.instance)
	return lm.Left != nil
}

func (w *walk) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"":         func(*rapid.T) { w.check() },
		"assign":   func(rt *rapid.T) { w.doAssign() },
		"take":     func(rt *rapid.T) { w.doTake() },
		"ask":      func(rt *rapid.T) { w.doAsk() },
		"ask2":     func(rt *rapid.T) { w.doAsk() },
		"start":    func(rt *rapid.T) { w.doStart() },
		"start2":   func(rt *rapid.T) { w.doStart() },
		"finish":   func(rt *rapid.T) { w.doFinish() },
		"wait":     func(rt *rapid.T) { w.doStopWaiting() },
		"idle":     func(rt *rapid.T) { w.doIdle() },
		"flush":    func(rt *rapid.T) { w.doFlush() },
		"receive":  func(rt *rapid.T) { w.doReceive() },
		"receive2": func(rt *rapid.T) { w.doReceiveAll(w.any("member")) },
		"round":    func(rt *rapid.T) { w.doRound() },
		"round2":   func(rt *rapid.T) { w.doRound() },
		"through":  func(rt *rapid.T) { w.doThrough() },
		"through2": func(rt *rapid.T) { w.doThrough() },
		"see":      func(rt *rapid.T) { w.doSee() },
		"pass":     func(rt *rapid.T) { w.doPass() },
		"pass2":    func(rt *rapid.T) { w.doPass() },
		"send":     func(rt *rapid.T) { w.doSend() },
		"fetch":    func(rt *rapid.T) { w.doFetch() },
		"decide":   func(rt *rapid.T) { w.doDecide() },
		"decide2":  func(rt *rapid.T) { w.doDecide() },
		"due":      func(rt *rapid.T) { w.doDue() },
		"tick": func(rt *rapid.T) {
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 40_000).Draw(rt, "ms")) * time.Millisecond)
		},
		"shutdown": func(rt *rapid.T) { w.doShutdown() },
		"answer":   func(rt *rapid.T) { w.doAnswer() },
		"policy":   func(rt *rapid.T) { w.doPolicy() },
		"crash":    func(rt *rapid.T) { w.doCrash() },
		"lead":     func(rt *rapid.T) { w.doCrashLead() },
		"leave":    func(rt *rapid.T) { w.doLeave() },
		"forge":    func(rt *rapid.T) { w.doForge() },
		"replay":   func(rt *rapid.T) { w.doReplay() },
	}
}

func (w *walk) doAssign() {
	m := w.any("member")
	lm, _ := w.l.ByInstance(m.instance)
	if lm.State() == machine.Terminated {
		w.rt.Skip()
	}
	id := strconv.Itoa(rapid.IntRange(1, 4).Draw(w.rt, "task"))
	w.assign(m, record.Task{ID: id, Subject: "task " + id, Instructions: "do " + id, PlanRequired: rapid.IntRange(0, 3).Draw(w.rt, "plan") == 0})
}

func (w *walk) doTake() {
	m := w.any("member")
	t := record.Taken{Entries: []string{fmt.Sprint("chat", w.n)}}
	if next := nextTask(m.w); next != nil {
		t = record.Taken{Task: next.ID}
	}
	recs, err := m.try(func() ([]journal.Draft, error) { return m.w.Take(t, m.lead) })
	if idle := err == nil; idle != (len(recs) == 1) {
		w.t.Fatalf("take: %v, %d records", err, len(recs))
	}
}

func (w *walk) doAsk() {
	m, q := w.any("member"), asks[rapid.IntRange(0, len(asks)-1).Draw(w.rt, "question")]
	busy := m.w.Turn() != nil
	leaving := m.w.State() == machine.ShuttingDown || m.w.State() == machine.Terminated
	_, err := m.try(func() ([]journal.Draft, error) {
		_, ds, err := m.w.Ask(q.kind, q.ask, m.lead, w.mint())
		return ds, err
	})
	switch {
	case leaving && errors.Is(err, control.ErrShuttingDown), !leaving && !busy && errors.Is(err, control.ErrNoTurn), !leaving && busy && err == nil:
	default:
		w.t.Fatalf("ask %s in %s: %v", q.kind, m.w.State(), err)
	}
}

func (w *walk) doStart() {
	m := w.any("member")
	if len(m.w.Calls) == 0 {
		w.rt.Skip()
	}
	calls := m.w.Calls
	if ready := slices.DeleteFunc(slices.Clone(calls), func(c *control.Call) bool {
		return c.Started || c.Kind != tool || c.Answer == nil || c.Answer.Decision != record.DecisionAllow
	}); len(ready) > 0 && rapid.IntRange(0, 3).Draw(w.rt, "any call") > 0 {
		calls = ready
	}
	w.start(m, calls[rapid.IntRange(0, len(calls)-1).Draw(w.rt, "call")].Key)
}

// start tries to start a call and checks that it may, when it does.
func (w *walk) start(m *member, k record.Key) {
	w.checkMember(m) // a plan may have been approved since the last step
	c, _ := m.w.Call(k)
	in := m.w.State()
	owes := m.w.Turn() != nil && m.w.Turn().Plan && w.plans[m.instance] == (record.Key{})
	err := m.start(c.Key)
	if err != nil {
		var refused *control.GrantError
		if !errors.As(err, &refused) && !errors.Is(err, control.ErrShuttingDown) && !errors.Is(err, control.ErrNoTurn) {
			w.t.Fatalf("start: %v", err)
		}
		return
	}
	w.runs[c.Key]++
	switch {
	case w.runs[c.Key] > 1:
		w.t.Fatalf("%s runs a second time", c.ID)
	case in == machine.ShuttingDown || in == machine.Terminated || in == machine.Idle:
		w.t.Fatalf("%s started while %s", c.ID, in)
	case owes && c.Ask.Tool != "Read":
		w.t.Fatalf("%s started before a plan was approved", c.Ask.Input)
	case w.left(m):
		w.t.Fatalf("%s started after its member left", c.ID)
	case c.AskedSeq != 0 && w.decided[c.Key] != record.DecisionAllow:
		w.t.Fatalf("%s started and was decided %q", c.ID, w.decided[c.Key])
	case c.AskedSeq == 0 && c.Answer.By != policy.RoleRules:
		w.t.Fatalf("%s started by %s", c.ID, c.Answer.By)
	}
	v := m.w.Effective(m.lead, m.now).Judge(policy.Call{Tool: c.Ask.Tool, Input: []byte(c.Input()), Cwd: c.Ask.Cwd})
	if v.Decision == policy.Deny {
		w.t.Fatalf("%s runs and is denied: %s", c.Input(), v.Rule)
	}
}

// doThrough brings one call all the way, if it is allowed.
func (w *walk) doThrough() {
	m := w.any("member")
	if m.w.Turn() == nil || m.w.State() == machine.ShuttingDown || m.w.State() == machine.Terminated {
		w.rt.Skip()
	}
	k := m.ask(tool, asks[rapid.IntRange(0, 1).Draw(w.rt, "tool")].ask)
	w.doRound()
	if r, ok := w.l.Request(k); ok {
		w.verdict(verdict(r, rapid.IntRange(0, 3).Draw(w.rt, "no") > 0), operator)
	}
	w.doRound()
	w.start(m, k)
}

func (w *walk) doFinish() {
	m := w.any("member")
	for _, c := range m.w.Calls {
		if c.Started {
			m.do(func() ([]journal.Draft, error) { return m.w.Finish(record.Finished{Key: c.Key}), nil })
		}
	}
}

func (w *walk) doStopWaiting() {
	m := w.any("member")
	bs := m.w.Blocking()
	if len(bs) == 0 {
		w.rt.Skip()
	}
	k := bs[rapid.IntRange(0, len(bs)-1).Draw(w.rt, "question")].Key
	m.do(func() ([]journal.Draft, error) { return m.w.StopWaiting(k, "retry when approved"), nil })
}

func (w *walk) doIdle() {
	m := w.any("member")
	m.idle()
	delete(w.plans, m.instance)
}

// doFlush sends what is on record, once or twice, or loses it.
func (w *walk) doFlush() {
	m := w.any("member")
	times := rapid.IntRange(0, 2).Draw(w.rt, "times")
	for _, s := range m.w.Outbox {
		if m.sent[s.Seq] || s.Mail.To != protocol.Lead {
			continue
		}
		if times == 0 && rapid.Bool().Draw(w.rt, "later") {
			continue
		}
		m.sent[s.Seq] = true
		env := envelopeOf(w.t, s.Mail)
		for range max(times, 1) {
			w.box.put(env, false)
		}
	}
}

func (w *walk) receive(m *member, e entry) {
	before := workerShape(m)
	owned := m.w.Owns(e.id)
	genuine := len(m.lead.Vouches(m.instance, protocol.Decode(e.env).Kind, record.HashText(e.env.Text))) > 0 && e.env.From == string(protocol.Lead)
	recs := m.receive(e)
	genuine = genuine || len(m.lead.Vouches(m.instance, protocol.Decode(e.env).Kind, record.HashText(e.env.Text))) > 0 && e.env.From == string(protocol.Lead)
	w.judged(string(m.instance), e, owned, recs, genuine)
	for _, r := range recs {
		if r.Kind == record.KindUnverified {
			if after := workerShape(m); after != before {
				w.t.Fatalf("unverified %s changed the worker: %s", e.env.Text, cmp.Diff(before, after))
			}
			continue
		}
		var b struct {
			Ref    uint64 `json:"leader_seq"`
			Kind   protocol.Kind
			Result string             `json:"decision"`
			Key    protocol.RequestID `json:"id"`
		}
		w.must(json.Unmarshal(r.Body, &b))
		seqs := w.effects[string(m.instance)]
		if seqs == nil {
			seqs = map[uint64]bool{}
			w.effects[string(m.instance)] = seqs
		}
		if b.Ref == 0 || seqs[b.Ref] {
			w.t.Fatalf("order %d has its effect a second time", b.Ref)
		}
		seqs[b.Ref] = true
	}
}

func (w *walk) doReceive() {
	m := w.any("member")
	if len(m.box.entries) == 0 {
		w.rt.Skip()
	}
	w.receive(m, m.box.entries[rapid.IntRange(0, len(m.box.entries)-1).Draw(w.rt, "entry")])
}

// doReceiveAll leaves out what was judged: doReceive meets that again.
func (w *walk) doReceiveAll(m *member) {
	for _, e := range m.box.entries {
		if !w.done[string(m.instance)+e.id] {
			w.receive(m, e)
		}
	}
}

func (w *walk) seeOne(e entry) {
	audits, owned := len(w.l.Unverified), w.l.Owns(e.id)
	var from *control.Worker
	if m, ok := w.l.Member(protocol.MemberName(e.env.From)); ok {
		from = w.peer(m.Instance)
	}
	d := protocol.Decode(e.env)
	id := protocol.RequestID("")
	if d.Payload != nil {
		id, _ = protocol.RequestIDOf(d.Payload)
	}
	genuine := from != nil && len(from.Vouches(d.Kind, id, record.HashText(e.env.Text))) > 0
	before := leaderShape(w.world)
	recs := w.see(e)
	w.judged("leader", e, owned, recs, genuine)
	if len(recs) == 1 && recs[0].Kind == record.KindUnverified {
		if len(w.l.Unverified) != audits+1 {
			w.t.Fatalf("%d audit records for one entry", len(w.l.Unverified)-audits)
		}
		if after := leaderShape(w.world); after != before {
			w.t.Fatalf("unverified %s changed the leader: %s", e.env.Text, cmp.Diff(before, after))
		}
	}
}

func (w *walk) doSee() {
	if len(w.box.entries) == 0 {
		w.rt.Skip()
	}
	w.seeOne(w.box.entries[rapid.IntRange(0, len(w.box.entries)-1).Draw(w.rt, "entry")])
}

func (w *walk) doSeeAll() {
	for _, e := range w.box.entries {
		if !w.done["leader"+e.id] {
			w.seeOne(e)
		}
	}
}

func (w *walk) doPass() {
	w.doSeeAll()
	w.settle()
	if w.l.Divergence != nil {
		w.t.Fatalf("the journals disagree: %+v", w.l.Divergence)
	}
}

// doRound is a round of mail as it should be.
func (w *walk) doRound() {
	for _, m := range w.members {
		m.flush()
	}
	w.doSeeAll()
	w.doDue()
	w.settle()
	w.deliver()
	for _, m := range w.members {
		if !w.left(m) {
			w.doReceiveAll(m)
		}
	}
}

// doSend delivers orders: once, twice, late, or not at all although it says so.
func (w *walk) doSend() {
	for _, o := range w.l.Outbox() {
		times := rapid.IntRange(0, 2).Draw(w.rt, "times")
		if times == 0 && rapid.Bool().Draw(w.rt, "later") {
			continue
		}
		env := envelopeOf(w.t, o.Mail)
		for range times {
			w.byInstance(o.Instance).box.put(env, false)
		}
		w.append(w.lead(), record.KindSent, record.Sent{Ref: uint64(o.Seq)})
	}
	for _, r := range w.l.Requests { // its member had fetched it before it was sent
		if r.Order != nil && r.Order.Closed && !r.Order.Sent && rapid.Bool().Draw(w.rt, "sent all the same") {
			w.append(w.lead(), record.KindSent, record.Sent{Ref: uint64(r.Order.Seq)})
		}
	}
}

// doFetch makes a member fetch messages that were not delivered.
func (w *walk) doFetch() {
	w.fetch(w.any("member"))
}

func (w *walk) fetch(m *member) {
	w.must(m.lj.Refresh(context.Background()))
	for _, o := range m.lead.Unclosed(m.instance) {
		if m.w.Wants(o) {
			env := envelopeOf(w.t, o.Mail)
			m.box.put(env, false)
		}
	}
}

func (w *walk) doDecide() {
	if len(w.l.Requests) == 0 {
		w.rt.Skip()
	}
	rs := w.l.Requests
	if open := w.l.Pending(); len(open) > 0 && rapid.IntRange(0, 3).Draw(w.rt, "any request") > 0 {
		rs = open
	}
	r := rs[rapid.IntRange(0, len(rs)-1).Draw(w.rt, "request")]
	v := verdict(r, rapid.Bool().Draw(w.rt, "allow"))
	v.By = rapid.SampledFrom([]policy.Role{policy.RoleOperator, policy.RoleOperator, policy.RoleLeader, policy.RoleSystem, policy.RoleRules, policy.RoleWorker}).Draw(w.rt, "by")
	by := rapid.SampledFrom([]journal.Writer{operator, w.lead()}).Draw(w.rt, "writer")
	if r.Kind == tool && v.Allow && rapid.IntRange(0, 4).Draw(w.rt, "changed") == 0 {
		v.UpdatedInput = `{"command":"go test ./control"}`
	}
	w.verdict(v, by)
}

// verdict gives a verdict and keeps the model: the first that says it changed the
// request is the only one that ever does.
func (w *walk) verdict(v control.Answer, by journal.Writer) {
	r := w.request(v.Key)
	before := w.decided[r.Key]
	out := w.decide(v, by)
	word := map[bool]string{true: record.DecisionAllow, false: record.DecisionDeny}[v.Allow]
	var decided *control.DecidedError
	var expired *control.ExpiredError
	switch {
	case before != "" && (out.Changed || len(out.Drafts) > 0):
		w.t.Fatalf("%s was %s and is decided again", r.ID, before)
	case before != "" && before != word && !errors.As(out.Refusal, &decided):
		w.t.Fatalf("%s was %s, and %s is answered by %v", r.ID, before, word, out.Refusal)
	case errors.As(out.Refusal, &expired) && len(out.Drafts) > 0:
		w.decided[r.Key] = record.DecisionDeny
	case out.Changed:
		w.decided[r.Key] = r.Decided.Decision
		if w.l.Policy.DeciderOf(r.Gate()) == policy.DecideTwo && v.Allow &&
			!slices.ContainsFunc(r.Votes, func(d record.Decided) bool { return d.By != v.By && d.Decision == record.DecisionAllow }) {
			w.t.Fatalf("%s allowed %s alone: %+v", v.By, r.ID, r.Votes)
		}
		if v.By == policy.RoleWorker || v.By == policy.RoleOperator && !by.Operator {
			w.t.Fatalf("%s decided as %+v", v.By, by)
		}
	}
}

func (w *walk) doDue() {
	for _, v := range w.l.Due(w.now) {
		w.verdict(v, w.lead())
	}
}

func (w *walk) doShutdown() {
	m := w.any("member")
	lm, _ := w.l.ByInstance(m.instance)
	had := lm.Shutdown
	w.shutdown(m, policy.RoleOperator)
	if had != nil && lm.Shutdown != had {
		w.t.Fatalf("a second shutdown while one is outstanding")
	}
}

func (w *walk) doAnswer() {
	m := w.any("member")
	was := m.w.State()
	m.answer(rapid.IntRange(0, 2).Draw(w.rt, "yes") == 0)
	if was != machine.ShuttingDown && m.w.State() != was {
		w.t.Fatalf("an answer to no shutdown: %s to %s", was, m.w.State())
	}
}

func (w *walk) doPolicy() {
	if rapid.Bool().Draw(w.rt, "mode") {
		m := w.any("member")
		if lm, _ := w.l.ByInstance(m.instance); lm.State() != machine.Terminated {
			mode := rapid.SampledFrom([]policy.Mode{policy.ModeDefault, policy.ModePlan, policy.ModeBypassPermissions}).Draw(w.rt, "mode")
			w.setMode(m, mode, policy.RoleOperator, operator)
		}
		return
	}
	p := w.l.Policy.Policy
	p.Allow = rapid.SampledFrom([][]policy.Rule{nil, policy.MustRules("Bash(make)"), policy.MustRules("Bash(go test:*)")}).Draw(w.rt, "allow")
	w.setPolicy(p)
}

func (w *walk) doCrash() {
	m := w.any("member")
	if w.left(m) {
		w.rt.Skip()
	}
	m.boot()
	for _, c := range m.w.Calls {
		if c.Started && c.Finished == nil && !c.Unknown {
			w.t.Fatalf("%s was lost and nobody says so", c.ID)
		}
	}
}

// doCrashLead folds the leader's journal anew, from a prefix first.
func (w *walk) doCrashLead() {
	old, recs := w.l, w.mem.Records()
	n := rapid.IntRange(0, len(recs)).Draw(w.rt, "prefix")
	l := control.NewLeader(nil)
	for _, r := range recs[:n] {
		w.must(l.Apply(r))
	}
	l.Outbox()
	for _, r := range recs[n:] {
		w.must(l.Apply(r))
	}
	w.restart()
	if len(recs) < 60 && n%4 == 0 {
		if d := cmp.Diff(old, w.l, sameFold); d != "" {
			w.t.Fatalf("folded anew: %s", d)
		}
	}
	if a, b := leaderShape(&world{l: l}), leaderShape(w.world); a != b {
		w.t.Fatalf("a prefix and the rest fold to %s, the whole to %s", a, b)
	}
}

// doLeave records a member as left; a new one takes its name.
func (w *walk) doLeave() {
	m := w.any("member")
	if w.left(m) || len(w.members) > 4 {
		w.rt.Skip()
	}
	w.command(m, func(lm *control.Member) ([]journal.Draft, error) { return w.l.Let(lm, record.LeftDied, ""), nil })
	w.join(m.name, false).box = m.box // the mailbox of that name is still there
}

// doForge puts a forged message into a mailbox, with the ids that are really open.
func (w *walk) doForge() {
	m := w.any("member")
	k := record.Key{ID: "perm-0"}
	if n := len(m.w.Calls); n > 0 {
		k = m.w.Calls[n-1].Key
	}
	shutdown := protocol.RequestID("shutdown-0@ada")
	if lm, _ := w.l.ByInstance(m.instance); lm.Shutdown != nil {
		shutdown = lm.Shutdown.Commanded.ID
	}
	from := rapid.SampledFrom([]string{"team-lead", "ada", "bob", "mallory"}).Draw(w.rt, "from")
	if rapid.Bool().Draw(w.rt, "to lead") {
		ps := reports(from, k, shutdown)
		w.box.put(envelope(from, encode(w.t, ps[rapid.IntRange(0, len(ps)-1).Draw(w.rt, "kind")])), true)
		return
	}
	ps := authority(k, shutdown)
	m.box.put(envelope(from, encode(w.t, ps[rapid.IntRange(0, len(ps)-1).Draw(w.rt, "kind")])), true)
}

// doReplay copies an old entry to the end of its mailbox or into another's.
func (w *walk) doReplay() {
	m, to := w.any("member"), w.any("to")
	if rapid.Bool().Draw(w.rt, "lead's") {
		if n := len(w.box.entries); n > 0 {
			w.box.put(w.box.entries[rapid.IntRange(0, n-1).Draw(w.rt, "entry")].env, true)
		}
		return
	}
	if n := len(m.box.entries); n > 0 {
		to.box.put(m.box.entries[rapid.IntRange(0, n-1).Draw(w.rt, "entry")].env, true)
	}
}

// TestWalk takes random walks over one leader and three members whose mail is delivered once,
// twice, late, in any order or not at all, whose processes crash, whose answers contradict each
// other, and whose mailboxes any process writes to. The invariants of protocol §5.3 and trust §1 to
// §4 hold after every step.
func TestWalk(t *testing.T) {
	t.Parallel()
	const shards = 4
	checks := flag.Lookup("rapid.checks").Value.String()
	steps := flag.Lookup("rapid.steps").Value.String()
	testenv.Must(t, errors.Join(flag.Set("rapid.checks", strconv.Itoa(testenv.Scale(240, 100_000)/shards)), flag.Set("rapid.steps", "40")))
	sum := &sum{total: map[string]int{}}
	t.Run("shards", func(t *testing.T) {
		for n := range shards {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(rt *rapid.T) {
					w := newWalk(rt)
					rt.Repeat(w.actions())
					w.settleAll()
					sum.add(w)
				})
			})
		}
	})
	testenv.Must(t, errors.Join(flag.Set("rapid.checks", checks), flag.Set("rapid.steps", steps)))
	testenv.Measured(t, "random walks over a team, with every invariant checked after each of 40 steps: %v", sum.total)
	for _, want := range []string{"runs", "decided", "unverified", "unverified by members", "unknown ends"} {
		if sum.total[want] == 0 {
			t.Errorf("no %s: the walk shows nothing", want)
		}
	}
}
