package commandtest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
	_ "waggle/internal/fs/atomicfile/ordertest"
	"waggle/internal/test/protocoltest"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/protocol"
)

type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// piped runs waggle protocol with in as its standard input and returns its output.
func piped(t *testing.T, f fatal, in string, args ...string) string {
	f.Helper()
	var out, stderr bytes.Buffer
	a := &app.App{In: strings.NewReader(in), Out: &out, Err: &stderr, Version: "test", Now: time.Now}
	if code := cli.Run(t.Context(), a, append([]string{"protocol"}, args...)); code != 0 {
		f.Fatalf("waggle protocol %v: exit %d\n%s\n%s", args, code, stderr.String(), in)
	}
	return out.String()
}

// mailboxes is how many mailboxes a property is tried with: each holds every kind in
// both dialects.
const mailboxes = 25

// eachMailbox tries a property with mailboxes, as entries and as the file that they make.
func eachMailbox(t *testing.T, property func(r *rapid.T, mails []protocol.Envelope, in string)) {
	left := mailboxes
	rapid.Check(t, func(r *rapid.T) {
		if left--; left < 0 {
			return
		}
		mails := everyKind(r)
		in, err := json.Marshal(mails)
		if err != nil {
			r.Fatalf("%v", err)
		}
		property(r, mails, string(in))
	})
}

// everyKind draws an envelope for every kind in every dialect that is written.
func everyKind(t *rapid.T) []protocol.Envelope {
	kinds := []protocol.Kind{protocol.KindText, protocol.KindUnknown}
	for _, info := range protocol.Kinds() {
		kinds = append(kinds, info.Kind)
	}
	var mails []protocol.Envelope
	for _, kind := range kinds {
		p := protocoltest.Payload(kind).Draw(t, string(kind))
		for _, d := range []protocol.Dialect{protocol.DialectWire, protocol.DialectCatalog} {
			text, err := protocol.Encode(p, d)
			if d == protocol.DialectCatalog && err != nil {
				continue // the form cannot say it
			}
			if err != nil {
				t.Fatalf("Encode: %v", err)
			}
			e := protocol.Envelope{From: "w1", Text: text, Timestamp: protocoltest.At}
			if kind == protocol.KindSystemInit {
				e.Type = string(kind)
			}
			mails = append(mails, e)
		}
	}
	return mails
}

// TestDecodeEncodeIdentity: decode | encode gives back the same mailbox, for every kind and both
// dialects that are written, with any space in it.
func TestDecodeEncodeIdentity(t *testing.T) {
	eachMailbox(t, func(r *rapid.T, _ []protocol.Envelope, in string) {
		out := piped(t, r, piped(t, r, in, "decode"), "encode")
		if diff := cmp.Diff(anyJSON(r, in), anyJSON(r, out)); diff != "" {
			r.Fatalf("(-in +out)\n%s", diff)
		}
	})
}

// TestEncodeFromPayload: kind, dialect and payload that decode prints are enough to write the text
// again. Space between tokens is not kept, nor the order of keys where two dialects have the same
// ones.
func TestEncodeFromPayload(t *testing.T) {
	eachMailbox(t, func(r *rapid.T, mails []protocol.Envelope, in string) {
		var raw []map[string]json.RawMessage
		if err := json.Unmarshal([]byte(piped(t, r, in, "decode")), &raw); err != nil {
			r.Fatalf("%v", err)
		}
		kept, want := []map[string]json.RawMessage{}, []any{}
		for i, e := range raw {
			e["envelope"] = json.RawMessage(`{"from":"w1","text":"","timestamp":"` + protocoltest.At + `"}`)
			kept, want = append(kept, e), append(want, written(mails[i].Text))
		}
		again, err := json.Marshal(kept)
		if err != nil {
			r.Fatalf("%v", err)
		}
		var out []struct{ Text string }
		if err := json.Unmarshal([]byte(piped(t, r, string(again), "encode")), &out); err != nil {
			r.Fatalf("%v", err)
		}
		got := []any{}
		for _, e := range out {
			got = append(got, written(e.Text))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("(-sent +written)\n%s", diff)
		}
	})
}

// TestDecodeEncodeReadDialects: a text in a dialect that is only read goes through
// decode | encode as it stood, and is written in the wire form when that is asked.
func TestDecodeEncodeReadDialects(t *testing.T) {
	for _, tc := range []struct {
		dialect protocol.Dialect
		text    string
		wire    string
	}{
		{protocol.DialectProtocol, `{"type":"permission_response","requestId":"p","subtype":"error","error":"no"}`,
			`{"type":"permission_response","request_id":"p","subtype":"error","error":"no"}`},
		{protocol.DialectEarly, `{"type":"permission_response","request_id":"p","approve":true}`,
			`{"type":"permission_response","request_id":"p","subtype":"success","response":{"updated_input":{}}}`},
		{protocol.DialectTool, `{"type":"plan_approval_response","request_id":"p","approve":false,"feedback":"no","timestamp":"2026-11-20T18:15:43.000Z"}`,
			`{"type":"plan_approval_response","requestId":"p","approved":false,"feedback":"no","timestamp":"2026-11-20T18:15:43.000Z"}`},
		{protocol.DialectLegacy, `{"type":"shutdown_response","requestId":"s","approve":true,"from":"w1","timestamp":"2026-11-20T18:15:43.000Z"}`,
			`{"type":"shutdown_approved","requestId":"s","from":"w1","timestamp":"2026-11-20T18:15:43.000Z"}`},
		{protocol.DialectWire, `{ "mode": "plan", "type": "mode_set_request", "from": "team-lead" }`,
			`{ "mode": "plan", "type": "mode_set_request", "from": "team-lead" }`},
	} {
		decoded := piped(t, t, tc.text, "decode")
		if got := strings.TrimSuffix(piped(t, t, decoded, "encode"), "\n"); got != tc.text {
			t.Errorf("%s\nbecame %s", tc.text, got)
		}
		if got := strings.TrimSuffix(piped(t, t, decoded, "encode", "--dialect", "wire"), "\n"); got != tc.wire {
			t.Errorf("%s (%s)\nin the wire form: %s\nwant %s", tc.text, tc.dialect, got, tc.wire)
		}
	}
}

func anyJSON(f fatal, text string) (v any) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		f.Fatalf("%v\n%s", err, text)
	}
	return v
}

// written returns the values of a frame, with its numbers as they are written; text stays as it is.
func written(text string) any {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) || dec.Decode(&v) != nil {
		return text
	}
	return v
}
