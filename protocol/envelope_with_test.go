package protocol_test

import (
	"encoding/json"
	"testing"

	"waggle/protocol"
)

// TestEnvelopeWith: With adds a foreign key to the entry; the key is read back, and nothing else
// changes.
func TestEnvelopeWith(t *testing.T) {
	e := protocol.Envelope{From: "bob", Text: "hi", Timestamp: "2026-11-20T18:15:43.000Z", MsgID: "m-1", Type: "message"}
	for range 2 {
		var err error
		if e, err = e.With("metadata", json.RawMessage(`{"priority":"high"}`)); err != nil {
			t.Fatal(err)
		}
		if e, err = e.WithMessageID(); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := e.MarshalJSON()
	want := `{"from":"bob","text":"hi","timestamp":"2026-11-20T18:15:43.000Z","msg_id":"m-1","type":"message","metadata":{"priority":"high"},"messageId":"m-1","read":false}`
	if err != nil || string(raw) != want {
		t.Fatalf("%s, %v", raw, err)
	}
	back, err := protocol.ParseEnvelope(raw)
	if err != nil || !back.Equal(e) || back.MsgID != "m-1" {
		t.Errorf("%+v, %v", back, err)
	}
	if m, ok := back.Member("messageId"); !ok || string(m) != `"m-1"` {
		t.Errorf("messageId %s", m)
	}
	e.Read = true
	if raw, _ := e.MarshalJSON(); string(raw) != want[:len(want)-len("false}")]+"true}" {
		t.Errorf("%s", raw)
	}
	for _, key := range []string{"from", "read", "content"} {
		if _, err := e.With(key, json.RawMessage(`"x"`)); err == nil {
			t.Errorf("%s was taken", key)
		}
	}
	if _, err := e.With("metadata", json.RawMessage(`{`)); err == nil {
		t.Error("half an object was taken")
	}
}
