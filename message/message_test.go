package message_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

var (
	noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	mint = record.Mint{Now: noon, Nonce: "abc"}
)

func key(kind protocol.Kind) record.Key {
	return record.Key{Instance: "i", Kind: kind, ID: message.NewID(kind, "ann", "api", mint)}
}

// read sends a payload through its text, as a mailbox does.
func read(t testing.TB, p protocol.Payload) protocol.Payload {
	t.Helper()
	text, err := protocol.Encode(p, protocol.DialectWire)
	testenv.Must(t, err)
	d := protocol.Decode(protocol.Envelope{From: "ann", Text: text})
	if d.Kind != p.Kind() {
		t.Fatalf("%s is read as %s: %v", p.Kind(), d.Kind, d.Warnings)
	}
	return d.Payload
}

// TestRequest: AskOf reads the message of a request as the ask that the member made, kind by kind,
// under the same id.
func TestRequest(t *testing.T) {
	for kind, asked := range map[protocol.Kind]record.Ask{
		protocol.KindPermissionRequest:        {Tool: "Bash", Input: `{"command":"make"}`, Reason: "to build", ToolUseID: "toolu_1"},
		protocol.KindPlanApprovalRequest:      {Plan: "1. look"},
		protocol.KindSandboxPermissionRequest: {Host: "example.com", Port: "443"},
	} {
		k := key(kind)
		p := read(t, message.Request(k, asked, "ann", "blue", policy.Call{Tool: asked.Tool, Input: json.RawMessage(asked.Input)}, mint))
		if id, ok := protocol.RequestIDOf(p); !ok || protocol.RequestID(id) != k.ID {
			t.Errorf("%s has id %q, want %q", kind, id, k.ID)
		}
		got, why := message.AskOf(p, "/w")
		if why != "" || got.Tool != asked.Tool || got.Input != asked.Input || got.Plan != asked.Plan || got.Host != asked.Host || got.ToolUseID != asked.ToolUseID {
			t.Errorf("%s is read as %+v, %q", kind, got, why)
		}
		if kind == protocol.KindPermissionRequest && (got.Cwd != "/w" || len(p.(protocol.PermissionRequest).PermissionSuggestions) == 0) {
			t.Errorf("%+v suggests nothing, or has no directory", p)
		}
	}
}

// TestAskOfUnbound: a message that asks for more than one answer can bind asks for nothing.
func TestAskOfUnbound(t *testing.T) {
	for want, p := range map[string]protocol.Payload{
		"nothing that can be ans": protocol.IdleNotification{},
	} {
		if _, why := message.AskOf(p, ""); !strings.Contains(why, want) {
			t.Errorf("%+v: %q, want %q", p, why, want)
		}
	}
}

