package control_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/control"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// fileWorld is a team with one member that waggle runs, ada, and one that speaks by file, bob.
func fileWorld(t *testing.T, set record.PolicySet) (*world, *control.Member) {
	w := newWorld(t, set, nil)
	w.join("ada", false)
	w.append(operator, record.KindJoined, record.Joined{Instance: "bob-file", Name: "bob", Agent: "registered", Cwd: "/work", Trust: record.FileTrust})
	bob, _ := w.l.ByInstance("bob-file")
	return w, bob
}

// byFile is what the leader drafts for a message of bob's in the lead's mailbox.
func (w *world) byFile(p protocol.Payload) []journal.Draft {
	w.t.Helper()
	return w.seeFile(w.box.put(envelope("bob", encode(w.t, p)), false))
}

func (w *world) seeFile(e entry) []journal.Draft {
	w.t.Helper()
	ds, err := w.l.SeeFile(incoming(protocol.Lead, e), w.mint())
	w.must(err)
	return ds
}

// heardByFile appends what is drafted for a message of bob's.
func (w *world) heardByFile(p protocol.Payload) {
	w.t.Helper()
	w.do(w.lead(), func() ([]journal.Draft, error) { return w.byFile(p), nil })
}

// refusedFor is the reason of an audit record, which is the first draft; "" for any other.
func refusedFor(ds []journal.Draft) string {
	if len(ds) == 0 || ds[0].Kind != record.KindUnverified {
		return ""
	}
	return ds[0].Body.(record.Unverified).Why
}

const stamp = "2026-11-20T16:00:00.000Z"

// makeCall asks to run make, under an id.
func makeCall(id string) protocol.PermissionRequest {
	return protocol.PermissionRequest{RequestID: id, AgentID: "bob", ToolName: "Bash", ToolUseID: "toolu_7", Description: "tests",
		Input: json.RawMessage(`{"command":"make","stdin":"y"}`)}
}

func askHost(id, name string) protocol.SandboxPermissionRequest {
	return protocol.SandboxPermissionRequest{RequestID: id, WorkerID: "bob", WorkerName: "bob", HostPattern: protocol.HostPattern{Host: name}, CreatedAt: 1}
}

// TestSeeFileRefuses: a message that cannot be read, names another sender, comes from a member that
// does not speak by file, or may not come by file, is put on record and has no other effect.
func TestSeeFileRefuses(t *testing.T) {
	w, _ := fileWorld(t, record.PolicySet{})
	idle := encode(t, protocol.IdleNotification{From: "bob", Timestamp: stamp, IdleReason: "available"})
	for what, c := range map[string]struct {
		from, text, why string
	}{
		"unreadable":    {"bob", `{"type":"permission_request","request_id":7}`, "cannot be read: "},
		"another":       {"bob", strings.Replace(idle, `"bob"`, `"ada"`, 1), "the payload names another sender than the envelope"},
		"our member":    {"ada", strings.Replace(idle, `"bob"`, `"ada"`, 1), "no member of that name speaks by file"},
		"nobody":        {"eve", strings.Replace(idle, `"bob"`, `"eve"`, 1), "no member of that name speaks by file"},
		"not by file":   {"bob", encode(t, protocol.ModeSetRequest{Mode: "plan", From: "bob"}), "by file has no effect"},
		"no request":    {"bob", encode(t, protocol.ShutdownApproved{RequestID: "shutdown-1", From: "bob", Timestamp: stamp}), "it answers no open request to shut down"},
		"no request to": {"bob", encode(t, protocol.ShutdownRejected{RequestID: "shutdown-1", From: "bob", Reason: "busy", Timestamp: stamp}), "it answers no open request to shut down"},
	} {
		e := w.box.put(envelope(c.from, c.text), false)
		ds := w.seeFile(e)
		drafts := 1
		if what == "unreadable" { // bob waits for an answer, and is told that none comes
			drafts = 2
		}
		if why := refusedFor(ds); len(ds) != drafts || !strings.Contains(why, c.why) || c.why == "" {
			t.Errorf("%s: %q, want %q: %+v", what, why, c.why, ds)
		}
		w.do(w.lead(), func() ([]journal.Draft, error) { return ds, nil })
		if again := w.seeFile(e); again != nil {
			t.Errorf("%s once more: %+v", what, again)
		}
	}
	if ds := w.seeFile(w.box.put(envelope("bob", "hello"), false)); ds != nil {
		t.Errorf("words: %+v", ds)
	}
	if len(w.l.Requests) > 0 {
		t.Errorf("requests: %+v", w.l.Requests)
	}
}

