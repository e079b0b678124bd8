package control_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// guest is a member of ours, ada, in a team that another program leads, and its journal.
type guest struct {
	t *testing.T
	j *journal.Handle
	w *control.Worker
	l *control.Leader
	n int
}

func newGuest(t *testing.T) *guest {
	g := &guest{t: t, w: control.NewWorker(nil), l: leadFold(t, record.PolicySet{})}
	g.j = journal.NewMemory("uid", journal.Name("ada"), func() time.Time { return start }).Open(g.w)
	g.do([]journal.Draft{{Kind: record.KindOpened, Must: true, Body: record.Opened{Team: "api", UID: "uid", Instance: "ada", Name: "ada", Epoch: 1, Guest: true}}})
	g.step(func() ([]journal.Draft, error) { return g.w.Take(record.Taken{}, g.l) })
	return g
}

func (g *guest) do(ds []journal.Draft) {
	g.t.Helper()
	g.step(func() ([]journal.Draft, error) { return ds, nil })
}

func (g *guest) step(step func() ([]journal.Draft, error)) {
	g.t.Helper()
	if _, err := g.j.Append(g.t.Context(), journal.Writer{Instance: "ada", Epoch: 1, PID: 7}, understood(g.t, step)); err != nil {
		g.t.Fatal(err)
	}
}

func (g *guest) ask(kind protocol.Kind, a record.Ask) (k record.Key) {
	g.t.Helper()
	g.n++
	g.step(func() (ds []journal.Draft, err error) {
		k, ds, err = g.w.Ask(kind, a, g.l, record.Mint{Now: start, MsgID: "00000000-0000-4000-8000-00000000000" + string(rune('0'+g.n)), Nonce: "000000" + string(rune('0'+g.n))})
		return ds, err
	})
	return k
}

// sent is what the guest drafts for an entry of its mailbox.
func (g *guest) sent(from, text string) []journal.Draft {
	b := box{}
	return g.w.ReceiveFile(incoming("ada", b.put(envelope(from, text), false)), g.l, start)
}

func (g *guest) answers(p protocol.Payload) []journal.Draft {
	g.t.Helper()
	return g.sent("team-lead", encode(g.t, p))
}

// TestGuestRefuses: a message that is unreadable, is not the lead's, or answers no open request has
// no effect in a guest either.
func TestGuestRefuses(t *testing.T) {
	g := newGuest(t)
	allowed := g.ask(host, record.Ask{Host: "a.test"})
	yes := func(id protocol.RequestID, name string) protocol.Payload {
		return protocol.SandboxPermissionResponse{RequestID: string(id), Host: name, Allow: true, Timestamp: stamp}
	}
	g.do(g.answers(yes(allowed.ID, "a.test")))
	call := g.ask(tool, bash)
	port := g.ask(host, record.Ask{Host: "b.test", Port: "443"})
	answer := func(tool string) string {
		return encode(t, protocol.PermissionResponse{RequestID: string(call.ID), Subtype: protocol.SubtypeSuccess, ToolUseID: tool})
	}
	for what, c := range map[string]struct {
		from, text, why string
	}{
		"unreadable":  {"team-lead", `{"type":"permission_response","request_id":7}`, "cannot be read: "},
		"of a peer":   {"bob", answer(""), "only the lead may send it"},
		"not by file": {"team-lead", encode(t, protocol.TeamPermissionUpdate{PermissionUpdate: protocol.PermissionUpdate{Behavior: "allow", Rules: []protocol.PermissionRule{{ToolName: "Bash"}}}}), "by file rules only narrow"},
		"another":     {"team-lead", encode(t, protocol.ShutdownRequest{RequestID: "s1", From: "bob", Timestamp: stamp}), "the payload names another sender"},
		"not asked":   {"team-lead", encode(t, yes("other", "a.test")), "it answers nothing that was asked"},
		"closed":      {"team-lead", encode(t, protocol.SandboxPermissionResponse{RequestID: string(allowed.ID), Host: "a.test", Timestamp: stamp}), "it answers nothing that is open"},
		"other call":  {"team-lead", answer("toolu_2"), "it names another call"},
		"other host":  {"team-lead", encode(t, yes(port.ID, "c.test")), "it names another host"},
		"other port":  {"team-lead", encode(t, yes(port.ID, "b.test:80")), "it names another host"},
	} {
		if ds := g.sent(c.from, c.text); len(ds) != 1 || !strings.Contains(refusedFor(ds), c.why) {
			t.Errorf("%s: %q, want %q", what, refusedFor(ds), c.why)
		}
	}
	if ds := g.sent("team-lead", "hello"); ds != nil {
		t.Errorf("words: %+v", ds)
	}
	for _, ok := range []protocol.Payload{yes(port.ID, "b.test"), yes(port.ID, "b.test:443"), protocol.PermissionResponse{RequestID: string(call.ID), Subtype: protocol.SubtypeSuccess, ToolUseID: "toolu_1"}} {
		if ds := g.answers(ok); len(ds) != 1 || ds[0].Kind != record.KindAnswered {
			t.Errorf("%s: %+v", encode(t, ok), ds)
		}
	}
	b := box{}
	order := incoming("ada", b.put(envelope("team-lead", encode(t, protocol.TaskAssignment{TaskID: "1", Subject: "s", Description: "d", AssignedBy: "team-lead", Timestamp: stamp})), false))
	if !order.IsWords() || incoming("ada", b.put(envelope("team-lead", answer("")), false)).IsWords() {
		t.Error("an assignment is words for a guest, and an answer is not")
	}
}

