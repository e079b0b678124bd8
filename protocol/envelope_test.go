package protocol_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/protocol"
)

// inArray lays an entry out as JSON.stringify(x, null, 2) does inside an array.
func inArray(lines ...string) string {
	return "{\n    " + strings.Join(lines, ",\n    ") + "\n  }"
}

func mustParse(t *testing.T, s string) protocol.Envelope {
	t.Helper()
	e, err := protocol.ParseEnvelope([]byte(s))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return e
}

func TestNewEnvelope(t *testing.T) {
	e := protocol.Envelope{
		From: "w1", Text: "a\"b\n<c>&\u2028", Summary: "s", Timestamp: payloadTime, Color: "blue",
		MsgV: 1, MsgID: "d0989967-5f52-4da5-8808-11964bbe069f", Type: "message", Read: true,
	}
	want := inArray(`"from": "w1"`, `"text": "a\"b\n<c>&`+"\u2028"+`"`, `"summary": "s"`, `"timestamp": "2026-11-20T18:15:43.000Z"`, `"color": "blue"`,
		`"msgV": 1`, `"msg_id": "d0989967-5f52-4da5-8808-11964bbe069f"`, `"type": "message"`, `"read": true`)
	if diff := cmp.Diff(want, string(e.AppendJSON(nil))); diff != "" {
		t.Error(diff)
	}
	compact := `{"from":"w1","text":"a\"b\n<c>&` + "\u2028" + `","summary":"s","timestamp":"2026-11-20T18:15:43.000Z","color":"blue","msgV":1,"msg_id":"d0989967-5f52-4da5-8808-11964bbe069f","type":"message","read":true}`
	got, err := e.MarshalJSON()
	if diff := cmp.Diff(compact, string(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	// Only the required keys are there when the others are empty.
	want = inArray(`"from": "w1"`, `"text": ""`, `"timestamp": ""`, `"read": false`)
	if diff := cmp.Diff(want, string(protocol.Envelope{From: "w1"}.AppendJSON(nil))); diff != "" {
		t.Error(diff)
	}
}

// TestEnvelopeKeepsEverything: AppendJSON writes each key that was not set as it stands in the
// entry, foreign keys, key order, escapes and number forms included.
func TestEnvelopeKeepsEverything(t *testing.T) {
	foreign := inArray(
		`"id": "x"`, `"read": false`, `"content": "caf\u00e9 \/ \ud83d"`, `"metadata": {
      "request_id": "r",
      "n": 1.0,
      "list": [
        {},
        [],
        9007199254740993
      ]
    }`, `"from": "w1"`, `"lead_sig": "c2ln"`, `"timestamp": "t"`, `"message_id": "m"`, `"msgV": 1`, `"msgV2": 1`)
	e := mustParse(t, foreign)
	if got := string(e.AppendJSON(nil)); got != foreign {
		t.Error(cmp.Diff(foreign, got))
	}
	if e.Text != "café / \xed\xa0\xbd" || e.MsgID != "m" || e.MsgV != 1 || e.From != "w1" {
		t.Errorf("%+v", e)
	}
	if sig, ok := e.Member("lead_sig"); !ok || string(sig) != `"c2ln"` {
		t.Errorf("lead_sig %s %v", sig, ok)
	}
	if _, ok := e.Member("from"); ok {
		t.Error("from is a field, not a foreign member")
	}
	if _, ok := e.Member("Lead_sig"); ok {
		t.Error("names are compared exactly")
	}

	e.Read = true
	if got, want := string(e.AppendJSON(nil)), strings.Replace(foreign, `"read": false`, `"read": true`, 1); got != want {
		t.Error(cmp.Diff(want, got))
	}
	e.Text, e.MsgID = "new", "n"
	got := string(e.AppendJSON(nil))
	if !strings.Contains(got, `"content": "new"`) || !strings.Contains(got, `"message_id": "n"`) || strings.Contains(got, `"text"`) || strings.Contains(got, `"msg_id"`) {
		t.Errorf("aliases are kept on rewrite: %s", got)
	}
	e.MsgV = 0
	if got := string(e.AppendJSON(nil)); strings.Contains(got, `"msgV":`) {
		t.Errorf("a field set to nothing is removed: %s", got)
	}
}

func TestEnvelopeLayoutIsNormal(t *testing.T) {
	e := mustParse(t, "\ufeff {\"from\" :\"a\",\"text\":\"b\" , \"timestamp\":\"t\", \"x\":{ \"k\":[1 ,2],\"e\":{ } } }\r\n")
	want := inArray(`"from": "a"`, `"text": "b"`, `"timestamp": "t"`, `"x": {
      "k": [
        1,
        2
      ],
      "e": {}
    }`)
	if diff := cmp.Diff(want, string(e.AppendJSON(nil))); diff != "" {
		t.Error(diff)
	}
	compact, _ := e.MarshalJSON()
	if want := `{"from":"a","text":"b","timestamp":"t","x":{"k":[1,2],"e":{}}}`; string(compact) != want {
		t.Error(cmp.Diff(want, string(compact)))
	}
}

func TestEnvelopeInsertsInOrder(t *testing.T) {
	e := mustParse(t, `{"from":"a","text":"b","timestamp":"t","lead_sig":"s"}`)
	e.Read, e.Color, e.MsgID, e.Summary, e.MsgV, e.Type = true, "blue", "m", "s", 1, "message"
	got, _ := e.MarshalJSON()
	want := `{"from":"a","text":"b","summary":"s","timestamp":"t","color":"blue","msgV":1,"msg_id":"m","type":"message","read":true,"lead_sig":"s"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestEnvelopeCopies: setting a field of a copy leaves the original alone.
func TestEnvelopeCopies(t *testing.T) {
	e := mustParse(t, `{"from":"a","text":"b","timestamp":"t","read":false,"x":1}`)
	c := e
	c.Read, c.Color = true, "red"
	if got, _ := e.MarshalJSON(); string(got) != `{"from":"a","text":"b","timestamp":"t","read":false,"x":1}` {
		t.Errorf("original: %s", got)
	}
	if got, _ := c.MarshalJSON(); string(got) != `{"from":"a","text":"b","timestamp":"t","color":"red","read":true,"x":1}` {
		t.Errorf("copy: %s", got)
	}
	if e.Equal(c) || !e.Equal(mustParse(t, `{ "from":"a","text":"b","timestamp":"t","read":false,"x":1}`)) {
		t.Error("Equal")
	}
}

func TestEnvelopeErrors(t *testing.T) {
	secret := "hunter2"
	for _, tc := range []struct{ raw, want string }{
		{`null`, "entry is null, not an object"},
		{`[]`, "entry is an array, not an object"},
		{`"` + secret + `"`, "entry is a string, not an object"},
		{`{`, "entry is not valid JSON"},
		{``, "entry is not valid JSON"},
		{`{"from":"` + secret + `"} x`, "entry is not valid JSON"},
		{`{"text":"b","timestamp":"t"}`, "entry: from is missing"},
		{`{"from":"a","timestamp":"t"}`, "entry: text is missing"},
		{`{"from":"a","text":"b"}`, "entry: timestamp is missing"},
		{`{"From":"a","text":"b","timestamp":"t"}`, "entry: from is missing"},
		{`{"from":7,"text":"b","timestamp":"t"}`, "entry: from is a number, must be a string"},
		{`{"from":"a","text":{"type":"` + secret + `"},"timestamp":"t"}`, "entry: text is an object, must be a string"},
		{`{"from":"a","content":["` + secret + `"],"timestamp":"t"}`, "entry: content is an array, must be a string"},
		{`{"from":"a","text":"b","timestamp":null}`, "entry: timestamp is null, must be a string"},
		{`{"from":"a","text":"b","timestamp":"t","color":7}`, "entry: color is a number, must be a string"},
		{`{"from":"a","text":"b","timestamp":"t","summary":false}`, "entry: summary is a boolean, must be a string"},
		{`{"from":"a","text":"b","timestamp":"t","type":{}}`, "entry: type is an object, must be a string"},
		{`{"from":"a","text":"b","timestamp":"t","msg_id":7}`, "entry: msg_id is a number, must be a string"},
		{`{"from":"a","text":"b","timestamp":"t","messageId":7}`, "entry: messageId is a number, must be a string"},
		{`{"from":"a","text":"b","timestamp":"t","read":"false"}`, "entry: read is a string, must be a boolean"},
		{`{"from":"a","text":"b","timestamp":"t","read":null}`, "entry: read is null, must be a boolean"},
		{`{"from":"a","text":"b","timestamp":"t","msgV":"1"}`, "entry: msgV is a string, must be a small whole number"},
		{`{"from":"a","text":"b","timestamp":"t","msgV":1.5}`, "entry: msgV is a number, must be a small whole number"},
		{`{"from":"a","text":"b","timestamp":"t","msgV":-1}`, "entry: msgV is a number, must be a small whole number"},
		{`{"from":"team-lead","from":"` + secret + `","text":"b","timestamp":"t"}`, "entry: from contradicts from"},
		{`{"from":"a","text":"b","content":"` + secret + `","timestamp":"t"}`, "entry: content contradicts text"},
		{`{"from":"a","text":"b","timestamp":"t","x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "entry is nested deeper than 64 levels"},
		{`{"from":"a","text":"b","timestamp":"t","x":[` + strings.Repeat(`{"k":1},`, 4096) + `0]}`, "entry has more than 4096 keys"},
	} {
		_, err := protocol.ParseEnvelope([]byte(tc.raw))
		var entry *protocol.EntryError
		if !errors.As(err, &entry) || err.Error() != tc.want {
			t.Errorf("%.60s: %v, want %s", tc.raw, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("error shows a value: %v", err)
		}
	}
}

func TestEnvelopeTolerance(t *testing.T) {
	for _, raw := range []string{
		`{"from":"a","text":"b","timestamp":"t"}`,                                          // read is missing
		`{"from":"a","text":"b","content":"b","timestamp":"t"}`,                            // two spellings, one value
		`{"from":"a","text":"b","timestamp":"t","x":1,"x":2}`,                              // a foreign key twice
		`{"from":"a","text":"b","timestamp":"t","msgV":1.0}`,                               // a whole number
		`{"from":"a","text":"\ud800","timestamp":"t"}`,                                     // half an emoji
		"{\"from\":\"a\",\"text\":\"\xff\",\"timestamp\":\"t\"}",                           // bytes that are not UTF-8
		`{"from":"a","text":"b","timestamp":"t","msg_id":"m","message_id":"own","id":"i"}`, // another writer's id beside ours
	} {
		e := mustParse(t, raw)
		if got, _ := e.MarshalJSON(); string(got) != raw {
			t.Error(cmp.Diff(raw, string(got)))
		}
		if e.Read {
			t.Errorf("%s: read", raw)
		}
	}
	e := mustParse(t, `{"from":"a","text":"b","timestamp":"t","message_id":"x","msg_id":"m"}`)
	if raw, ok := e.Member("message_id"); e.MsgID != "m" || !ok || string(raw) != `"x"` {
		t.Errorf("msg_id %q, message_id %s", e.MsgID, raw)
	}
}

// TestEnvelopeHidesNothing: half a surrogate pair in the entry reaches Decode, so
// that it cannot make two different payloads out of one text.
func TestEnvelopeHidesNothing(t *testing.T) {
	e := mustParse(t, `{"from":"l","text":"{\"type\":\"permission_response\",\"request_id\":\"r\",\"subtype\":\"success\",\"response\":{\"updated_input\":{\"command\":\"\udead\"}}}","timestamp":"t"}`)
	d := protocol.Decode(e)
	if outcome(d) != "deny" {
		t.Errorf("%s %q", outcome(d), d.Warnings)
	}
	back := protocol.Envelope{From: "l", Text: e.Text, Timestamp: "t"}
	if got, _ := back.MarshalJSON(); !strings.Contains(string(got), `\udead`) {
		t.Errorf("written as %s", got)
	}
}

func TestEnvelopeUnmarshal(t *testing.T) {
	var list []protocol.Envelope
	testenv.Must(t, json.Unmarshal([]byte(`[{"from":"a","content":"b","timestamp":"t","x":{"y":1}}]`), &list))
	got, err := json.Marshal(list)
	if err != nil || string(got) != `[{"from":"a","content":"b","timestamp":"t","x":{"y":1}}]` {
		t.Errorf("%s %v", got, err)
	}
	if err := json.Unmarshal([]byte(`[{"From":"a"}]`), &list); err == nil {
		t.Error("no error")
	}
}

func TestTime(t *testing.T) {
	at := time.Date(2026, 11, 20, 19, 15, 43, 6_999_999, time.FixedZone("", 3600))
	if got := protocol.FormatTime(at); got != "2026-11-20T18:15:43.006Z" {
		t.Error(got)
	}
	for _, s := range []string{"2026-11-20T18:15:43Z", "2026-11-20T18:15:43.006Z", "2026-11-20T19:15:43.006999+01:00"} {
		if _, err := protocol.ParseTime(s); err != nil {
			t.Error(err)
		}
	}
}

// TestCaptures reads files written by real clients when they are at hand: every
// entry decodes, and every entry is rewritten byte for byte.
func TestCaptures(t *testing.T) {
	dir := os.Getenv("WAGGLE_CAPTURES")
	if dir == "" {
		t.Skip("set WAGGLE_CAPTURES to a directory of captured inboxes to read them")
	}
	files, entries := 0, 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil // a config or a task, not an inbox
		}
		files++
		entries += len(list)
		checkCapture(t, path, raw, list)
		return nil
	})
	testenv.Must(t, err)
	if files == 0 {
		t.Fatalf("no inbox in %s", dir)
	}
	t.Logf("%d inboxes, %d entries", files, entries)
}

func checkCapture(t *testing.T, path string, raw []byte, list []json.RawMessage) {
	rewritten := []byte("[")
	for i, entry := range list {
		e, err := protocol.ParseEnvelope(entry)
		if err != nil {
			t.Errorf("%s[%d]: %v", path, i, err)
			continue
		}
		d := protocol.Decode(e)
		t.Logf("%s[%d]: %s %s %q", filepath.Base(path), i, d.Kind, d.Dialect, d.Warnings)
		if d.Kind == protocol.KindInvalid || d.FromMismatch {
			t.Errorf("%s[%d]: %s %q", path, i, d.Kind, d.Warnings)
		}
		if d.Kind != protocol.KindText && d.Dialect != protocol.DialectWire {
			t.Errorf("%s[%d]: dialect %q", path, i, d.Dialect)
		}
		if d.Payload != nil && d.Kind != protocol.KindText {
			if text, err := protocol.Encode(d.Payload, protocol.DialectWire); err != nil || text != e.Text {
				t.Errorf("%s[%d]: written as %s, %v", path, i, text, err)
			}
		}
		if i > 0 {
			rewritten = append(rewritten, ',')
		}
		rewritten = e.AppendJSON(append(rewritten, "\n  "...))
	}
	if len(list) > 0 {
		rewritten = append(rewritten, '\n')
	}
	rewritten = append(rewritten, ']')
	if diff := cmp.Diff(string(raw), string(rewritten)); diff != "" {
		t.Errorf("%s is rewritten differently:\n%s", path, diff)
	}
}