// TestAskedByFile: a request opens with what its message says, byte for byte, and with the team's
// time limit where a person is there to answer.
func TestAskedByFile(t *testing.T) {
	w, bob := fileWorld(t, record.PolicySet{Deadline: 5000})
	key := func(kind protocol.Kind, id string) record.Key {
		return record.Key{Instance: bob.Instance, Kind: kind, ID: protocol.RequestID(id)}
	}
	until := w.now.Add(5 * time.Second)
	for _, c := range []struct {
		p    protocol.Payload
		kind protocol.Kind
		id   string
		want record.Ask
	}{
		{makeCall("p1"), tool, "p1", record.Ask{N: 2, Tool: "Bash", Input: `{"command":"make","stdin":"y"}`, Cwd: "/work", Reason: "tests", ToolUseID: "toolu_7", Bound: record.Bound{Stdin: "y"}}},
		{protocol.PlanApprovalRequest{From: "bob", Timestamp: stamp, PlanContent: "First this.", PlanFilePath: "/p", RequestID: "p2"}, plan, "p2", record.Ask{N: 2, Plan: "First this."}},
		{askHost("p3", "example.org:443"), host, "p3", record.Ask{N: 2, Host: "example.org", Port: "443"}},
		{askHost("p4", "Example.ORG"), host, "p4", record.Ask{N: 2, Host: "example.org", Spelled: "Example.ORG"}},
	} {
		before := len(w.l.Requests)
		w.heardByFile(c.p)
		r, ok := w.l.Request(key(c.kind, c.id))
		if !ok || len(w.l.Requests) != before+1 {
			t.Fatalf("%s opens no request", c.id)
		}
		if d := cmp.Diff(c.want, r.Ask); d != "" || r.Expires == nil || !r.Expires.Equal(until) || r.Digest != record.DigestOf(uid, r.Key, c.want) {
			t.Errorf("%s: %s, until %v", c.id, d, r.Expires)
		}
	}
	// The same again opens nothing; another input under the same id has the first denied, and once more is told in words.
	again := w.byFile(makeCall("p1"))
	if len(again) != 1 || again[0].Kind != record.KindSeen || again[0].Body.(record.Seen).Ask != nil || again[0].Body.(record.Seen).Expires != nil {
		t.Errorf("the same again: %+v", again)
	}
	w.do(w.lead(), func() ([]journal.Draft, error) { return again, nil })
	if r, _ := w.l.Request(key(tool, "p1")); r.State != machine.RequestPending || len(w.l.Requests) != 4 {
		t.Errorf("it is %s, and there are %d", r.State, len(w.l.Requests))
	}
	other := makeCall("p1")
	other.Input = json.RawMessage(`{"command":"rm"}`)
	ds := w.byFile(other)
	if !strings.HasPrefix(refusedFor(ds), "contested: ") || len(ds) != 2 || ds[1].Kind != record.KindDecided || ds[1].Body.(record.Decided).Decision != record.DecisionDeny {
		t.Errorf("another input: %+v", ds)
	}
	w.do(w.lead(), func() ([]journal.Draft, error) { return ds, nil })
	if r, _ := w.l.Request(key(tool, "p1")); r.State == machine.RequestPending {
		t.Errorf("contested, it is %s", r.State)
	}
	ds = w.byFile(other)
	if len(ds) != 2 || ds[1].Kind != record.KindSaid || !strings.Contains(string(ds[1].Body.(record.Words).Mail.Envelope), `another request has had its id \"p1\"`) || !strings.HasPrefix(refusedFor(ds), "contested: ") {
		t.Errorf("another input once more: %+v", ds)
	}
	for _, set := range []record.PolicySet{{Deadline: 5000, Unattended: true}, {Unattended: true}, {}} {
		w, _ := fileWorld(t, set)
		if ds := w.byFile(makeCall("p1")); len(ds) != 1 || ds[0].Body.(record.Seen).Expires != nil {
			t.Errorf("%+v: until %v", set, ds[0].Body)
		}
	}
}

