package protocol_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"waggle/internal/test/protocoltest"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/protocol"
)

// decodeBack decodes what Encode wrote, as an envelope brings it.
func decodeBack(k protocol.Kind, text string) protocol.Decoded {
	e := protocol.Envelope{Text: text}
	if k == protocol.KindSystemInit {
		e.Type = string(k)
	}
	return protocol.Decode(e)
}

func allKinds() []protocol.Kind {
	list := []protocol.Kind{protocol.KindText, protocol.KindUnknown}
	for _, info := range protocol.Kinds() {
		list = append(list, info.Kind)
	}
	return list
}

// TestRoundTrip: Decode reads a payload in the wire form as it was before Encode, in the dialect
// that Encode wrote and without a warning.
func TestRoundTrip(t *testing.T) {
	for _, kind := range allKinds() {
		t.Run(string(kind), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := protocoltest.Payload(kind).Draw(t, "payload")
				text, err := protocol.Encode(p, protocol.DialectWire)
				if err != nil {
					t.Fatalf("Encode: %v", err)
				}
				d := decodeBack(kind, text)
				if diff := cmp.Diff(p, d.Payload); diff != "" {
					t.Fatalf("%s\n(-sent +read)\n%s", text, diff)
				}
				if want := dialectWritten(kind); d.Kind != kind || d.Dialect != want || len(d.Warnings) > 0 {
					t.Fatalf("%s: kind %s, dialect %s, want %s; warnings %q", text, d.Kind, d.Dialect, want, d.Warnings)
				}
				again, err := protocol.Encode(d.Payload, protocol.DialectWire)
				if err != nil || again != text {
					t.Fatalf("written twice: %q, then %q, %v", text, again, err)
				}
			})
		})
	}
}

func dialectWritten(k protocol.Kind) protocol.Dialect {
	switch k {
	case protocol.KindText, protocol.KindUnknown:
		return protocol.DialectNone
	case protocol.KindJoinRequest, protocol.KindJoinApproved, protocol.KindJoinRejected:
		return protocol.DialectLegacy
	case protocol.KindSystemInit:
		return protocol.DialectAPI
	}
	return protocol.DialectWire
}

// TestCatalogRoundTrip: a payload that the catalog form can hold keeps its verdict and its request
// id, and a second Encode has the same bytes.
func TestCatalogRoundTrip(t *testing.T) {
	for _, info := range protocol.Kinds() {
		if info.Legacy || info.Kind == protocol.KindTeammateTerminated {
			continue
		}
		t.Run(string(info.Kind), func(t *testing.T) {
			said := 0
			payloads := protocoltest.Payload(info.Kind)
			check := func(t rapid.TB, p protocol.Payload) {
				text, err := protocol.Encode(p, protocol.DialectCatalog)
				if err != nil {
					return // the form cannot say it; skipping would count against the generator
				}
				said++
				d := protocol.Decode(protocol.Envelope{From: "w1", Timestamp: protocoltest.At, Text: text})
				if d.Kind != info.Kind || d.Dialect == protocol.DialectMixed {
					t.Fatalf("%s: kind %s, dialect %s, %q", text, d.Kind, d.Dialect, d.Warnings)
				}
				sameDecision(t, text, d.Payload, p)
				again, err := protocol.Encode(d.Payload, protocol.DialectCatalog)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				if again != text {
					t.Fatalf("written twice:\n%s\n%s", text, again)
				}
			}
			rapid.Check(t, func(t *rapid.T) { check(t, payloads.Draw(t, "payload")) })
			// Few payloads of some kinds can be said, fewer than a short run draws.
			for seed := 0; said == 0 && seed < 1000; seed++ {
				check(t, payloads.Example(seed))
			}
			if said == 0 {
				t.Error("nothing could be said")
			}
		})
	}
}

// yes reports whether a payload allows or agrees to something.
func yes(p protocol.Payload) bool {
	switch p := p.(type) {
	case protocol.PermissionResponse:
		return p.Allowed()
	case protocol.SandboxPermissionResponse:
		return p.Allow
	case protocol.PlanApprovalResponse:
		return p.Approved
	case protocol.ShutdownApproved:
		return true
	}
	return false
}

// sameDecision checks that what was read of a text decides what was sent, about the same request.
func sameDecision(t rapid.TB, text string, read, sent protocol.Payload) {
	if got, want := yes(read), yes(sent); got != want {
		t.Fatalf("%s: verdict %v, want %v", text, got, want)
	}
	id, _ := protocol.RequestIDOf(sent)
	if got, _ := protocol.RequestIDOf(read); got != id {
		t.Fatalf("%s: id %q, want %q", text, got, id)
	}
}

// TestStringsAsJavaScript: a payload's strings are written as JSON.stringify
// writes them.
func TestStringsAsJavaScript(t *testing.T) {
	text, err := protocol.Encode(protocol.TeammateTerminated{
		Message: "a\"b\\c/d<e>&\u2028\u2029é😀\x00\x1f\x7f\b\f\n\r\t",
	}, protocol.DialectWire)
	want := `{"type":"teammate_terminated","message":"a\"b\\c/d<e>&` + "\u2028\u2029é😀" + `\u0000\u001f` + "\x7f" + `\b\f\n\r\t"}`
	if err != nil || text != want {
		t.Fatalf("got  %s, %v\nwant %s", text, err, want)
	}
	text, err = protocol.Encode(protocol.TeammateTerminated{Message: "a\xffb\xed\xa0\x80c"}, protocol.DialectWire)
	if err != nil || strings.Contains(text, `\ud800`) || protocol.DecodeText(text).Kind != protocol.KindTeammateTerminated {
		t.Fatalf("broken bytes: %s, %v", text, err)
	}
}

// TestDialectsKeepTheDecision: whichever dialect a payload is written in, its reader finds the same decision and
// the same request id, says the decision once, and knows every key.
func TestDialectsKeepTheDecision(t *testing.T) {
	for _, info := range protocol.Kinds() {
		for _, dialect := range protocol.Dialects() {
			if dialect.For(info.Kind) != dialect {
				continue
			}
			t.Run(string(info.Kind)+"/"+string(dialect), func(t *testing.T) {
				payloads := protocoltest.Payload(info.Kind)
				rapid.Check(t, func(t *rapid.T) {
					p := payloads.Draw(t, "payload")
					e, err := protocol.Envelope{From: "w1", Timestamp: protocoltest.At}.Carrying(p, dialect)
					if err != nil {
						return // the form cannot say it
					}
					if info.Kind == protocol.KindSystemInit {
						e.Type = string(info.Kind)
					}
					d := protocol.Decode(e)
					if d.Kind != info.Kind || d.Dialect == protocol.DialectMixed || len(d.Unread) > 0 {
						t.Fatalf("%s: kind %s, dialect %s, unread %q, %q", e.Text, d.Kind, d.Dialect, d.Unread, d.Warnings)
					}
					sameDecision(t, e.Text, d.Payload, p)
					if strings.Contains(strings.Join(d.Warnings, "\n"), "more than once") {
						t.Fatalf("%s: %q", e.Text, d.Warnings)
					}
				})
			})
		}
	}
}
