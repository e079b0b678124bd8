package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/leader"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// story is a scripted run of a team: two members, four tasks, every kind of request, chat, a
// shutdown that is rejected and one that is approved. Its expected end does not depend on the
// faults in between.
type story struct {
	*world
	over  chan struct{}
	asked map[protocol.MemberName]time.Time // when a member was asked to end

	ordered map[string]bool // what the leader's journal orders
	looked  int             // as far as it was read
}

// answers are what the operator says to what is asked.
var answers = map[string]struct {
	allow   bool
	reason  string
	updated string
}{
	"make one":        {allow: true},
	"make two":        {allow: true, updated: `{"command":"make two, changed"}`},
	"make three":      {allow: true},
	"make bad":        {reason: "not that"},
	"example.com:443": {allow: true},
	"evil.com:80":     {reason: "no"},
	"plan A":          {reason: "too much"},
	"plan B":          {allow: true},
}

// expected is what sessions are told.
var expected = map[string]string{
	"echo one": "true by rules", "make one": "true by operator", "make two": "true by operator", "make three": "true by operator",
	"make bad": "false by operator", "rm x": "false by rules", "example.com:443": "true by operator", "evil.com:80": "false by operator",
	"plan A": "false by operator", "plan B": "true by operator",
}

// commands may run once each; the others never.
var commands = []string{"echo one", "make one", "make two, changed", "make three"}

var chats = map[protocol.MemberName][]string{"ann": {"c1", "c2", "c3", "hi ann", "on record", "never sent", "in the turn"}, "bob": {"hello bob"}}

func newStory(t testing.TB) *story {
	w := newWorld(t, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault,
		Allow: policy.MustRules("Bash(echo:*)"), Deny: policy.MustRules("Bash(rm:*)")},
		Decide: record.Deciders{policy.GateTool: policy.DecideOperator}},
		record.Joined{Name: "ann"}, record.Joined{Name: "bob"})
	s := &story{world: w, over: make(chan struct{}), asked: map[protocol.MemberName]time.Time{}, ordered: map[string]bool{}}
	w.plays = map[string]play{
		"1": func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			return steps(h.Progress(ctx, "analyzing", "one"), s.tool(ctx, h, "echo one"), s.tool(ctx, h, "make one"),
				h.Say(ctx, "bob", "hello bob", ""), s.network(ctx, h, "example.com:443"), s.network(ctx, h, "evil.com:80"), s.tool(ctx, h, "make two"))
		},
		"2": func(ctx context.Context, h agent.Host, work agent.Work) (agent.Result, error) {
			if work.Task.PlanRequired {
				s.plan(ctx, h, "plan A")
				if err := s.plan(ctx, h, "plan B"); err != nil {
					return agent.Result{}, err
				}
			}
			return steps(s.tool(ctx, h, "make three"), h.Say(ctx, "ann", "hi ann", ""))
		},
		"3": func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			if err := s.tool(ctx, h, "make bad"); err != nil {
				return agent.Result{}, err
			}
			return agent.Result{Failed: true, Denied: true, Reason: "denied"}, nil
		},
		"4": func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			return steps(s.tool(ctx, h, "rm x"))
		},
	}
	w.onChat = func(ctx context.Context, h agent.Host, work agent.Work) (agent.Result, error) {
		_, err := w.bash(ctx, h, "echo read "+work.Mail[0].Text)
		return agent.Result{Summary: "read"}, err
	}
	for id, owner := range owners {
		w.board.add(id, "do "+id, owner)
	}
	return s
}

var owners = map[string]protocol.MemberName{"1": "ann", "2": "bob", "3": "ann", "4": "bob"}

func steps(errs ...error) (agent.Result, error) {
	for _, err := range errs {
		if err != nil {
			return agent.Result{}, err
		}
	}
	return agent.Result{Summary: "done"}, nil
}

func (s *story) tool(ctx context.Context, h agent.Host, cmd string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_, err := s.bash(ctx, h, cmd)
	return err
}

func (s *story) plan(ctx context.Context, h agent.Host, plan string) error {
	a, err := h.Plan(ctx, plan)
	if err == nil {
		s.hear(plan, a)
	}
	return err
}

func (s *story) network(ctx context.Context, h agent.Host, host string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	a, err := h.Network(ctx, host, "to look")
	if err == nil {
		s.hear(host, a)
	}
	return err
}

