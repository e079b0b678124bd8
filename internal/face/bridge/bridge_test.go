package bridge_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"waggle/internal/face/bridge"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/mail"
)

// A client without the token is refused, and its frames have no effect.
func TestStrangers(t *testing.T) {
	decide := `{"op":"decide","ref":"1","id":"r","digest":"` + strings.Repeat("a", 64) + `","decision":"allow"}`
	for name, first := range map[string]string{
		"no hello":          decide,
		"wrong token":       `{"op":"hello","v":1,"token":"wrong","id":"ed"}`,
		"empty token":       `{"op":"hello","v":1,"token":"","id":"ed"}`,
		"token in the case": `{"op":"hello","v":1,"Token":"` + token + `","id":"ed"}`,
		"two tokens":        `{"op":"hello","v":1,"token":"x","token":"` + token + `","id":"ed"}`,
		"other version":     `{"op":"hello","v":2,"token":"` + token + `","id":"ed"}`,
		"no id":             `{"op":"hello","v":1,"token":"` + token + `"}`,
		"no JSON":           `hello`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			e, _, err := r.dial(nil, "")
			testenv.Must(t, err)
			e.say(first)
			if f := e.next("error"); f["code"] != float64(6) && f["code"] != float64(2) {
				t.Errorf("%v", f)
			}
			for f := e.read(); f != nil; f = e.read() {
				t.Errorf("went on with %v", f)
			}
			if len(r.desk.answers) > 0 || len(r.desk.mail) > 0 {
				t.Errorf("a stranger had an effect: %+v", r.desk)
			}
		})
	}
}

// A bridge without a token refuses all clients.
func TestNoToken(t *testing.T) {
	r := newRigWith(t, bridge.Options{})
	e, _, err := r.dial(nil, "")
	testenv.Must(t, err)
	e.say(`{"op":"hello","v":1,"token":"","id":"ed"}`)
	e.next("error")
}

// Web pages are refused, even with the token, unless their origin was allowed; so is another host
// name that resolves to the loopback.
func TestOrigins(t *testing.T) {
	r := newRig(t, "http://localhost:3000")
	for _, c := range []struct {
		origin, host string
		want         int
	}{
		{"https://evil.example", "", http.StatusForbidden},
		{"null", "", http.StatusForbidden},
		{"http://localhost:3001", "", http.StatusForbidden},
		{"http://localhost:3000.evil.example", "", http.StatusForbidden},
		{"", "evil.example", http.StatusForbidden},
		{"", "evil.example:80", http.StatusForbidden},
		{"http://localhost:3000", "", 0},
		{"", "localhost:1234", 0},
		{"", "[::1]:80", 0},
	} {
		h := http.Header{}
		if c.origin != "" {
			h.Set("Origin", c.origin)
		}
		_, code, err := r.dial(h, c.host)
		if code != c.want || (err == nil) != (c.want == 0) {
			t.Errorf("origin %q, host %q: %d, %v, want %d", c.origin, c.host, code, err, c.want)
		}
	}
}

// Every Origin header is checked, not only the first.
func TestSeveralOrigins(t *testing.T) {
	r := newRig(t, "http://localhost:3000")
	for _, list := range [][]string{{"http://localhost:3000", "https://evil.example"}, {"https://evil.example", "http://localhost:3000"}, {"", "https://evil.example"}, {""}} {
		if _, code, err := r.dial(http.Header{"Origin": list}, ""); err == nil || code != http.StatusForbidden {
			t.Errorf("%q: %d, %v", list, code, err)
		}
	}
}

// Connections that send nothing do not block an editor.
func TestIdleStrangers(t *testing.T) {
	r := newRig(t)
	for range 80 {
		if _, _, err := r.dial(nil, ""); err != nil {
			t.Fatal(err)
		}
	}
	r.connect()
}

// A message to an editor is pushed until the editor confirms it.
func TestMail(t *testing.T) {
	r := newRig(t)
	e := r.connect()
	e.next("status")
	r.desk.put("ed", mail.InboxEntry{ID: "one", Text: "first"})
	r.desk.put("other", mail.InboxEntry{ID: "no", Text: "not for ed"})
	r.bridge.Nudge()
	if f := e.next("message"); f["entry"].(map[string]any)["text"] != "first" {
		t.Errorf("%v", f)
	}
	// The editor did not confirm the message: another connection of the id gets it again, and the
	// first connection ends.
	again := r.connect()
	if f := again.next("message"); f["entry"].(map[string]any)["id"] != "one" {
		t.Errorf("%v", f)
	}
	if f := e.next("error"); !strings.Contains(fmt.Sprint(f["error"]), "another connection") {
		t.Errorf("%v", f)
	}
	again.say(`{"op":"took","entry":"one"}`)
	again.say(`{"op":"send","ref":"1","to":"ann","text":"frames are read in order"}`)
	again.next("result")
	r.desk.put("ed", mail.InboxEntry{ID: "two", Text: "second"})
	r.bridge.Nudge()
	if f := again.next("message"); f["entry"].(map[string]any)["id"] != "two" {
		t.Errorf("%v", f)
	}
	third := r.connect()
	if f := third.next("message"); f["entry"].(map[string]any)["id"] != "two" {
		t.Errorf("what was taken came again: %v", f)
	}
}