// TestAskedByFileRefuses: a message opens no request when no answer could name what it asks for.
func TestAskedByFileRefuses(t *testing.T) {
	w, bob := fileWorld(t, record.PolicySet{})
	// What nobody can be asked about is denied with the reason, and nobody can allow it.
	for id, c := range map[string]struct{ raw, why string }{
		"p2": {strings.Replace(encode(t, askHost("p2", "a.test")), `"hostPattern"`, `"capability":"disk","hostPattern"`, 1), "only the network can be"},
		"p3": {encode(t, askHost("p3", "a b/c")), "no host that can be asked for"},
		"p6": {strings.Replace(encode(t, askHost("p6", "a.test")), `"hostPattern":{"host":"a.test"}`, `"hosts":["a.test","b test"]`, 1), "b test"},
	} {
		w.do(w.lead(), func() ([]journal.Draft, error) {
			return w.l.SeeFile(incoming(protocol.Lead, w.box.put(envelope("bob", c.raw), false)), w.mint())
		})
		r := w.request(record.Key{Instance: bob.Instance, Kind: host, ID: protocol.RequestID(id)})
		refused[*control.RefusedError](t, w.decide(verdict(r, true), operator).Refusal, "cannot be allowed")
		due := w.l.Due(w.now)
		if len(due) != 1 || due[0].Key != r.Key || due[0].Allow || due[0].Via != control.ViaUnaskable || !strings.Contains(due[0].Reason, c.why) {
			t.Fatalf("%s: %+v", id, due)
		}
		w.decide(due[0], w.lead())
		env := envelopeOf(t, r.Order.Mail)
		if p := protocol.Decode(env).Payload.(protocol.SandboxPermissionResponse); p.Allow || p.Scope != "" || !strings.Contains(p.Notes, c.why) {
			t.Errorf("%s is told %+v", id, p)
		}
	}
	if one := w.byFile(askHost("p4", "a.test")); refusedFor(one) != "" {
		t.Errorf("one host: %s", refusedFor(one))
	}
	// A member that has ended asks for nothing any more.
	w.append(operator, record.KindLeft, record.Left{Instance: bob.Instance, How: record.LeftReleased})
	ds := w.byFile(makeCall("p5"))
	for _, d := range ds {
		if d.Kind == record.KindSeen && len(ds) != 2 {
			t.Errorf("of a member that has ended: %+v", ds)
		}
	}
}

// TestSaidByFile: a report by file changes only the state that is shown of its member: it is no
// news for the lead and completes no task.
func TestSaidByFile(t *testing.T) {
	w, bob := fileWorld(t, record.PolicySet{})
	head := w.l.Head()
	if bob.State() == machine.Idle {
		t.Fatal("it is idle before it says so")
	}
	w.heardByFile(protocol.IdleNotification{From: "bob", Timestamp: stamp, IdleReason: "available", CompletedTaskID: "1", Result: "all done"})
	if i := bob.LastIdle; bob.State() != machine.Idle || i == nil || i.Task != "1" || i.Note != "all done" || i.Failed || i.Channel != policy.ChannelFile {
		t.Errorf("%s, %+v", bob.State(), bob.LastIdle)
	}
	w.heardByFile(protocol.IdleNotification{From: "bob", Timestamp: stamp, IdleReason: "failed", Result: "all done", FailureReason: "no disk"})
	if i := bob.LastIdle; !i.Failed || i.Note != "no disk" {
		t.Errorf("failed: %+v", i)
	}
	w.heardByFile(protocol.IdleNotification{From: "bob", Timestamp: stamp, IdleReason: "failed", Result: "half"})
	if i := bob.LastIdle; !i.Failed || i.Note != "half" {
		t.Errorf("failed without a reason: %+v", i)
	}
	w.heardByFile(protocol.TaskCompleted{From: "bob", TaskID: "1", Timestamp: stamp, Result: &protocol.TaskResult{Summary: "it works"}})
	w.heardByFile(protocol.TaskCompleted{From: "bob", TaskID: "2", Timestamp: stamp})
	if c := bob.Claimed["1"]; c == nil || c.Note != "it works" || bob.Claimed["2"] == nil || bob.Claimed["2"].Note != "" || len(bob.Done) > 0 {
		t.Errorf("claimed %+v, done %+v", bob.Claimed, bob.Done)
	}
	progress := w.byFile(protocol.TaskProgress{RequestID: "3", Timestamp: stamp, Progress: protocol.Progress{Phase: "verifying", Message: "half way"}})
	if len(progress) != 1 || progress[0].Kind != record.KindSeen {
		t.Fatalf("progress: %+v", progress)
	}
	if s := progress[0].Body.(record.Seen); s.Task != "3" || s.ID != "3" || s.Note != "half way" || s.Channel != policy.ChannelFile {
		t.Errorf("progress: %+v", s)
	}
	if w.l.Head() != head || len(w.l.Requests) > 0 {
		t.Error("a report by file is news")
	}
}

