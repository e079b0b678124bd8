package protocol_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/protocol"
)

// bombs are texts made to be expensive, all close to MaxText.
func bombs() map[string]string {
	fill := func(head, unit, tail string) string {
		return head + strings.Repeat(unit, (protocol.MaxText-len(head)-len(tail))/len(unit)) + tail
	}
	half := protocol.MaxText / 2
	return map[string]string{
		"open arrays":       fill(`{"type":"permission_response","request_id":"r","x":`, "[", ""),
		"deep arrays":       `{"type":"permission_response","request_id":"r","approve":true,"x":` + strings.Repeat("[", half-100) + strings.Repeat("]", half-100) + `}`,
		"deep objects":      `{"type":"permission_response","request_id":"r","approve":true,"x":` + strings.Repeat(`{"a":`, 170_000) + "1" + strings.Repeat("}", 170_000) + `}`,
		"many keys":         fill(`{"type":"permission_response","request_id":"r","approve":true`, `,"k":1`, `}`),
		"many types":        fill(`{"type":"permission_response"`, `,"type":"x"`, `}`),
		"late type":         fill(`{`, `"k":1,`, `"type":"permission_response","request_id":"r","approve":true}`),
		"many elements":     fill(`{"type":"permission_response","request_id":"r","approve":true,"x":[0`, ",0", `]}`),
		"escapes":           fill(`{"type":"permission_response","request_id":"r","approve":true,"x":"`, `\u0041`, `"}`),
		"surrogates":        fill(`{"type":"permission_response","request_id":"r","approve":true,"x":"`, `\ud800`, `"}`),
		"long number":       fill(`{"type":"sandbox_permission_request","requestId":"r","host":"h","createdAt":1`, "0", `}`),
		"exponent":          `{"type":"sandbox_permission_request","requestId":"r","host":"h","createdAt":1e2147483647}`,
		"hosts":             fill(`{"type":"sandbox_permission_request","requestId":"r","hosts":["h"`, `,"h"`, `]}`),
		"white space":       fill(" ", " ", ""),
		"braces":            fill("{", "{", ""),
		"backslashes":       fill(`{"type":"`, `\\`, `"`),
		"keys, 64 deep":     strings.Repeat(`{"type":"x","a":`, 64) + strings.Repeat("[0,", 1) + "0]" + strings.Repeat("}", 64),
		"distinct hosts":    `{"type":"sandbox_permission_request","requestId":"r","hosts":[` + distinct(60_000) + `]}`,
		"hosts, again":      `{"type":"sandbox_permission_request","requestId":"r","hosts":[` + distinct(60_000) + `]` + strings.Repeat(`,"host":"h"`, 4000) + `}`,
		"steps no strings":  fill(`{"type":"plan_approval_request","requestId":"r","plan":{"steps":[0`, ",0", `]}}`),
		"modes":             fill(`{"type":"mode_set_request","from":"l"`, `,"mode":"plan","mode":"default"`, `}`)[:100_000],
		"modes, 4000":       `{"type":"mode_set_request","from":"l"` + strings.Repeat(`,"mode":"plan","mode":"default"`, 2000) + `}`,
		"reasons":           `{"type":"plan_approval_response","requestId":"r","approved":true` + strings.Repeat(`,"notes":"a","reason":"b"`, 2000) + `}`,
		"unknown plan keys": `{"type":"plan_approval_request","requestId":"r","plan":{"x":1` + strings.Repeat(`,"y":{}`, 4000) + `}}`,
		"rules":             fill(`{"type":"team_permission_update","rules":{"allowedTools":["a"`, `,"a"`, `]}}`),
		"almost own tags":   fill("", "<teammate-messag ", ""),
		"own tags":          fill("", "</teammate-message>", ""),
		"spaces in a tag":   fill("<", " ", ""),
		"ampersands":        "&" + fill("", "amp;", "lt;"),
	}
}

func distinct(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"h`)
		for ; i > 0; i /= 26 {
			b.WriteByte(byte('a' + i%26))
		}
		b.WriteByte('"')
	}
	return b.String()
}