// TestAskOfHosts: a host, a pattern and a list are asked for as they are normalised; what nobody can be asked about says
// why, and is no target.
func TestAskOfHosts(t *testing.T) {
	many := make([]string, 200)
	for i := range many {
		many[i] = fmt.Sprintf("h%d.example.com", i)
	}
	for _, c := range []struct {
		asked      []string
		capability string
		want       string // the targets
		refused    string
	}{
		{asked: []string{"EXAMPLE.com."}, want: "example.com"},
		{asked: []string{"bücher.example:443"}, want: "xn--bcher-kva.example:443"},
		{asked: []string{"[::1]:80"}, want: "[::1]:80"},
		{asked: []string{"https://x.org/"}, want: "x.org:443"},
		{asked: []string{"*.Example.com"}, want: "*.example.com"},
		{asked: []string{"*.example.com:443"}, want: "*.example.com:443"},
		{asked: []string{"a.example.com", "A.example.com.", "b.example.com:443", "*.c.example", "[::1]:80", "::1"},
			want: "a.example.com b.example.com:443 *.c.example [::1]:80 ::1"},
		{asked: []string{"a.example.com", "A.example.com"}, want: "a.example.com"},
		{asked: []string{"a b"}, refused: "no name of one host"},
		{asked: []string{"*"}, refused: "no name of one host"},
		{asked: []string{"*.*.com"}, refused: "no pattern"},
		{asked: []string{"*.10.0.0.1"}, refused: "no pattern"},
		{asked: []string{"*.https://x.org"}, refused: "no pattern"},
		{asked: []string{"x.org:99999"}, refused: "port"},
		{asked: []string{"127.1"}, refused: "another address"},
		{asked: []string{"a.example.com,b.example.com"}, refused: "no name of one host"},
		{asked: []string{"a.example.com", "bad host"}, refused: "bad host"},
		{asked: many, refused: "200 hosts"},
		{asked: []string{"a.example.com"}, capability: "mount", refused: "only the network"},
	} {
		p := protocol.SandboxPermissionRequest{RequestID: "s", HostPattern: protocol.HostPattern{Host: c.asked[0]}, Capability: c.capability}
		if len(c.asked) > 1 {
			p.Hosts = c.asked
		}
		a, why := message.AskOf(p, "")
		if why != "" {
			t.Errorf("%q: dropped: %s", c.asked, why)
		}
		var got []string
		for _, one := range a.Targets() {
			got = append(got, one.String())
		}
		switch {
		case c.refused != "" && (!strings.Contains(a.Refused, c.refused) || len(got) != 1):
			t.Errorf("%q: %q, targets %q, want %q", c.asked, a.Refused, got, c.refused)
		case c.refused == "" && (a.Refused != "" || strings.Join(got, " ") != c.want):
			t.Errorf("%q: %q, %q, want %q", c.asked, got, a.Refused, c.want)
		}
		if r := message.Response(key(protocol.KindSandboxPermissionRequest), a, message.Reply{}, noon).(protocol.SandboxPermissionResponse); r.Host != c.asked[0] {
			t.Errorf("%q: the answer names %q", c.asked, r.Host)
		}
	}
}

// TestResponse: an answer is read as it was given; an allow holds the input that was asked unless
// another was given, and a refused call has a reason.
func TestResponse(t *testing.T) {
	asked := map[protocol.Kind]record.Ask{
		protocol.KindPermissionRequest:        {Tool: "Bash", Input: `{"command":"make"}`, ToolUseID: "toolu_1"},
		protocol.KindPlanApprovalRequest:      {Plan: "1. look"},
		protocol.KindSandboxPermissionRequest: {Host: "example.com", Port: "443", Spelled: "Example.com:443"},
	}
	for kind, a := range asked {
		for _, allow := range []bool{true, false} {
			k := key(kind)
			got := message.AnswerOf(read(t, message.Response(k, a, message.Reply{Allow: allow, Mode: policy.ModeAcceptEdits}, noon)))
			if got.Of != kind || got.ID != k.ID || got.Allow != allow || got.More != (kind == protocol.KindPlanApprovalRequest && allow) {
				t.Errorf("%s, %v: %+v", kind, allow, got)
			}
			switch {
			case kind == protocol.KindSandboxPermissionRequest && got.Host != a.Spelled:
				t.Errorf("host %q", got.Host)
			case kind == protocol.KindPermissionRequest && (got.Call != "toolu_1" || allow != (string(got.Input) == a.Input) || allow == (got.Reason != "")):
				t.Errorf("allow %v: %+v", allow, got)
			}
		}
	}
	other := message.AnswerOf(message.Response(key(protocol.KindPermissionRequest), asked[protocol.KindPermissionRequest], message.Reply{Allow: true, Input: `{"command":"ls"}`}, noon))
	if string(other.Input) != `{"command":"ls"}` {
		t.Errorf("another input: %+v", other)
	}
	if got := message.AnswerOf(protocol.IdleNotification{}); !reflect.DeepEqual(got, message.Answer{}) {
		t.Errorf("no response: %+v", got)
	}
}