// TestGuestAnswers: the lead's yes allows the request, with the input that was asked and for an
// hour; further permissions in the answer have no effect, and a no denies.
func TestGuestAnswers(t *testing.T) {
	input := `{"command":"go test ./...","n":10000000000000000001}`
	call := record.Ask{Tool: "Bash", Input: input, Cwd: "/work", ToolUseID: "toolu_1"}
	granted := func(raw string, updates ...string) *protocol.PermissionGranted {
		g := &protocol.PermissionGranted{UpdatedInput: json.RawMessage(raw)}
		for _, u := range updates {
			g.PermissionUpdates = append(g.PermissionUpdates, json.RawMessage(u))
		}
		return g
	}
	const beyond = "what it allows beyond this request has no effect by file"
	for what, c := range map[string]struct {
		kind   protocol.Kind
		ask    record.Ask
		answer func(id string) protocol.Payload
		allow  bool
		reason string
	}{
		"yes": {tool, call, func(id string) protocol.Payload {
			return protocol.PermissionResponse{RequestID: id, Subtype: protocol.SubtypeSuccess}
		}, true, ""},
		"the same input": {tool, call, func(id string) protocol.Payload {
			return protocol.PermissionResponse{RequestID: id, Subtype: protocol.SubtypeSuccess, Response: granted(`{ "n": 10000000000000000001, "command": "go test ./..." }`)}
		}, true, ""},
		"no input": {tool, call, func(id string) protocol.Payload {
			return protocol.PermissionResponse{RequestID: id, Subtype: protocol.SubtypeSuccess, Response: granted(`{}`)}
		}, true, ""},
		"another input": {tool, call, func(id string) protocol.Payload {
			return protocol.PermissionResponse{RequestID: id, Subtype: protocol.SubtypeSuccess, Response: granted(`{"command":"rm"}`)}
		}, false, "the answer changes the input, and by file only what was asked is allowed"},
		"another number": {tool, call, func(id string) protocol.Payload {
			return protocol.PermissionResponse{RequestID: id, Subtype: protocol.SubtypeSuccess, Response: granted(strings.Replace(input, "1}", "2}", 1))}
		}, false, "the answer changes the input, and by file only what was asked is allowed"},
		"rules too": {tool, call, func(id string) protocol.Payload {
			return protocol.PermissionResponse{RequestID: id, Subtype: protocol.SubtypeSuccess, Response: granted(`{}`, `{"type":"addRules"}`)}
		}, true, beyond},
		"no": {tool, call, func(id string) protocol.Payload {
			return protocol.PermissionResponse{RequestID: id, Subtype: protocol.SubtypeError, Error: "not now"}
		}, false, "not now"},
		"a plan": {plan, record.Ask{Plan: "First this."}, func(id string) protocol.Payload {
			return protocol.PlanApprovalResponse{RequestID: id, Approved: true, Feedback: "good", Timestamp: stamp}
		}, true, "good"},
		"a plan, and a mode": {plan, record.Ask{Plan: "First this."}, func(id string) protocol.Payload {
			return protocol.PlanApprovalResponse{RequestID: id, Approved: true, Feedback: "good", PermissionMode: "acceptEdits", Timestamp: stamp}
		}, true, "good; " + beyond},
		"no plan": {plan, record.Ask{Plan: "First this."}, func(id string) protocol.Payload {
			return protocol.PlanApprovalResponse{RequestID: id, Feedback: "too long", Timestamp: stamp}
		}, false, "too long"},
		"a host": {host, record.Ask{Host: "a.test"}, func(id string) protocol.Payload {
			return protocol.SandboxPermissionResponse{RequestID: id, Host: "a.test", Allow: true, Timestamp: stamp}
		}, true, ""},
		"no host": {host, record.Ask{Host: "a.test"}, func(id string) protocol.Payload {
			return protocol.SandboxPermissionResponse{RequestID: id, Host: "a.test", Timestamp: stamp}
		}, false, ""},
	} {
		g := newGuest(t)
		k := g.ask(c.kind, c.ask)
		ds := g.answers(c.answer(string(k.ID)))
		if len(ds) != 1 || ds[0].Kind != record.KindAnswered || !ds[0].Must {
			t.Errorf("%s: %+v", what, ds)
			continue
		}
		a := ds[0].Body.(record.Answered)
		if (a.Decision == record.DecisionAllow) != c.allow || a.Reason != c.reason || a.Channel != policy.ChannelFile || a.By != policy.RoleLeader || a.Policy != 1 || a.Key != k {
			t.Errorf("%s: %+v", what, a)
		}
		if (a.UseBy != nil) != c.allow || c.allow && !a.UseBy.Equal(start.Add(time.Hour)) {
			t.Errorf("%s: until %v", what, a.UseBy)
		}
		g.do(ds)
		if call, _ := g.w.Call(k); call.Open() {
			t.Errorf("%s: it is still open", what)
		}
	}
}