// TestShutdownByFile: a member that speaks by file answers the request to shut down that is open,
// once.
func TestShutdownByFile(t *testing.T) {
	w, bob := fileWorld(t, record.PolicySet{})
	ask := func() string {
		w.do(w.lead(), func() ([]journal.Draft, error) {
			return w.l.AskShutdown(bob, "it is late", policy.RoleOperator, w.mint())
		})
		return string(bob.Shutdown.Commanded.ID)
	}
	yes := func(id string) protocol.Payload {
		return protocol.ShutdownApproved{RequestID: id, From: "bob", Timestamp: stamp}
	}
	no := func(id, why string) protocol.Payload {
		return protocol.ShutdownRejected{RequestID: id, From: "bob", Reason: why, Timestamp: stamp}
	}
	if bob.How() != record.LeftReleased {
		t.Errorf("not asked, it goes by %s", bob.How())
	}
	id := ask()
	if why := refusedFor(w.byFile(yes("shutdown-other@bob"))); why == "" {
		t.Error("another request is approved")
	}
	w.heardByFile(no(id, "in the middle of it"))
	if bob.Shutdown != nil || bob.Rejected != "in the middle of it" || !bob.AgreedAt.IsZero() {
		t.Errorf("rejected: %+v, %q", bob.Shutdown, bob.Rejected)
	}
	if why := refusedFor(w.byFile(yes(id))); why == "" {
		t.Error("approved after it was rejected")
	}
	w.now = w.now.Add(time.Minute)
	id = ask()
	w.heardByFile(yes(id))
	agreed := bob.AgreedAt
	if agreed.IsZero() || bob.How() != record.LeftHandshake || bob.Approved {
		t.Errorf("approved: %v, %s", agreed, bob.How())
	}
	w.now = w.now.Add(time.Minute)
	w.heardByFile(yes(id))
	w.heardByFile(no(id, "not any more"))
	if bob.AgreedAt != agreed || bob.Shutdown == nil || bob.Rejected == "not any more" {
		t.Errorf("answered once more: %v, %+v", bob.AgreedAt, bob.Shutdown)
	}
}