// TestResponseTells: an approval names the mode that holds after it or none, and an allow the rules that were made
// with it, in the form of real clients; a refusal has neither.
func TestResponseTells(t *testing.T) {
	both := message.Reply{Allow: true, Mode: policy.ModeAcceptEdits, Rules: policy.MustRules("Bash(go test:*)", "WebSearch")}
	ask := record.Ask{Tool: "Bash", Input: `{"command":"go test"}`}
	for _, c := range []struct {
		kind  protocol.Kind
		reply message.Reply
		want  string // "" is no such key
		key   string
	}{
		{protocol.KindPlanApprovalRequest, both, `"permissionMode":"acceptEdits"`, "permissionMode"},
		{protocol.KindPlanApprovalRequest, message.Reply{Allow: true}, "", "permissionMode"},
		{protocol.KindPlanApprovalRequest, message.Reply{Mode: policy.ModeAcceptEdits}, "", "permissionMode"},
		{protocol.KindPermissionRequest, both, `"permission_updates":[` +
			`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"go test:*"}],"behavior":"allow","destination":"session"},` +
			`{"type":"addRules","rules":[{"toolName":"WebSearch"}],"behavior":"allow","destination":"session"}]`, "permission_updates"},
		{protocol.KindPermissionRequest, message.Reply{Allow: true}, "", "permission_updates"},
		{protocol.KindPermissionRequest, message.Reply{Rules: both.Rules}, "", "permission_updates"},
	} {
		got, err := protocol.Encode(message.Response(key(c.kind), ask, c.reply, noon), protocol.DialectWire)
		testenv.Must(t, err)
		if !strings.Contains(string(got), c.want) || strings.Contains(string(got), c.key) != (c.want != "") {
			t.Errorf("%s %+v: %s", c.kind, c.reply, got)
		}
	}
}

// TestSameInput: no input, an empty one and the same values are the input that was asked.
func TestSameInput(t *testing.T) {
	const asked = `{"n":10000000000000000001,"s":"a"}`
	for got, want := range map[string]bool{
		"": true, "null": true, " {} ": true, asked: true, `{ "s":"\u0061", "n":10000000000000000001 }`: true,
		`{"n":10000000000000000002,"s":"a"}`: false, `{"s":"a"}`: false, "[]": false, `{"n":`: false, asked + "1": false,
	} {
		if message.SameInput(json.RawMessage(got), asked) != want {
			t.Errorf("%s: %v", got, !want)
		}
	}
}

// TestIncoming: words are no control message, a text that tries to be one is, and an entry without
// effect is recorded with the kind, id and sender that it claims.
func TestIncoming(t *testing.T) {
	in := func(text string) message.Incoming {
		env := protocol.Envelope{From: "ann", Text: text}
		return message.Incoming{Entry: "e1", Box: "bob", Envelope: env, Decoded: protocol.Decode(env)}
	}
	for text, want := range map[string]bool{
		"hello": false, `{"type":"brunch"}`: false, `{"type":"idle_notification","from":"ann"}`: true, `{"type":"permission_response"}`: true,
		`{"type":"task_assignment","taskId":"1","subject":"s","description":"d","assignedBy":"x"}`: true,
	} {
		if i := in(text); i.IsControl() != want || i.IsWords() != strings.Contains(text, "task_assignment") {
			t.Errorf("%s: control %v, words %v", text, i.IsControl(), i.IsWords())
		}
	}
	i := in(`{"type":"shutdown_approved","requestId":"s1","from":"ann"}`)
	b := i.Deny("because")[0].Body.(record.Unverified)
	if i.ID() != "s1" || b.Entry != "e1" || b.Box != "bob" || b.From != "ann" || b.Kind != protocol.KindShutdownApproved || b.ID != "s1" || b.Text != i.SHA256() || b.Why != "because" {
		t.Errorf("%s: %+v", i.ID(), b)
	}
	if b := in(`{"type":"permission_response"}`).Deny("")[0].Body.(record.Unverified); b.Kind != protocol.KindPermissionResponse {
		t.Errorf("one that cannot be read is recorded as %s", b.Kind)
	}
	if message.Fault(nil) == "" || message.Fault([]string{"a", "b"}) != "a" {
		t.Error("faults")
	}
}