// TestGuestGoes: the lead's request ends a guest, once, and under an id.
func TestGuestGoes(t *testing.T) {
	g := newGuest(t)
	ask := func(id string) []journal.Draft {
		return g.answers(protocol.ShutdownRequest{RequestID: id, From: "team-lead", Timestamp: stamp})
	}
	ds := ask("s1")
	if len(ds) != 1 || ds[0].Kind != record.KindApplied {
		t.Fatalf("%+v", ds)
	}
	if a := ds[0].Body.(record.Applied); a.What != record.CommandShutdown || a.ID != "s1" || a.Channel != policy.ChannelFile || a.Entry == "" {
		t.Errorf("%+v", a)
	}
	if g.w.Leaving() {
		t.Error("it leaves before it is on record")
	}
	g.do(ds)
	if again := ask("s1"); again != nil {
		t.Errorf("the same entry again: %+v", again)
	}
	if why := refusedFor(ask("s2")); !g.w.Leaving() || why != "a shutdown is being answered" {
		t.Errorf("leaving %v, a second one: %q", g.w.Leaving(), why)
	}
	g.step(func() ([]journal.Draft, error) {
		return g.w.AnswerShutdown(true, "", control.Shown{}, g.l, record.Mint{Now: start, MsgID: "00000000-0000-4000-8000-000000000099", Nonce: "0000099"})
	})
	if why := refusedFor(ask("s3")); !g.w.Leaving() || why != "this member has ended" {
		t.Errorf("after its yes: %q", why)
	}
	// A guest's lead does not know messageId.
	for _, o := range g.w.Outbox {
		env := envelopeOf(t, o.Mail)
		if _, ok := env.Member("messageId"); ok || env.MsgID == "" || env.From != "ada" || env.Text == "" {
			t.Errorf("%s", o.Mail.Envelope)
		}
	}
}

