package waggle_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle"
	"waggle/internal/jsonobj"
	"waggle/internal/protocoltest"
)

// TestMutations is a table of what readers make of each written field when it is
// missing, spelled in another case, or of another type: testdata/mutations.txt. It is
// written anew with: go test . -run TestMutations -update.
//
// same: the reader has it from elsewhere or does not need it; said: the same, with a
// warning; changed: another payload, with a warning unless the row says silent; denied:
// an answer that is read as a no; invalid: no effect; text, unknown: words.
func TestMutations(t *testing.T) {
	const file = "testdata/mutations.txt"
	var b strings.Builder
	for _, p := range protocoltest.Samples() {
		if p.Kind() == waggle.KindText || p.Kind() == waggle.KindUnknown || p.Kind() == waggle.KindSystemInit {
			continue
		}
		for _, dialect := range []waggle.Dialect{waggle.DialectWire, waggle.DialectCatalog} {
			text, err := waggle.Encode(p, dialect)
			if err != nil {
				continue
			}
			mutateFrame(t, &b, p.Kind(), dialect, text)
		}
	}
	mutateEnvelope(t, &b)
	want, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" && !*update {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// mutations are the ways in which one key is spoiled.
var mutations = []struct {
	name string
	do   func(o *jsonobj.Object, key string, raw json.RawMessage)
}{
	{"dropped", func(o *jsonobj.Object, key string, _ json.RawMessage) { o.Delete(key) }},
	{"case", func(o *jsonobj.Object, key string, raw json.RawMessage) { o.Delete(key); o.Set(swapCase(key), raw) }},
	{"type", func(o *jsonobj.Object, key string, raw json.RawMessage) { o.Set(key, otherType(raw)) }},
}

// otherForm are fields whose other type is a form that some writer uses.
var otherForm = map[string]bool{
	"sandbox_permission_request timestamp":         true, // milliseconds
	"sandbox_permission_request details.hostnames": true, // one host
	"plan_approval_request plan":                   true, // seeds 002 and 004 have text
	"join_request capabilities":                    true, // anything
}

func swapCase(key string) string {
	if up := strings.ToUpper(key[:1]) + key[1:]; up != key {
		return up
	}
	return strings.ToLower(key)
}

func otherType(raw json.RawMessage) json.RawMessage {
	if raw[0] == '"' {
		return json.RawMessage("7")
	}
	return json.RawMessage(`"another type"`)
}

func mutateFrame(t *testing.T, b *strings.Builder, kind waggle.Kind, dialect waggle.Dialect, text string) {
	read := func(text string) waggle.Decoded {
		return waggle.Decode(waggle.Envelope{From: sender(text), Text: text, Timestamp: payloadTime})
	}
	whole := read(text)
	for _, path := range keysOf(t, text, "") {
		for _, m := range mutations {
			bad := mutate(t, text, path, m.do)
			d := read(bad)
			how := verdict(whole, d)
			fmt.Fprintf(b, "%-12s %-28s %-34s %-8s %s\n", dialect, kind, path, m.name, how)
			if widens(whole, d) {
				t.Errorf("%s %s %s: a no became a yes:\n%s", kind, path, m.name, bad)
			}
			if how == "changed, silent" && m.name != "dropped" && !otherForm[string(kind)+" "+path] {
				t.Errorf("%s %s %s changes what is read and is not said:\n%s", kind, path, m.name, bad)
			}
		}
	}
}

// sender is who a sample is from.
func sender(text string) string {
	if strings.Contains(text, `"from":"team-lead"`) || strings.Contains(text, `"assignedBy":"team-lead"`) {
		return "team-lead"
	}
	return "w1"
}

// keysOf lists the keys of a frame, those of objects in it with their path. The tool's
// input is a value, and its keys are the tool's.
func keysOf(t *testing.T, text, prefix string) []string {
	o, err := jsonobj.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, key := range o.Keys() {
		keys = append(keys, prefix+key)
		raw, _ := o.Get(key)
		if raw[0] == '{' && key != "input" && key != "updated_input" && len(raw) > 2 {
			keys = append(keys, keysOf(t, string(raw), prefix+key+".")...)
		}
	}
	return keys
}

func mutate(t *testing.T, text, path string, do func(*jsonobj.Object, string, json.RawMessage)) string {
	o, err := jsonobj.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	key, rest, deeper := strings.Cut(path, ".")
	raw, _ := o.Get(key)
	if deeper {
		o.Set(key, json.RawMessage(mutate(t, string(raw), rest, do)))
	} else {
		do(o, key, raw)
	}
	return string(o.Raw())
}

func verdict(whole, d waggle.Decoded) string {
	switch {
	case d.Kind == waggle.KindInvalid:
		return "invalid"
	case d.Kind == waggle.KindText || d.Kind == waggle.KindUnknown:
		return string(d.Kind)
	case yes(whole.Payload) && !yes(d.Payload):
		return "denied"
	case !cmp.Equal(whole.Payload, d.Payload) && len(d.Warnings) > len(whole.Warnings):
		return "changed"
	case !cmp.Equal(whole.Payload, d.Payload):
		return "changed, silent"
	case len(d.Warnings) > len(whole.Warnings):
		return "said"
	}
	return "same"
}

func widens(whole, d waggle.Decoded) bool { return !yes(whole.Payload) && yes(d.Payload) }

// mutateEnvelope does the same to the entry around a frame.
func mutateEnvelope(t *testing.T, b *strings.Builder) {
	e := waggle.Envelope{From: "w1", Text: "words", Summary: "s", Timestamp: payloadTime, Color: "blue", MsgV: 1, MsgID: "m-1", Type: "message"}
	e, err := e.With("metadata", json.RawMessage(`{"priority":"high"}`))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	fields := func(e waggle.Envelope) string {
		return fmt.Sprint(e.From, e.Text, e.Summary, e.Timestamp, e.Color, e.MsgV, e.MsgID, e.Type, e.Read)
	}
	for _, key := range keysOf(t, string(raw), "") {
		for _, m := range mutations {
			got, err := waggle.ParseEnvelope([]byte(mutate(t, string(raw), key, m.do)))
			how := "same"
			switch {
			case err != nil:
				how = "invalid"
			case fields(got) != fields(e):
				how = "changed, silent"
			}
			fmt.Fprintf(b, "%-12s %-28s %-34s %-8s %s\n", "envelope", "entry", key, m.name, how)
		}
	}
}