// TestAdded: the rules that are new, and no others.
func TestAdded(t *testing.T) {
	a, b := policy.Rule{Tool: "Read"}, policy.Rule{Tool: "Bash", Pattern: "ls"}
	if got := message.Added([]policy.Rule{a}, []policy.Rule{a, b}); !reflect.DeepEqual(got, []protocol.PermissionRule{{ToolName: "Bash", RuleContent: "ls"}}) {
		t.Errorf("%+v", got)
	}
}

// TestClip: a text of another process fits into a record, is valid, and begins as it did.
func TestClip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Repeat(rapid.String().Draw(t, "s"), rapid.IntRange(1, 40).Draw(t, "times")) + string(rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "end"))
		got := message.Clip(s)
		valid := strings.ToValidUTF8(s, "\uFFFD")
		if len(got) > 516 || !utf8.ValidString(got) || !strings.HasPrefix(valid, strings.TrimSuffix(got, "…")) || len(valid) <= 512 && got != valid {
			t.Fatalf("%q is %q", s, got)
		}
	})
}

// TestInADialect: an answer in a dialect without a place for rules is written without them and says so, and one
// with a changed input is not written at all.
func TestInADialect(t *testing.T) {
	now := time.Date(2026, 11, 20, 18, 15, 43, 0, time.UTC)
	const asked = `{"arguments":"one"}`
	answer := func(input string, rules ...json.RawMessage) protocol.Payload {
		return protocol.PermissionResponse{RequestID: "r", Subtype: protocol.SubtypeSuccess,
			Response: &protocol.PermissionGranted{UpdatedInput: json.RawMessage(input), PermissionUpdates: rules}}
	}
	for _, c := range []struct {
		spoken, dialect protocol.Dialect
		p               protocol.Payload
		want            string // "": it is refused
	}{
		{protocol.DialectCatalog, protocol.DialectCatalog, answer(asked), `{"type":"permission_response","requestId":"r","timestamp":"2026-11-20T18:15:43.000Z","approved":true}`},
		{protocol.DialectCatalog, protocol.DialectCatalog, answer(asked, json.RawMessage(`{"type":"addRules"}`)),
			`{"type":"permission_response","requestId":"r","timestamp":"2026-11-20T18:15:43.000Z","approved":true,"notes":"the rules that go with it have no place in this answer"}`},
		{protocol.DialectCatalog, protocol.DialectCatalog, answer(`{"arguments":"two"}`), ""},
		{protocol.DialectProtocol, protocol.DialectProtocol, answer(asked, json.RawMessage(`{"type":"addRules"}`)),
			`{"type":"permission_response","requestId":"r","subtype":"success","response":{"updatedInput":{"arguments":"one"},"permissionUpdates":[{"type":"addRules"}]}}`},
		{protocol.DialectAPI, protocol.DialectWire, answer(asked), `{"type":"permission_response","request_id":"r","subtype":"success","response":{"updated_input":{"arguments":"one"}}}`},
	} {
		p, d := message.In(c.spoken, c.p, asked, now)
		got, err := protocol.Encode(p, d)
		if d != c.dialect || got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("to a reader of %s, in %s: %s, %v\nwant in %s: %s", c.spoken, d, got, err, c.dialect, c.want)
		}
	}
	for d, want := range map[protocol.Dialect]bool{"": true, protocol.DialectWire: true, protocol.DialectProtocol: true, protocol.DialectCatalog: false, protocol.DialectAPI: true, protocol.DialectEarly: false} {
		if message.CarriesInput(d) != want {
			t.Errorf("%q carries an input: %v", d, !want)
		}
	}
}