// TestGuestAnswersAsAsked: a guest answers its lead's request to end in the spelling that it had, seed 002's in
// the envelope included. It names no pane there when it has none: an empty one would be the reader's own.
func TestGuestAnswersAsAsked(t *testing.T) {
	asked := protocol.ShutdownRequest{RequestID: "s1", From: "team-lead", Reason: "over", Timestamp: stamp}
	for _, c := range []struct {
		dialect protocol.Dialect
		at      control.Shown
		want    string
	}{
		{protocol.DialectWire, control.Shown{}, `{"type":"shutdown_approved","requestId":"s1","from":"ada","timestamp":"` + stamp + `"}`},
		{protocol.DialectCatalog, control.Shown{}, `{"type":"shutdown_approved","requestId":"s1","timestamp":"` + stamp + `"}`},
		{protocol.DialectAPI, control.Shown{}, `{"type":"shutdown_approved","requestId":"s1","timestamp":"` + stamp + `"}`},
		{protocol.DialectAPI, control.Shown{Pane: "%7", Backend: "tmux"}, `{"type":"shutdown_approved","requestId":"s1","paneId":"%7","backendType":"tmux","timestamp":"` + stamp + `"}`},
	} {
		g := newGuest(t)
		env, err := envelope("team-lead", "").Carrying(asked, c.dialect)
		testenv.Must(t, err)
		b := box{}
		g.do(g.w.ReceiveFile(incoming("ada", b.put(env, false)), g.l, start))
		g.step(func() ([]journal.Draft, error) {
			return g.w.AnswerShutdown(true, "", c.at, g.l, record.Mint{Now: start, MsgID: "00000000-0000-4000-8000-000000000099", Nonce: "0000099"})
		})
		said := g.w.Outbox[len(g.w.Outbox)-1]
		if got, err := said.Mail.Open(); err != nil || got.Text != c.want {
			t.Errorf("%s, %v: %v\n%s\nwant\n%s", c.dialect, c.at, err, got.Text, c.want)
		}
	}
}

// TestGuestScope: a scope in the lead's answer opens no more than what was asked, and is said; the scope of one request
// is not more.
func TestGuestScope(t *testing.T) {
	for scope, more := range map[string]bool{"": false, "one-shot": false, "once": false, "session": true, "forever": true} {
		g := newGuest(t)
		k := g.ask(host, record.Ask{Host: "a.test"})
		g.do(g.answers(protocol.SandboxPermissionResponse{RequestID: string(k.ID), Host: "a.test", Allow: true, Scope: scope, Timestamp: stamp}))
		if c, _ := g.w.Call(k); strings.Contains(c.Answer.Reason, "beyond this request") != more {
			t.Errorf("scope %q: %q", scope, c.Answer.Reason)
		}
		for _, grant := range g.w.Grants(g.l, start) {
			if grant.Scope != control.ScopeOnce {
				t.Errorf("scope %q: %+v", scope, grant)
			}
		}
	}
}

