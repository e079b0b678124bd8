package record_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// bound is a request with everything that the sum of N = 2 covers.
func bound() record.Ask {
	return record.Ask{N: 2, Tool: "Bash", Input: `{"command":"sh","stdin":"a<b"}`, Cwd: "/w", Reason: "r", ToolUseID: "u", Bound: record.Bound{
		Stdin: "a<b", Env: []string{"A=1"}, Held: true, Program: "/bin/sh",
		Words: []record.Resolved{{Name: "sh", Path: "/bin/sh"}}, Scripts: []record.Script{{Path: "/x", SHA256: "00"}},
		Paths: []record.RealPath{{Spelled: "/w", Real: "/real"}, {Spelled: "/w/a", Real: "/b"}}}}
}

// TestSumIsOfTheRequest: a request that holds what its own sum does not cover is refused, one
// field after the other, and so is one with the sum of a later version.
func TestSumIsOfTheRequest(t *testing.T) {
	if err := bound().CheckSum(tool); err != nil {
		t.Error(err)
	}
	for n, want := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2, 3: 3} {
		if got := (record.Ask{N: n}).Sum(); got != want {
			t.Errorf("the sum of N = %d is %d, want %d", n, got, want)
		}
	}
	for _, kind := range []protocol.Kind{tool, plan, host} {
		for n, ok := range map[int]bool{-1: false, 0: true, 1: false, 2: true} {
			if err := (record.Ask{N: n}).CheckSum(kind); (err == nil) != ok {
				t.Errorf("%s with N = %d: %v", kind, n, err)
			}
		}
		var future *journal.FutureError
		if err := (record.Ask{N: record.SumQuestion}).CheckSum(kind); err == nil || errors.As(err, &future) {
			t.Errorf("%s with the sum of a question: %v", kind, err)
		}
		if err := (record.Ask{N: record.SumQuestion + 1}).CheckSum(kind); !errors.As(err, &future) || !strings.Contains(err.Error(), "waggle/request/4") {
			t.Errorf("%s with a later sum: %v", kind, err)
		}
	}
	for n, ok := range map[int]bool{0: false, 2: false, record.SumQuestion: true, record.SumQuestion + 1: false} {
		if err := (record.Ask{N: n}).CheckSum(record.KindQuestion); (err == nil) != ok {
			t.Errorf("a question with N = %d: %v", n, err)
		}
	}
	whole := reflect.ValueOf(bound().Bound)
	for i := range whole.NumField() {
		one := record.Ask{N: 2}
		reflect.ValueOf(&one.Bound).Elem().Field(i).Set(whole.Field(i))
		name := whole.Type().Field(i).Name
		if err := one.CheckSum(tool); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if plan, host := one.CheckSum(plan), one.CheckSum(host); plan == nil || host == nil {
			t.Errorf("%s of a plan, %v, of a host, %v", name, plan, host)
		}
		if one.N = 0; one.CheckSum(tool) == nil {
			t.Errorf("%s is not covered by the first sum", name)
		}
	}
}