// The editor gets the questions when they come and go, and each message of the team once.
func TestViews(t *testing.T) {
	r := newRig(t)
	e := r.connect()
	if f := e.next("pending"); len(f["pending"].([]any)) != 0 {
		t.Errorf("%v", f)
	}
	e.next("status")
	asked := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	r.desk.set(func(v *bridge.View) {
		v.At = asked.Add(time.Second)
		v.Pending = []decide.Request{{PendingItem: decide.PendingItem{ID: "r1", Digest: "d", Asked: operator.Past{Time: asked}, Input: []byte(`{"n":9007199254740993}`)}}}
		v.Inboxes = []mail.Inbox{{Member: "ann", Entries: []mail.InboxEntry{{ID: "a"}, {ID: "b"}}}}
	})
	r.bridge.Nudge()
	if f := e.next("pending"); f["pending"].([]any)[0].(map[string]any)["input_text"] != `{"n":9007199254740993}` || f["pending"].([]any)[0].(map[string]any)["age_s"] != 1.0 {
		t.Errorf("%v", f)
	}
	if f := e.next("team"); f["member"] != "ann" || len(f["entries"].([]any)) != 2 {
		t.Errorf("%v", f)
	}
	// A request in which only the age has changed is not pushed; a real change is.
	r.desk.set(func(v *bridge.View) {
		v.At = asked.Add(2 * time.Second)
		v.Pending = []decide.Request{{PendingItem: decide.PendingItem{ID: "r1", Digest: "d", Asked: operator.Past{Time: asked}, Input: []byte(`{"n":9007199254740993}`)}}}
		v.Inboxes = []mail.Inbox{{Member: "ann", Entries: []mail.InboxEntry{{ID: "a"}, {ID: "b"}, {ID: "c"}}}}
	})
	r.bridge.Nudge()
	if f := e.read(); f["op"] != "team" || len(f["entries"].([]any)) != 1 {
		t.Errorf("want the one new entry, got %v", f)
	}
	many := make([]mail.InboxEntry, 250)
	for i := range many {
		many[i].ID = fmt.Sprint(i)
	}
	r.desk.set(func(v *bridge.View) { v.Inboxes = []mail.Inbox{{Member: "bob", Entries: many}} })
	r.bridge.Nudge()
	f := e.next("team")
	if got := f["entries"].([]any); len(got) != 100 || got[99].(map[string]any)["id"] != "249" {
		t.Errorf("%d entries of a long mailbox, the last %v", len(got), got[len(got)-1])
	}
}

// An answer needs the id and the digest; any other decides nothing.
func TestDecide(t *testing.T) {
	r := newRig(t)
	r.desk.set(func(v *bridge.View) { v.Pending = []decide.Request{{PendingItem: decide.PendingItem{ID: "r1"}}} })
	e := r.connect()
	digest := strings.Repeat("a", 64)
	for _, bad := range []string{
		`{"op":"decide","ref":"x","id":"r1","digest":"` + digest[:16] + `","decision":"allow"}`,
		`{"op":"decide","ref":"x","id":"r1","decision":"allow"}`,
		`{"op":"decide","ref":"x","id":"r1","digest":"` + digest + `","decision":"yes"}`,
		`{"op":"decide","ref":"x","id":"r1","digest":"` + digest + `"}`,
		`{"op":"decide","ref":"x","id":"r1","digest":"` + digest + `","decision":"deny","decision":"allow"}`,
		`{"op":"decide","ref":"x","id":"r1","digest":"` + digest + `","decision":"allow","Decision":"deny"}`,
		`{"op":"approve","ref":"x","id":"r1"}`,
		`[]`,
	} {
		e.say(bad)
		if f := e.next("result"); f["error"] == nil || f["decided"] != nil {
			t.Errorf("%s: %v", bad, f)
		}
	}
	if len(r.desk.answers) != 0 {
		t.Fatalf("decided: %+v", r.desk.answers)
	}
	e.say(`{"op":"decide","ref":"7","id":"r1","digest":"` + digest + `","decision":"deny","reason":"no"}`)
	f := e.next("result")
	if f["ref"] != "7" || f["decided"].(map[string]any)["decision"] != "deny" {
		t.Errorf("%v", f)
	}
	if want := (decide.Answer{ID: "r1", Digest: digest, Reason: "no", Via: "bridge"}); len(r.desk.answers) != 1 || !reflect.DeepEqual(r.desk.answers[0], want) {
		t.Errorf("%+v", r.desk.answers)
	}
	for e.last["pending"] == nil || len(e.last["pending"]["pending"].([]any)) != 0 { // it may have come before the result
		e.next("pending")
	}
	r.desk.refuse = &operator.Error{Kind: operator.Refused, Msg: "decided before", Advice: "look"}
	e.say(`{"op":"decide","ref":"8","id":"r1","digest":"` + digest + `","decision":"allow"}`)
	if f := e.next("result"); f["code"] != float64(6) || f["error"] != "decided before" || f["hint"] != "look" {
		t.Errorf("%v", f)
	}
}

func TestSend(t *testing.T) {
	r := newRig(t)
	e := r.connect()
	e.say(`{"op":"send","ref":"1","to":"ann","text":"hello"}`)
	if f := e.next("result"); f["ref"] != "1" || f["error"] != nil || len(f["sent"].([]any)) != 1 {
		t.Errorf("%v", f)
	}
	if len(r.desk.sent) != 1 || r.desk.sent[0] != "ann: hello" {
		t.Errorf("%v", r.desk.sent)
	}
}