// TestGuestNarrows: the lead's modes and rules only narrow what the guest may do without asking, and what it said
// earlier stays: wider modes, allow rules, removed denials and unknown modes have no effect. A new start of the guest
// begins with what the operator gives it.
func TestGuestNarrows(t *testing.T) {
	g, b := newGuest(t), box{}
	says := func(p protocol.Payload) []journal.Draft {
		return g.w.ReceiveFile(incoming("ada", b.put(envelope("team-lead", encode(t, p)), false)), g.l, start)
	}
	g.l.Policy.Policy.Mode = policy.ModeAcceptEdits
	g.l.Policy.Policy.Allow = policy.MustRules("Bash(go test:*)", "Bash(ls:*)")
	rules := func(behavior string, rules, removed []policy.Rule) protocol.Payload {
		wire := func(rs []policy.Rule) []protocol.PermissionRule {
			out := []protocol.PermissionRule{}
			for _, r := range rs {
				out = append(out, r.Wire())
			}
			return out
		}
		return protocol.TeamPermissionUpdate{PermissionUpdate: protocol.PermissionUpdate{Behavior: behavior, Rules: wire(rules), RemovedRules: wire(removed)}}
	}
	mode := func(m string) protocol.Payload { return protocol.ModeSetRequest{Mode: m, From: "team-lead"} }
	now := func() string {
		p := g.w.Effective(g.l, start)
		return string(p.Mode) + " " + fmt.Sprint(p.Deny)
	}
	verdict := func(command string) policy.Decision {
		return g.w.Judge(tool, record.Ask{Tool: "Bash", Input: `{"command":"` + command + `"}`, Cwd: "/work"}, g.l, start).Decision
	}
	for _, c := range []struct {
		says    protocol.Payload
		refused string
		then    string
	}{
		{mode("bypassPermissions"), "not narrower", "acceptEdits []"},
		{mode("acceptEdits"), "not narrower", "acceptEdits []"},
		{mode("whatever"), "unknown mode", "acceptEdits []"},
		{mode("default"), "", "default []"},
		{mode("acceptEdits"), "not narrower", "default []"},
		{rules("allow", policy.MustRules("Bash"), nil), "only narrow", "default []"},
		{rules("ask", policy.MustRules("Bash"), nil), "only narrow", "default []"},
		{rules("deny", policy.MustRules("Bash(ls:*)"), nil), "", "default [Bash(ls:*)]"},
		{rules("deny", policy.MustRules("Bash(ls:*)"), nil), "only narrow", "default [Bash(ls:*)]"},
		{rules("deny", nil, policy.MustRules("Bash(ls:*)")), "only narrow", "default [Bash(ls:*)]"},
		{mode("plan"), "", "plan [Bash(ls:*)]"},
		{mode("dontAsk"), "", "locked-down [Bash(ls:*)]"},
	} {
		ds := says(c.says)
		if why := refusedFor(ds); (why == "") != (c.refused == "") || !strings.Contains(why, c.refused) {
			t.Errorf("%s is refused for %q, want %q", encode(t, c.says), why, c.refused)
		}
		g.do(ds)
		if now() != c.then {
			t.Errorf("after %s it has %s, want %s", encode(t, c.says), now(), c.then)
		}
		if c.then == "default [Bash(ls:*)]" && (verdict("ls") != policy.Deny || verdict("go test ./...") != policy.Allow) {
			t.Errorf("after %s ls is %s and go test %s", encode(t, c.says), verdict("ls"), verdict("go test ./..."))
		}
	}
	many := make([]policy.Rule, 300)
	for i := range many {
		many[i] = policy.MustRules(fmt.Sprintf("Bash(x%d)", i))[0]
	}
	if why := refusedFor(says(rules("deny", many, nil))); !strings.Contains(why, "more than 256") {
		t.Errorf("300 rules are refused for %q", why)
	}
	if _, err := g.j.Append(t.Context(), journal.Writer{Instance: "ada", Epoch: 2, PID: 8}, drafting(record.KindOpened, record.Opened{Team: "api", UID: "uid", Instance: "ada", Name: "ada", Epoch: 2, Guest: true})); err != nil {
		t.Fatal(err)
	}
	if now() != "acceptEdits []" {
		t.Errorf("started again it has %s", now())
	}
}
