package protocol_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/protocoltest"
	"waggle/internal/test/testenv"
	"waggle/protocol"
)

// pair is a top-level key and its value.
type pair struct {
	key string
	raw string
}

// naive reads the top level of an object with Go's decoder, duplicates included.
func naive(text string) ([]pair, bool) {
	text = strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
	dec := json.NewDecoder(strings.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	var pairs []pair
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, false
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, false
		}
		pairs = append(pairs, pair{key.(string), string(raw)})
	}
	_, err := dec.Token()
	return pairs, err == nil
}

// mayAllow is the independent check: no explicit no at top level, no key twice,
// and at least one explicit yes.
func mayAllow(text string) (why string) {
	pairs, ok := naive(text)
	if !ok {
		return "it is not an object"
	}
	if !utf8.ValidString(text) {
		return "it is not valid UTF-8"
	}
	keys := make(map[string]bool)
	yes := false
	for _, p := range pairs {
		if keys[p.key] {
			return p.key + " occurs twice"
		}
		keys[p.key] = true
		switch p.key {
		case "approved", "approve", "allow", "allowed":
			if p.raw != "true" {
				return p.key + " is " + p.raw
			}
			yes = true
		case "subtype", "behavior", "decision":
			var word string
			if json.Unmarshal([]byte(p.raw), &word) != nil || word != map[string]string{"subtype": "success", "behavior": "allow", "decision": "approve"}[p.key] {
				return p.key + " is " + p.raw
			}
			yes = true
		case "error":
			if p.raw != "null" {
				return "there is an error"
			}
		case "type":
			yes = yes || p.raw == `"shutdown_approved"`
		default:
			for _, no := range []string{"approved", "approve", "allow", "allowed", "subtype", "behavior", "decision"} {
				if strings.EqualFold(p.key, no) {
					return p.key + " is a look-alike"
				}
			}
		}
	}
	if !yes {
		return "nothing says yes"
	}
	return ""
}