// TestJudgedByFile: a person decides a request that came by file. A rule for all members denies it,
// and only a rule for this member allows it.
func TestJudgedByFile(t *testing.T) {
	rules := func(own record.Instance) record.PolicySet {
		return record.PolicySet{Policy: policy.Policy{Mode: policy.ModeBypassPermissions, Allow: policy.MustRules("Bash(make:*)", "Bash"), Deny: policy.MustRules("Bash(dd:*)")},
			Decide: record.Deciders{policy.GateTool: policy.DecideRules, policy.GateNetwork: policy.DecideRules},
			Rules:  []record.Scoped{{Rule: policy.MustRules("Bash(make:*)")[0], Instance: own}, {Rule: policy.MustRules("Bash(nc:*)")[0], Deny: true, Instance: own}},
			Hosts:  []record.HostGrant{{Host: "own.test", Instance: own}, {Host: "all.test"}}}
	}
	call := func(id, command string) protocol.Payload {
		c := makeCall(id)
		c.Input = json.RawMessage(`{"command":"` + command + `"}`)
		return c
	}
	for _, c := range []struct {
		own  record.Instance
		p    protocol.Payload
		want string
	}{
		{"bob-file", call("p1", "make all"), "allow"}, {"bob-file", call("p1", "ls"), "asks"}, {"bob-file", call("p1", "dd x"), "deny"},
		{"bob-file", call("p1", "nc x"), "deny"}, {"bob-file", askHost("p1", "own.test"), "allow"}, {"bob-file", askHost("p1", "all.test"), "asks"},
		{"", call("p1", "make all"), "asks"}, {"", call("p1", "dd x"), "deny"}, {"", call("p1", "nc x"), "deny"}, {"", askHost("p1", "all.test"), "asks"},
		{"another", call("p1", "make all"), "asks"}, {"another", call("p1", "nc x"), "asks"}, {"another", askHost("p1", "own.test"), "asks"},
		{"bob-file", protocol.PlanApprovalRequest{From: "bob", Timestamp: stamp, PlanContent: "x", RequestID: "p1"}, "asks"},
	} {
		w, _ := fileWorld(t, rules(c.own))
		w.heardByFile(c.p)
		got := "asks"
		for _, v := range w.l.Due(w.now) {
			got = map[bool]string{true: "allow", false: "deny"}[v.Allow]
			if v.By != policy.RoleRules || v.Rule == "" {
				t.Errorf("%+v", v)
			}
			w.decide(v, w.lead())
			if r := w.l.Requests[0]; r.State == machine.RequestPending {
				t.Errorf("%+v leaves the request %s", v, r.State)
			}
		}
		if got != c.want {
			t.Errorf("a rule for %q, %s: %s, want %s", c.own, encode(t, c.p), got, c.want)
		}
	}
	// Rules that do not reach a request decide nothing, whoever says that they do; the operator does.
	for _, p := range []protocol.Payload{makeCall("p1"), protocol.PlanApprovalRequest{From: "bob", Timestamp: stamp, PlanContent: "x", RequestID: "p1"}} {
		for _, allow := range []bool{true, false} {
			w, _ := fileWorld(t, rules("another"))
			w.heardByFile(p)
			v := verdict(w.l.Requests[0], allow)
			v.By, v.Channel, v.Via, v.Rule = policy.RoleRules, policy.ChannelJournal, control.ViaRules, "x"
			out, err := w.l.Decide(v, w.lead(), w.mint())
			if err != nil || out.Refusal == nil || len(out.Drafts) > 0 {
				t.Errorf("rules decide a %s, allow %v: %+v, %v", w.l.Requests[0].Kind, allow, out, err)
			}
			if out := w.decide(verdict(w.l.Requests[0], allow), operator); !out.Changed || w.l.Requests[0].State == machine.RequestPending {
				t.Errorf("the operator decides a %s, allow %v: %+v", w.l.Requests[0].Kind, allow, out)
			}
		}
	}
}