// run runs the story to its end and restarts processes that die. It reports whether the end came
// within an hour of the bubble's time.
func (s *story) run(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	var wg sync.WaitGroup
	for _, n := range []protocol.MemberName{"ann", "bob"} {
		wg.Go(func() { s.supervise(ctx, n) })
	}
	wg.Go(func() { s.operator(ctx) })
	wg.Go(func() {
		for ctx.Err() == nil && !s.lead(ctx) {
		}
		cancel()
	})
	wg.Wait()
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// lead runs one process that leads; true when the story is over.
func (s *story) lead(ctx context.Context) bool {
	p := s.process(ctx, protocol.Lead)
	defer p.wg.Wait()
	defer p.kill()
	nudges := s.nudged(p.ctx, &p.wg)
	l, err := s.openLeader(p)
	for err != nil && !p.isDead() && ctx.Err() == nil {
		time.Sleep(time.Second) // the bubble's clock
		l, err = s.openLeader(p)
	}
	for p.ctx.Err() == nil {
		if err := l.Pass(p.ctx); err == nil && s.drive(p.ctx, l) {
			close(s.over)
			return true
		}
		select {
		case <-nudges:
		case <-p.ctx.Done():
		}
	}
	return false
}

// drive is what a program that leads does between passes: assign, and end the
// team when the work is done.
func (s *story) drive(ctx context.Context, l *leader.Leader) bool {
	// Orders are read from the record: the process that gave them may have died.
	recs := s.world.lead.Records()
	for _, r := range recs[s.looked:] {
		var c record.Commanded
		if r.Kind == record.KindCommanded && json.Unmarshal(r.Body, &c) == nil {
			if c.Task != nil {
				s.ordered[c.What+c.Task.ID] = true
			} else {
				s.ordered[c.What+string(c.Instance)] = true
			}
		}
	}
	s.looked = len(recs)
	for _, id := range []string{"1", "2", "3", "4"} {
		if !s.ordered[record.CommandAssigned+id] {
			if err := l.Assign(ctx, owners[id], record.Task{ID: id, Subject: "task " + id, Instructions: "do " + id, PlanRequired: id == "2"}); err != nil {
				return false
			}
		}
	}
	early, over := false, false
	var live []protocol.MemberName
	l.View(func(fold *control.Leader) {
		ann, _ := fold.Member("ann")
		early = !s.ordered[record.CommandShutdown+string(ann.Instance)] && asks(fold, "make one")
		over = s.done(fold)
		for _, m := range fold.Live() {
			live = append(live, m.Name)
		}
	})
	if early {
		if err := l.Shutdown(ctx, "ann", "too early", policy.RoleOperator); err != nil {
			return false
		}
	}
	if !over {
		return false
	}
	for _, name := range live {
		if time.Since(s.asked[name]) >= time.Second { // the bubble's clock: a no rests for a second
			s.asked[name] = time.Now()
			if err := l.Shutdown(ctx, name, "the work is done", policy.RoleOperator); err != nil {
				return false
			}
		}
	}
	return len(live) == 0 && l.End(ctx, "done") == nil
}

func asks(l *control.Leader, what string) bool {
	return slices.ContainsFunc(l.Pending(), func(r *control.Request) bool { return content(r.Ask) == what })
}

// content is what a question is about.
func content(a record.Ask) string {
	switch {
	case a.Plan != "":
		return a.Plan
	case a.Host != "":
		return a.Host + ":" + a.Port
	}
	var in struct{ Command string }
	if json.Unmarshal([]byte(a.Input), &in) != nil {
		return a.Input
	}
	return in.Command
}

// done reports whether every task has ended and every message was read.
func (s *story) done(l *control.Leader) bool {
	for id, owner := range owners {
		m, _ := l.Member(owner)
		if m.Done[id] == nil && m.Turns[id] == nil {
			return false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, texts := range chats {
		for _, text := range texts {
			if !slices.ContainsFunc(s.read, func(r reading) bool { return r.text == text }) {
				return false
			}
		}
	}
	return true
}

// operator answers what is asked and chats.
func (s *story) operator(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	nudges := s.nudged(ctx, &wg)
	fold := control.NewLeader(nil)
	j := s.world.lead.Open(fold)
	said := 0
	for {
		if err := j.Refresh(ctx); err != nil {
			if ctx.Err() == nil {
				s.wrongf("leader's journal: %v", err)
			}
			return
		}
		ann, _ := fold.Member("ann")
		switch {
		case said == 0 && asks(fold, "make one"): // ann is busy
			s.chat("ann", "team-lead", "c1")
			s.chat("ann", "team-lead", "c2")
			s.say("ann", "on record", record.Words{}, true)
			s.say("ann", "never sent", record.Words{}, false)
			s.say("ann", "in the turn", record.Words{Priority: record.PriorityNextTool}, true)
			said = 2
		case said == 2 && ann.Done["1"] != nil:
			s.chat("ann", "team-lead", "c3")
			said = 3
		}
		for _, r := range fold.Pending() {
			s.decide(ctx, j, fold, r)
		}
		select {
		case <-nudges:
		case <-ctx.Done():
			return
		}
	}
}

func (s *story) decide(ctx context.Context, j journal.Journal, fold *control.Leader, r *control.Request) {
	what := content(r.Ask)
	a, ok := answers[what]
	if !ok {
		s.wrongf("asked for %q", what)
		return
	}
	ann, _ := fold.Member("ann")
	if what == "make one" && ann.Rejected == "" {
		return // until ann has refused to end
	}
	out, err := leader.Decide(ctx, j, fold, journal.Writer{Operator: true, PID: 1}, s.minter, control.Answer{Key: r.Key, Digest: r.Digest,
		Allow: a.allow, By: policy.RoleOperator, Channel: policy.ChannelOperator, Reason: a.reason, UpdatedInput: a.updated})
	if err != nil && ctx.Err() == nil || out.Refusal != nil {
		s.wrongf("decide %s: %v %v", what, err, out.Refusal)
	}
	s.poke()
}

// check verifies the invariants that hold with every fault.
func (s *story) check(ended bool) []string {
	var bad []string
	badf := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if !ended {
		badf("the story did not end")
	}
	bad = append(bad, s.wrong...)
	l := s.leaderFold()
	for _, i := range l.Ignored {
		badf("ignored in the leader's journal: seq %d %s: %s", i.Seq, i.Kind, i.Why)
	}
	s.checkRequests(l, badf)
	s.checkRuns(badf)
	s.checkChat(badf)
	for _, h := range s.heard {
		what, said, _ := strings.Cut(h, ": ")
		if want := expected[what]; said != want && !strings.HasPrefix(what, "echo read") {
			badf("a session was told %q for %q, want %q", said, what, want)
		}
	}
	for _, m := range l.Members {
		switch w := s.fold(m.Name); {
		case m.Left == nil || m.Left.How != record.LeftHandshake:
			badf("%s left as %+v", m.Name, m.Left)
		case w.State() != machine.Terminated || w.Turn() != nil:
			badf("%s ended in state %s", m.Name, w.State())
		}
	}
	s.checkBoxes(l, badf)
	return bad
}

// checkRequests: everything was asked once and answered once, and the members'
// journals have the same answers as the leader's.
func (s *story) checkRequests(l *control.Leader, badf func(string, ...any)) {
	n := map[string]int{}
	for _, r := range l.Requests {
		what := content(r.Ask)
		n[what]++
		m, _ := l.ByInstance(r.Instance)
		c, ok := s.fold(m.Name).Call(r.Key)
		switch {
		case r.Decided == nil:
			badf("%s was never decided", what)
		case !ok || c.Answer == nil:
			badf("%s has no answer in the member's journal", what)
		case c.Answer.Decision != r.Decided.Decision || c.Answer.Leader != uint64(r.Order.Seq):
			badf("%s: the member has %s by %d, the leader %s by %d", what, c.Answer.Decision, c.Answer.Leader, r.Decided.Decision, r.Order.Seq)
		case (r.Decided.Decision == record.DecisionAllow) != answers[what].allow:
			badf("%s was decided as %s", what, r.Decided.Decision)
		}
	}
	for what := range answers {
		if n[what] != 1 {
			badf("%q was asked %d times", what, n[what])
		}
	}
}

// checkRuns: no call ran twice or without an allow, and a call that did not run is recorded as
// unknown.
func (s *story) checkRuns(badf func(string, ...any)) {
	for cmd, n := range s.ran {
		if n > 1 || !slices.Contains(commands, cmd) && !strings.HasPrefix(cmd, "echo read") {
			badf("%q ran %d times", cmd, n)
		}
	}
	for _, name := range []protocol.MemberName{"ann", "bob"} {
		for _, c := range s.fold(name).Calls {
			var in struct{ Command string }
			if c.Kind != protocol.KindPermissionRequest || json.Unmarshal([]byte(c.Input()), &in) != nil {
				continue
			}
			switch ran := s.ran[in.Command]; {
			case c.Started && c.Finished == nil && !c.Unknown:
				badf("%q has neither an end nor is it unknown", in.Command)
			case ran == 1 && !c.Started && c.Answer.Decision != record.DecisionAllow:
				badf("%q ran although it was denied", in.Command)
			case ran == 0 && c.Finished != nil && !c.Finished.Failed:
				badf("%q is on record as done and never ran", in.Command)
			case ran == 1 && !slices.ContainsFunc(s.fold(name).Calls, func(o *control.Call) bool { return o.Started && o.Input() == c.Input() }):
				badf("%q ran without a start on record", in.Command)
			}
		}
	}
}

// checkChat: every message reached its member, once a session and in order.
func (s *story) checkChat(badf func(string, ...any)) {
	n := map[reading]int{}
	var last map[string]int
	for to, texts := range chats {
		last = map[string]int{}
		for _, r := range s.read {
			name, _, _ := strings.Cut(r.session, "/")
			if name != string(to) {
				continue
			}
			n[r]++
			at := slices.Index(texts, r.text)
			if at < 0 {
				badf("%s was given %q", r.session, r.text)
			}
			if strings.HasPrefix(r.text, "c") { // these were sent in this order
				if at < last[r.session] {
					badf("%s was given %q too late", r.session, r.text)
				}
				last[r.session] = at
			}
		}
	}
	for r, times := range n {
		if times > 1 {
			badf("%s was given %q %d times", r.session, r.text, times)
		}
	}
}

// checkBoxes: every message is there once and marked, and none was taken for a forgery.
func (s *story) checkBoxes(l *control.Leader, badf func(string, ...any)) {
	for name, box := range s.boxes {
		es, err := box.Entries(context.Background())
		if err != nil {
			badf("%s: %v", name, err)
		}
		for _, e := range es {
			if e.ID.Occurrence > 1 {
				badf("%s has a copy of %s", name, e.Envelope.Text)
			}
		}
	}
	for _, u := range l.Unverified {
		if !strings.Contains(u.Why, "copy") {
			badf("lead: unverified %s from %s: %s", u.Kind, u.From, u.Why)
		}
	}
	for name := range s.own {
		for _, r := range s.ownOf(name).Records() {
			var u record.Unverified
			if r.Kind == record.KindUnverified && json.Unmarshal(r.Body, &u) == nil && !strings.Contains(u.Why, "copy") && !strings.Contains(u.Why, "answers nothing that is open") {
				badf("%s: unverified %s: %s", name, u.Kind, u.Why)
			}
		}
		es, err := s.box(name).Unread(context.Background())
		for _, e := range es {
			if protocol.Decode(e.Envelope).Kind == protocol.KindShutdownRequest {
				continue // the last mark may fail, and no process is left to retry it
			}
			badf("%s: unread at the end: %s", name, e.Envelope.Text)
		}
		if err != nil {
			badf("%s: %v", name, err)
		}
	}
}

// TestLife runs the story without faults.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		if bad := s.check(s.run(t.Context())); len(bad) > 0 {
			t.Errorf("%s\n%s", strings.Join(bad, "\n"), s.dump())
		}
		if s.lives != 3 {
			t.Errorf("%d processes, want 3", s.lives)
		}
		for cmd, want := range map[string]int{"echo one": 1, "make one": 1, "make two, changed": 1, "make three": 1} {
			if s.ran[cmd] != want {
				t.Errorf("%q ran %d times, want %d", cmd, s.ran[cmd], want)
			}
		}
		if n := len(s.read); n != 8 {
			t.Errorf("%d messages were read, want 8: %v", n, s.read)
		}
		if s.log.Len() > 0 {
			t.Errorf("nothing failed, and the log has:\n%s", s.log)
		}
	})
}