func depth(text string) int {
	deepest, open, inString := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			open++
			deepest = max(deepest, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return deepest
}

func FuzzDecode(f *testing.F) {
	for _, rows := range [][]row{
		readRuleRows, permissionRequestRows, permissionResponseRows, sandboxRequestRows, sandboxResponseRows, planRequestRows,
		planResponseRows, modeRows, teamUpdateRows, shutdownRequestRows, shutdownAnswerRows, idleRows, taskRows, legacyRows, textRows,
	} {
		for _, r := range rows {
			if r.entry == "" {
				f.Add(expand(r.text), "w1", "", "")
			}
		}
	}
	for _, p := range protocoltest.Samples() {
		for _, d := range []protocol.Dialect{protocol.DialectWire, protocol.DialectCatalog} {
			if text, err := protocol.Encode(p, d); err == nil {
				f.Add(text, "team-lead", "message", "")
			}
		}
	}
	for _, value := range []string{
		"01", "-", "-0", "-01", "1.", ".5", "+1", "1e", "1E+2", "1e-", "0x1", "1_0", "NaN", "nul", "nulll", "True", "undefined",
		`"\x"`, `"\u12g4"`, `"\u12`, `"\`, `"`, "\"\t\"", `"\ud83d\ude00"`, `"\ud83d\u0041"`, "[", "]", "[1,]", "[,1]", "[1 2]", "{", "{1:2}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, "[}", "{]", "",
	} {
		f.Add(`{"type":"teammate_terminated","message":"m","x":`+value+`}`, "w1", "", "")
	}
	f.Add("prose", "team-lead", "shutdown_request", "req-1")
	f.Add("prose", "system", "system_init", "")
	f.Add(`{"type":"permission_response","subtype":"success"}`, "team-lead", "", "r")
	f.Fuzz(func(t *testing.T, text, from, typ, metadata string) {
		e := protocol.Envelope{From: from, Text: text, Timestamp: envelopeTime, Type: typ}
		if metadata != "" {
			e = withMetadata(t, e, metadata)
		}
		checkDecoded(t, e, protocol.Decode(e))
	})
}

func withMetadata(t *testing.T, e protocol.Envelope, id string) protocol.Envelope {
	t.Helper()
	entry, err := e.MarshalJSON()
	testenv.Must(t, err)
	quoted, err := json.Marshal(id)
	testenv.Must(t, err)
	entry = append(entry[:len(entry)-1], `,"metadata":{"request_id":`+string(quoted)+`}}`...)
	e, err = protocol.ParseEnvelope(entry)
	testenv.Must(t, err)
	return e
}

// failer is what the checks need of a test, be it testing's or rapid's.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// checkDecoded checks what holds for every entry whatever it says.
func checkDecoded(t failer, e protocol.Envelope, d protocol.Decoded) {
	t.Helper()
	if (d.Payload == nil) != (d.Kind == protocol.KindInvalid) || d.Payload != nil && d.Payload.Kind() != d.Kind {
		t.Fatalf("kind %s with payload %+v", d.Kind, d.Payload)
	}
	if d.Kind == protocol.KindInvalid && len(d.Warnings) == 0 {
		t.Fatal("invalid without a reason")
	}
	for _, w := range d.Warnings {
		if strings.ContainsFunc(w, unicode.IsControl) || len(w) > 2000 {
			t.Fatalf("warning %q", w)
		}
	}
	isText := d.Kind == protocol.KindText || d.Kind == protocol.KindSystemInit || d.Dialect == protocol.DialectAPI && d.Kind == protocol.KindShutdownRequest
	if d.Payload != nil && (len(e.Text) > protocol.MaxText || !isText && depth(e.Text) > protocol.MaxDepth) {
		t.Fatalf("%d bytes, %d deep are read as %s", len(e.Text), depth(e.Text), d.Kind)
	}
	if yes(d.Payload) {
		if why := mayAllow(e.Text); why != "" {
			t.Fatalf("read as a yes although %s:\n%s\n%+v %q", why, e.Text, d.Payload, d.Warnings)
		}
	}
	if id, paired := protocol.RequestIDOf(d.Payload); paired && (id == "" || !utf8.ValidString(string(id))) && !strings.HasPrefix(string(d.Kind), "join_") {
		t.Fatalf("request id %q", id)
	}
	checkIsFrame(t, e, d)
	checkRaw(t, e.Text, d.Payload)
	out, err := d.MarshalJSON()
	if err != nil || !json.Valid(out) || bytes.Contains(out, []byte(`"warnings":null`)) {
		t.Fatalf("MarshalJSON: %s, %v", out, err)
	}
	checkStable(t, e, d)
}

// checkIsFrame: an entry is read as a frame exactly when Go's own decoder sees an
// object with a string type (protocol §1.0).
func checkIsFrame(t failer, e protocol.Envelope, d protocol.Decoded) {
	t.Helper()
	if len(e.Text) > protocol.MaxText || depth(e.Text) > 5000 {
		return // beyond our limits, or near those of Go's decoder
	}
	body := strings.TrimLeftFunc(e.Text, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
	pairs, _ := naive(body)
	frame := json.Valid([]byte(body)) && slices.ContainsFunc(pairs, func(p pair) bool { return p.key == "type" && p.raw[0] == '"' })
	words := d.Kind == protocol.KindText || d.Kind == protocol.KindSystemInit ||
		e.Type == string(protocol.KindShutdownRequest) && (d.Kind == protocol.KindShutdownRequest || d.Kind == protocol.KindInvalid)
	if frame && (d.Kind == protocol.KindText || d.Kind == protocol.KindSystemInit) || !frame && !words {
		t.Fatalf("frame %v, read as %s: %s", frame, d.Kind, e.Text)
	}
}

// checkRaw: the raw JSON of a payload stands in the message byte for byte, because the decision is
// about these bytes.
func checkRaw(t failer, text string, p protocol.Payload) {
	t.Helper()
	var raws []json.RawMessage
	switch p := p.(type) {
	case protocol.PermissionRequest:
		if string(p.Input) != "{}" && !strings.HasPrefix(string(p.Input), `{"arguments":`) {
			raws = append(raws, p.Input)
		}
	case protocol.PermissionResponse:
		if p.Response != nil {
			raws = append(p.Response.PermissionUpdates, p.Response.UpdatedInput)
		}
	case protocol.Unknown:
		raws = append(raws, p.Raw)
	}
	for _, raw := range raws {
		if !strings.Contains(text, string(raw)) {
			t.Fatalf("%s is not in the message", raw)
		}
	}
}

// checkStable: a payload that can be sent on says the same when it is read
// again, and is then written the same.
func checkStable(t failer, e protocol.Envelope, d protocol.Decoded) {
	t.Helper()
	if d.Payload == nil || protocol.Validate(d.Payload) != nil {
		return
	}
	text, err := protocol.Encode(d.Payload, protocol.DialectWire)
	if err != nil {
		return // larger than the limits, once written out
	}
	back := protocol.Envelope{From: e.From, Timestamp: e.Timestamp, Text: text}
	if d.Kind == protocol.KindSystemInit {
		back.Type = string(d.Kind)
	}
	again := protocol.Decode(back)
	if d.Kind == protocol.KindText && again.Kind == protocol.KindText {
		return
	}
	if again.Kind != d.Kind || yes(again.Payload) != yes(d.Payload) || again.Type != string(d.Kind) && d.Kind != protocol.KindUnknown {
		t.Fatalf("%s %+v\nis written as %s\nand read as %s %+v %q", d.Kind, d.Payload, text, again.Kind, again.Payload, again.Warnings)
	}
	if got, err := protocol.Encode(again.Payload, protocol.DialectWire); err != nil || got != text {
		t.Fatalf("written twice: %v\n%s", err, cmp.Diff(text, got))
	}
}

func FuzzEnvelope(f *testing.F) {
	for _, s := range []string{
		`{"from":"a","text":"b","timestamp":"t","read":false}`,
		`{"from":"a","content":"b","timestamp":"t","metadata":{"request_id":"r","n":[1.0,{},[]]},"messageId":"m"}`,
		`{"read":true,"lead_sig":"x","timestamp":"t","msgV":1,"msg_id":"m","type":"message","text":"{\"type\":\"x\"}","from":"a","color":"red","summary":"\ud83d"}`,
		"{\"from\":\"\u2028<&>\",\"text\":\"\\u00e9\\/\\ud800\xff\",\"timestamp\":\"t\",\"x\":1,\"x\":2}",
		`{"from":"a","text":"b","timestamp":"t","message_id":"1","messageId":"2","msg_id":"3"}`,
	} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, read bool) {
		e, err := protocol.ParseEnvelope(raw)
		if err != nil {
			return
		}
		// An independent layout of the same bytes comes back byte for byte.
		var indented, compact bytes.Buffer
		body := bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("\ufeff"))
		if json.Indent(&indented, body, "  ", "  ") != nil || json.Compact(&compact, body) != nil {
			return // Go's decoder is stricter about what stands around the entry
		}
		want := bytes.TrimSpace(indented.Bytes())
		p, err := protocol.ParseEnvelope(want)
		testenv.Must(t, err)
		if got := p.AppendJSON(nil); !bytes.Equal(got, want) {
			t.Fatalf("rewritten differently:\n%s", cmp.Diff(string(want), string(got)))
		}
		if got, _ := e.MarshalJSON(); !bytes.Equal(got, bytes.TrimSpace(compact.Bytes())) {
			t.Fatalf("compact:\n%s", cmp.Diff(compact.String(), string(got)))
		}
		if !e.Equal(p) {
			t.Fatal("layout changes what the entry is")
		}
		checkSetRead(t, e, read)
		checkDecoded(t, e, protocol.Decode(e))
	})
}

// checkSetRead: marking an entry changes read and nothing else.
func checkSetRead(t *testing.T, e protocol.Envelope, read bool) {
	t.Helper()
	marked := e
	marked.Read = read
	out := marked.AppendJSON(nil)
	back, err := protocol.ParseEnvelope(out)
	if err != nil || back.Read != read || back.From != e.From || back.Text != e.Text || back.MsgID != e.MsgID {
		t.Fatalf("%s: %+v, %v", out, back, err)
	}
	drop := func(b []byte) []pair {
		pairs, _ := naive(string(b))
		return slices.DeleteFunc(pairs, func(p pair) bool { return p.key == "read" })
	}
	if diff := cmp.Diff(drop(e.AppendJSON(nil)), drop(out), cmp.AllowUnexported(pair{})); diff != "" {
		t.Fatal(diff)
	}
}