// TestFinish: the operator sets a task of a member that speaks by file done, once; a member with a
// journal reports by itself.
func TestFinish(t *testing.T) {
	w, bob := fileWorld(t, record.PolicySet{})
	ada, _ := w.l.ByInstance(w.of("ada").instance)
	for id, m := range map[string]*control.Member{"1": bob, "2": ada} {
		w.do(w.lead(), func() ([]journal.Draft, error) {
			return w.l.Assign(m, record.Task{ID: id, Subject: "s", Instructions: "do it"}, policy.RoleLeader, w.mint())
		})
	}
	if ds := w.l.Finish("3"); ds != nil {
		t.Errorf("no task: %+v", ds)
	}
	ds := w.l.Finish("1")
	if len(ds) != 1 || ds[0].Body.(record.Done).Task != "1" {
		t.Fatalf("%+v", ds)
	}
	ref := ds[0].Body.(record.Done).Ref
	other, _ := w.l.Assignment("2")
	ignored := len(w.l.Ignored)
	w.append(w.lead(), record.KindDone, record.Done{Ref: ref, Task: "1"})
	w.append(operator, record.KindDone, record.Done{Ref: ref + 100, Task: "1"})
	w.append(operator, record.KindDone, record.Done{Ref: ref, Task: "9"})
	w.append(operator, record.KindDone, record.Done{Ref: uint64(other.Seq), Task: "1"})
	if got := len(w.l.Ignored) - ignored; got != 4 || bob.Done["1"] != nil {
		t.Errorf("%d are ignored: %+v", got, w.l.Ignored[ignored:])
	}
	w.do(operator, func() ([]journal.Draft, error) { return ds, nil })
	if d := bob.Done["1"]; d == nil || d.Task != "1" || d.Assignment != ref || d.Instance != bob.Instance || d.Kind != protocol.KindTaskCompleted {
		t.Errorf("done: %+v", d)
	}
	if ds := w.l.Finish("1"); ds != nil {
		t.Errorf("once more: %+v", ds)
	}
	w.do(operator, func() ([]journal.Draft, error) { return w.l.Finish("2"), nil })
	if d := ada.Done["2"]; d == nil || d.Assignment != uint64(other.Seq) {
		t.Errorf("a task of one that waggle runs: %+v", d)
	}
	w.do(w.lead(), func() ([]journal.Draft, error) {
		return w.l.Assign(bob, record.Task{ID: "4", Subject: "s", Instructions: "do it"}, policy.RoleLeader, w.mint())
	})
	w.append(operator, record.KindLeft, record.Left{Instance: bob.Instance, How: record.LeftReleased})
	if ds := w.l.Finish("4"); ds != nil {
		t.Errorf("of one that has left: %+v", ds)
	}
}

// TestChannelsOfMembers: a seen record has no effect when it names the channel file for a member
// that waggle runs, or the channel journal for a member that speaks by file.
func TestChannelsOfMembers(t *testing.T) {
	w, bob := fileWorld(t, record.PolicySet{})
	ada, _ := w.l.ByInstance(w.of("ada").instance)
	was := ada.State()
	ignored := len(w.l.Ignored)
	w.append(w.lead(), record.KindSeen, record.Seen{Entry: "e#1", Instance: ada.Instance, Kind: protocol.KindIdleNotification, Channel: policy.ChannelFile})
	w.append(w.lead(), record.KindSeen, record.Seen{Entry: "e#2", Instance: bob.Instance, Kind: protocol.KindIdleNotification, Ref: 3})
	if got := len(w.l.Ignored) - ignored; got != 2 || ada.State() != was || bob.LastIdle != nil || ada.LastIdle != nil {
		t.Errorf("%d are ignored, ada is %s", got, ada.State())
	}
}

// TestPlanSaysTheMode: the approval of a plan names the mode that holds for its member, and no mode where it would
// contradict the approval or another program does not know it (protocol §1.6).
func TestPlanSaysTheMode(t *testing.T) {
	said := func(w *world, r *control.Request) string {
		w.decide(verdict(r, true), operator)
		env := envelopeOf(t, r.Order.Mail)
		return protocol.Decode(env).Payload.(protocol.PlanApprovalResponse).PermissionMode
	}
	for _, c := range []struct{ team, own, file, ours policy.Mode }{
		{"", "", policy.ModeDefault, policy.ModeDefault},
		{policy.ModeAcceptEdits, "", policy.ModeAcceptEdits, policy.ModeAcceptEdits},
		{policy.ModeDefault, policy.ModeAcceptEdits, policy.ModeAcceptEdits, policy.ModeAcceptEdits},
		{policy.ModeAcceptEdits, policy.ModePlan, "", ""},
		{policy.ModeDefault, policy.ModeSafe, "", policy.ModeSafe},
		{policy.ModeLockedDown, "", "", policy.ModeLockedDown},
	} {
		set := record.PolicySet{Policy: policy.Policy{Mode: c.team}}
		w, ada := working(t, set, true)
		if c.own != "" {
			w.setMode(ada, c.own, policy.RoleOperator, operator)
			w.round()
		}
		k := ada.ask(plan, record.Ask{Plan: "one"})
		w.round()
		if got := said(w, w.request(k)); got != string(c.ours) {
			t.Errorf("team %q, own %q: ada is told %q, want %q", c.team, c.own, got, c.ours)
		}
		w, bob := fileWorld(t, set)
		if c.own != "" {
			w.do(operator, func() ([]journal.Draft, error) {
				return w.l.SetMode(bob, c.own, policy.RoleOperator, operator, w.mint())
			})
		}
		w.heardByFile(protocol.PlanApprovalRequest{RequestID: "plan-1", From: "bob", PlanContent: "one", Timestamp: stamp})
		if got := said(w, w.request(record.Key{Instance: bob.Instance, Kind: plan, ID: "plan-1"})); got != string(c.file) {
			t.Errorf("team %q, own %q: bob is told %q, want %q", c.team, c.own, got, c.file)
		}
	}
}