// TestCheck: a text that is no UTF-8, in whatever field, and white space around the input are
// refused: a message and a journal would not hold the same bytes.
func TestCheck(t *testing.T) {
	good := bound()
	for kind, ok := range map[protocol.Kind]bool{tool: true, plan: true, host: true, protocol.KindText: false, protocol.KindPermissionResponse: false, "": false} {
		if err := good.Check(kind); (err == nil) != ok {
			t.Errorf("%s: %v", kind, err)
		}
	}
	texts := 0
	x := reflect.New(reflect.TypeFor[record.Ask]()).Elem()
	leaves(x, "Ask", func(_ string, leaf reflect.Value) {
		if leaf.Kind() == reflect.String {
			texts++
		}
	})
	for i := range texts {
		x, n, at := reflect.New(reflect.TypeFor[record.Ask]()).Elem(), 0, ""
		leaves(x, "Ask", func(path string, leaf reflect.Value) {
			if leaf.Kind() == reflect.String {
				if n == i {
					at = path
					leaf.SetString("a\xffb")
				}
				n++
			}
		})
		if err := x.Interface().(record.Ask).Check(tool); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%s: %v", at, err)
		}
	}
	if texts < 19 {
		t.Errorf("only %d texts", texts)
	}
	for in, ok := range map[string]bool{`{"a": 1}`: true, "": true, " {}": false, "{}\n": false, "\u00a0{}": false} {
		if err := (record.Ask{Input: in}).Check(tool); (err == nil) != ok {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// TestOlderForms: a request as a program of before recorded it has no bound fields, and its input
// is without the stdin that was put at its end; a form that is not older is the request itself.
func TestOlderForms(t *testing.T) {
	a := bound()
	for n, was := range map[int]record.Ask{2: a, 3: a} {
		if d := cmp.Diff(was, a.As(n)); d != "" {
			t.Errorf("as of %d: %s", n, d)
		}
	}
	want := record.Ask{Tool: "Bash", Input: `{"command":"sh"}`, Cwd: "/w", Reason: "r", ToolUseID: "u"}
	if d := cmp.Diff(want, a.As(1)); d != "" {
		t.Errorf("as of 1: %s", d)
	}
	for in, stdin := range map[string]string{
		`{"command":"sh"}`:             "",
		`{"stdin":"y","command":"sh"}`: "y", // not at its end: another program wrote it
		`{"command":"sh","stdin":"y"}`: "z",
		`{"stdin":"y"}`:                "y",
	} {
		a.Input, a.Stdin = in, stdin
		if got := a.As(1); got.Input != in || got.Stdin != "" {
			t.Errorf("%s with %q is %s with %q", in, stdin, got.Input, got.Stdin)
		}
	}
	old := record.Ask{Input: `{"command":"sh","stdin":"y"}`, Bound: record.Bound{Stdin: "y"}}
	if d := cmp.Diff(old, old.As(1)); d != "" {
		t.Errorf("an old request: %s", d)
	}
	question := record.Ask{N: record.SumQuestion, Input: "{}", Sandboxed: true}
	if d := cmp.Diff(question, question.As(2)); d != "" {
		t.Errorf("a question as of 2: %s", d)
	}
	a = bound()
	for _, a.Sandboxed = range []bool{false, true} {
		bare := a.Bare()
		if d := cmp.Diff(record.Bound{Stdin: "a<b"}, bare.Bound); d != "" || bare.Input != a.Input || bare.Sandboxed {
			t.Errorf("without what was found: %s, sandboxed %v", d, bare.Sandboxed)
		}
		if a.As(1).Sandboxed {
			t.Error("an older program knew no sandbox")
		}
	}
}

// TestOtherInput: the paths that were resolved for one input are not those of another; the working
// directory stays, as it was spelled.
func TestOtherInput(t *testing.T) {
	a := bound()
	a.Cwd = "/w/"
	got := a.With(`{"command":"ls"}`)
	want := a
	want.Input, want.Bound = `{"command":"ls"}`, record.Bound{Env: []string{"A=1"}, Held: true, Paths: []record.RealPath{{Spelled: "/w", Real: "/real"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(a.Paths) != 2 {
		t.Error("the request that was asked has changed")
	}
	old := record.Ask{Tool: "Bash", Input: "{}", Bound: record.Bound{Program: "/bin/sh"}}
	if got := old.With(`{"x":1}`); got.Input != `{"x":1}` || got.Program != "/bin/sh" {
		t.Errorf("an old request: %+v", got)
	}
}

// TestStdinOf: only a text under exactly this name is read.
func TestStdinOf(t *testing.T) {
	for in, want := range map[string]string{
		`{"stdin":"a\nb"}`: "a\nb", `{"command":"x","stdin":"é"}`: "é", `{"stdin":""}`: "", `{}`: "", "": "", "[]": "", `"stdin"`: "",
		`{"STDIN":"a"}`: "", `{"stdin":7}`: "", `{"stdin":["a"]}`: "", `{"stdin":null}`: "", `{"a":{"stdin":"x"}}`: "", `{"stdin":"a"`: "",
	} {
		if got := record.StdinOf(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestCall: policy judges a call by its recorded paths; with none on record, as text.
func TestCall(t *testing.T) {
	a := bound()
	c := a.Call()
	if c.Tool != "Bash" || string(c.Input) != a.Input || c.Cwd != "/w" || c.Stdin != "a<b" || !reflect.DeepEqual(c.Env, a.Env) || c.Guarded != nil {
		t.Errorf("%+v", c)
	}
	if real, err := c.Links.Real("/w/a"); real != "/b" || err != nil {
		t.Errorf("%s, %v", real, err)
	}
	if a.Paths = nil; a.Call().Links != nil {
		t.Error("links that are not on record")
	}
	if a.Paths = []record.RealPath{}; a.Call().Links == nil {
		t.Error("no path was resolved: that is on record")
	}
	if c := (record.PolicySet{Path: "/w/team.yaml"}).Call(a); len(c.Guarded) != 1 || c.Guarded[0] != "/w/team.yaml" {
		t.Errorf("guarded: %v", c.Guarded)
	}
	if c := (record.PolicySet{}).Call(a); c.Guarded != nil {
		t.Errorf("guarded: %v", c.Guarded)
	}
}

// TestHostport: a port stands behind the host, an address in brackets before it.
func TestHostport(t *testing.T) {
	for want, a := range map[string]record.Ask{
		"x.org": {Host: "x.org"}, "x.org:443": {Host: "x.org", Port: "443"}, "[::1]:80": {Host: "::1", Port: "80"}, "::1": {Host: "::1"},
	} {
		if got := a.Hostport(); got != want {
			t.Errorf("%+v is %s, want %s", a, got, want)
		}
	}
}

// TestUpdates: a changed input is one of an allow of a tool call, and has the digest of what runs.
func TestUpdates(t *testing.T) {
	a := record.Ask{Tool: "Bash", Cwd: "/w", Input: "{}"}
	key := func(k protocol.Kind) record.Key { return record.Key{Instance: "i", Kind: k, ID: "p"} }
	const input = `{"command":"ls"}`
	good := record.DigestOf(uid, key(tool), a.With(input))
	for _, c := range []struct {
		kind            protocol.Kind
		decision, input string
		digest          record.Digest
		want            bool
	}{
		{tool, record.DecisionAllow, "", "", true},
		{tool, record.DecisionDeny, "", "", true},
		{plan, record.DecisionAllow, "", "", true},
		{tool, record.DecisionAllow, "", good, false},
		{tool, record.DecisionAllow, input, good, true},
		{tool, record.DecisionDeny, input, good, false},
		{tool, record.DecisionEscalate, input, good, false},
		{tool, record.DecisionAllow, input, "", false},
		{tool, record.DecisionAllow, input, good[1:] + "0", false},
		{tool, record.DecisionAllow, "{}", good, false},
		{plan, record.DecisionAllow, input, record.DigestOf(uid, key(plan), a.With(input)), false},
		{host, record.DecisionAllow, input, record.DigestOf(uid, key(host), a.With(input)), false},
	} {
		if got := record.Updates(uid, key(c.kind), a, c.decision, c.input, c.digest); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if record.Updates("other", key(tool), a, record.DecisionAllow, input, good) {
		t.Error("the digest of another team")
	}
}

// TestKindsOfRequests: the questions, their gates and the kinds that answer them, against the table
// of kinds of the protocol.
func TestKindsOfRequests(t *testing.T) {
	gates := map[protocol.Kind]policy.Gate{tool: policy.GateTool, plan: policy.GatePlan, host: policy.GateNetwork}
	for _, info := range protocol.Kinds() {
		want := info.Request && info.Kind != protocol.KindShutdownRequest
		if got := record.IsRequest(info.Kind); got != want || want != (gates[info.Kind] != "") {
			t.Errorf("%s is a request: %v, the table says %v", info.Kind, got, want)
		}
		if !want {
			continue
		}
		if g := record.GateOf(info.Kind); g != gates[info.Kind] {
			t.Errorf("%s is decided at the gate %s", info.Kind, g)
		}
		if a, want := record.AnswerKind(info.Kind), strings.TrimSuffix(string(info.Kind), "request")+"response"; string(a) != want {
			t.Errorf("%s is answered by %s", info.Kind, a)
		}
	}
}

// TestPriorities: a priority is one of three, and none is normal.
func TestPriorities(t *testing.T) {
	for _, p := range record.Priorities() {
		if got, err := record.ParsePriority(string(p)); got != p || err != nil {
			t.Errorf("%s is %s, %v", p, got, err)
		}
	}
	if got, err := record.ParsePriority(""); got != record.PriorityNormal || err != nil {
		t.Errorf("none is %s, %v", got, err)
	}
	for _, bad := range []string{"Normal", "now", " normal", "next"} {
		if got, err := record.ParsePriority(bad); got != "" || err == nil || !strings.Contains(err.Error(), "normal, next-tool, interrupt") {
			t.Errorf("%q is %q, %v", bad, got, err)
		}
	}
	if len(record.Priorities()) != 3 {
		t.Error(record.Priorities())
	}
}

// TestSmallBodies: the directory of a team that vanished is missing; a seen record without a
// channel has the channel journal.
func TestSmallBodies(t *testing.T) {
	var none *record.Noticed
	for what, want := range map[string]bool{"vanished": true, "returned": false, "replaced": false, "": false} {
		if got := (&record.Noticed{What: what}).Missing(); got != want {
			t.Errorf("%q: %v", what, got)
		}
	}
	if none.Missing() {
		t.Error("nothing was noticed")
	}
	if c := (record.Seen{}).ChannelOf(); c != policy.ChannelJournal {
		t.Errorf("seen by %s", c)
	}
	if c := (record.Seen{Channel: policy.ChannelFile}).ChannelOf(); c != policy.ChannelFile {
		t.Errorf("seen by %s", c)
	}
	// A body has the fields of what it embeds beside its own, not below them.
	raw, err := json.Marshal(record.Decided{Key: record.Key{ID: "p"}, Judged: record.Judged{Judge: 3}})
	if err != nil || !strings.Contains(string(raw), `"id":"p"`) || !strings.Contains(string(raw), `,"judge":3}`) {
		t.Errorf("%s, %v", raw, err)
	}
}