// TestBombs: hostile texts are read in time proportional to their length. The
// limit is generous and only the full run asserts it; a quadratic reading takes minutes.
func TestBombs(t *testing.T) {
	all := bombs()
	first, step := testenv.Sample(t, 1)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i%step != first {
			continue
		}
		text := all[name]
		t.Run(name, func(t *testing.T) {
			var d protocol.Decoded
			took := testenv.CPU(func() {
				d = protocol.DecodeText(text)
				protocol.TextForm(protocol.Mail{From: name, Text: text})
			})
			testenv.Within(t, fmt.Sprintf("reading %d bytes", len(text)), took, 10*time.Second*testenv.Slow)
			if n := len(d.Warnings); n > 100 {
				t.Errorf("%d warnings", n)
			}
			if yes(d.Payload) && name != "many elements" && name != "escapes" {
				t.Errorf("allowed: %+v", d.Payload)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	nested := func(n int) string {
		return `{"type":"permission_request","request_id":"r","tool_name":"t","input":` + strings.Repeat(`{"a":`, n-2) + "{}" + strings.Repeat("}", n-2) + `}`
	}
	keys := func(n int) string {
		return `{"type":"permission_request","request_id":"r","tool_name":"t","input":` + manyKeys(n-5) + `}`
	}
	padded := func(n int) string {
		head, tail := `{"type":"teammate_terminated","message":"`, `"}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	for _, tc := range []struct {
		name, text string
		want       protocol.Kind
	}{
		{"deepest", nested(protocol.MaxDepth), protocol.KindPermissionRequest},
		{"too deep", nested(protocol.MaxDepth + 1), protocol.KindInvalid},
		{"most keys", keys(protocol.MaxKeys), protocol.KindPermissionRequest},
		{"too many keys", keys(protocol.MaxKeys + 1), protocol.KindInvalid},
		{"longest", padded(protocol.MaxText), protocol.KindTeammateTerminated},
		{"too long", padded(protocol.MaxText + 1), protocol.KindInvalid},
		{"too deep to be known", strings.Replace(nested(100), "permission_request", "x", 1), protocol.KindInvalid},
		{"deep data is text", strings.Replace(nested(100), "type", "kind", 1), protocol.KindText},
		{"much data is text", strings.Replace(keys(5000), "type", "kind", 1), protocol.KindText},
		{"long words", strings.Repeat("x", protocol.MaxText), protocol.KindText},
		{"too long words", strings.Repeat("x", protocol.MaxText+1), protocol.KindInvalid},
		{"a decision too deep", `{"type":"permission_response","request_id":"r","subtype":"error","x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, protocol.KindInvalid},
	} {
		if d := protocol.DecodeText(tc.text); d.Kind != tc.want {
			t.Errorf("%s: %s %q, want %s", tc.name, d.Kind, d.Warnings, tc.want)
		}
	}
	// A frame with very many unknown keys does not warn about each.
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `,"k%d":1`, i)
	}
	d := protocol.DecodeText(`{"type":"teammate_terminated","message":"m"` + b.String() + `}`)
	if n := len(d.Warnings); n == 0 || n > 20 {
		t.Errorf("%d warnings", n)
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, bc := range []struct{ name, text string }{
		{"text", "Both files already have comprehensive module-level documentation."},
		{"idle", `{"type":"idle_notification","from":"w1","timestamp":"2026-11-20T18:15:43.000Z","idleReason":"available","result":"w1 done"}`},
		{"request", `{"type":"permission_request","request_id":"perm-1","agent_id":"w1","tool_name":"Bash","tool_use_id":"u","description":"d","input":{"command":"ls"},"permission_suggestions":[]}`},
		{"response", `{"type":"permission_response","request_id":"r","subtype":"success","tool_use_id":"u","response":{"updated_input":{"command":"ls"}}}`},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bc.text)))
			for b.Loop() {
				protocol.DecodeText(bc.text)
			}
		})
	}
}

func BenchmarkEnvelope(b *testing.B) {
	entry := []byte(protocol.Envelope{
		From: "w1", Text: strings.Repeat("All tests pass.\n", 20), Timestamp: payloadTime, Color: "blue", MsgV: 1,
		MsgID: "d0989967-5f52-4da5-8808-11964bbe069f", Type: "message",
	}.AppendJSON(nil))
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(entry)))
		for b.Loop() {
			if _, err := protocol.ParseEnvelope(entry); err != nil {
				b.Fatal(err)
			}
		}
	})
	e, err := protocol.ParseEnvelope(entry)
	testenv.Must(b, err)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(entry)))
		var dst []byte
		for b.Loop() {
			dst = e.AppendJSON(dst[:0])
		}
	})
}