// TestHostsByFile: a list is answered as a whole, a pattern by a rule for all of it only; the answer says how far it
// reaches.
func TestHostsByFile(t *testing.T) {
	grant := func(host string, deny bool) record.HostGrant {
		return record.HostGrant{Host: host, Deny: deny, Instance: "bob-file", By: record.ByOperator}
	}
	ends := grant("a.test", false)
	until := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	ends.Until = &until
	for _, c := range []struct {
		name  string
		hosts string // as JSON
		rules []record.HostGrant
		want  string // allow, deny, "" asks
		scope string
	}{
		{name: "no rule", hosts: `["a.test","b.test"]`, scope: "one-shot"},
		{name: "one of two", hosts: `["a.test","b.test"]`, rules: []record.HostGrant{grant("a.test", false)}, scope: "one-shot"},
		{name: "both", hosts: `["a.test","b.test:443"]`, rules: []record.HostGrant{grant("a.test", false), grant("b.test", false)}, want: "allow", scope: "session"},
		{name: "one for a time", hosts: `["a.test","b.test"]`, rules: []record.HostGrant{ends, grant("b.test", false)}, want: "allow", scope: "one-shot"},
		{name: "one is denied", hosts: `["a.test","b.test"]`, rules: []record.HostGrant{grant("a.test", false), grant("b.test", true)}, want: "deny"},
		{name: "an allowed host below a denied pattern", hosts: `["a.test.org"]`, rules: []record.HostGrant{grant("a.test.org", false), grant("*.test.org", true)}, want: "deny"},
		{name: "a pattern", hosts: `["*.test.org"]`, scope: "one-shot"},
		{name: "a pattern and a host below it", hosts: `["*.test.org"]`, rules: []record.HostGrant{grant("a.test.org", false)}, scope: "one-shot"},
		{name: "the pattern itself", hosts: `["*.test.org"]`, rules: []record.HostGrant{grant("*.test.org", false)}, want: "allow", scope: "session"},
		{name: "a wider pattern", hosts: `["*.a.test.org"]`, rules: []record.HostGrant{grant("*.test.org", false)}, want: "allow", scope: "session"},
		{name: "a pattern with a denied host", hosts: `["*.test.org"]`, rules: []record.HostGrant{grant("*.test.org", false), grant("a.test.org", true)}, scope: "one-shot"},
		{name: "a denied pattern", hosts: `["*.a.test.org"]`, rules: []record.HostGrant{grant("*.test.org", true)}, want: "deny"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, bob := fileWorld(t, record.PolicySet{Hosts: c.rules})
			raw := strings.Replace(encode(t, askHost("h1", "x")), `"hostPattern":{"host":"x"}`, `"hosts":`+c.hosts, 1)
			w.do(w.lead(), func() ([]journal.Draft, error) {
				return w.l.SeeFile(incoming(protocol.Lead, w.box.put(envelope("bob", raw), false)), w.mint())
			})
			r := w.request(record.Key{Instance: bob.Instance, Kind: host, ID: "h1"})
			switch due := w.l.Due(w.now); {
			case c.want == "" && len(due) > 0, c.want != "" && (len(due) != 1 || due[0].Allow != (c.want == "allow")):
				t.Fatalf("the rules: %+v", due)
			case c.want == "":
				w.decide(verdict(r, true), operator)
			default:
				w.decide(due[0], w.lead())
			}
			env := envelopeOf(t, r.Order.Mail)
			if p := protocol.Decode(env).Payload.(protocol.SandboxPermissionResponse); p.Scope != c.scope || p.Allow != (c.want != "deny") {
				t.Errorf("bob is told %+v", p)
			}
		})
	}
}
