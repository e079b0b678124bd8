package waggle_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"waggle"
	"waggle/internal/protocoltest"
	_ "waggle/internal/testenv/seeded"
)

// decodeBack decodes what Encode wrote, as an envelope brings it.
func decodeBack(k waggle.Kind, text string) waggle.Decoded {
	e := waggle.Envelope{Text: text}
	if k == waggle.KindSystemInit {
		e.Type = string(k)
	}
	return waggle.Decode(e)
}

func allKinds() []waggle.Kind {
	list := []waggle.Kind{waggle.KindText, waggle.KindUnknown}
	for _, info := range waggle.Kinds() {
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
				text, err := waggle.Encode(p, waggle.DialectWire)
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
				again, err := waggle.Encode(d.Payload, waggle.DialectWire)
				if err != nil || again != text {
					t.Fatalf("written twice: %q, then %q, %v", text, again, err)
				}
			})
		})
	}
}

func dialectWritten(k waggle.Kind) waggle.Dialect {
	switch k {
	case waggle.KindText, waggle.KindUnknown:
		return waggle.DialectNone
	case waggle.KindJoinRequest, waggle.KindJoinApproved, waggle.KindJoinRejected:
		return waggle.DialectLegacy
	case waggle.KindSystemInit:
		return waggle.DialectAPI
	}
	return waggle.DialectWire
}

// TestCatalogRoundTrip: a payload that the catalog form can hold keeps its verdict and its request
// id, and a second Encode has the same bytes.
func TestCatalogRoundTrip(t *testing.T) {
	for _, info := range waggle.Kinds() {
		if info.Legacy || info.Kind == waggle.KindTeammateTerminated {
			continue
		}
		t.Run(string(info.Kind), func(t *testing.T) {
			said := 0
			payloads := protocoltest.Payload(info.Kind)
			check := func(t rapid.TB, p waggle.Payload) {
				text, err := waggle.Encode(p, waggle.DialectCatalog)
				if err != nil {
					return // the form cannot say it; skipping would count against the generator
				}
				said++
				d := waggle.Decode(waggle.Envelope{From: "w1", Timestamp: protocoltest.At, Text: text})
				if d.Kind != info.Kind || d.Dialect == waggle.DialectMixed {
					t.Fatalf("%s: kind %s, dialect %s, %q", text, d.Kind, d.Dialect, d.Warnings)
				}
				if got, want := yes(d.Payload), yes(p); got != want {
					t.Fatalf("%s: verdict %v, want %v", text, got, want)
				}
				sent, _ := waggle.RequestIDOf(p)
				if got, _ := waggle.RequestIDOf(d.Payload); got != sent {
					t.Fatalf("%s: id %q, want %q", text, got, sent)
				}
				again, err := waggle.Encode(d.Payload, waggle.DialectCatalog)
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
func yes(p waggle.Payload) bool {
	switch p := p.(type) {
	case waggle.PermissionResponse:
		return p.Allowed()
	case waggle.SandboxPermissionResponse:
		return p.Allow
	case waggle.PlanApprovalResponse:
		return p.Approved
	case waggle.ShutdownApproved:
		return true
	}
	return false
}

// TestStringsAsJavaScript: a payload's strings are written as JSON.stringify
// writes them.
func TestStringsAsJavaScript(t *testing.T) {
	text, err := waggle.Encode(waggle.TeammateTerminated{
		Message: "a\"b\\c/d<e>&\u2028\u2029é😀\x00\x1f\x7f\b\f\n\r\t",
	}, waggle.DialectWire)
	want := `{"type":"teammate_terminated","message":"a\"b\\c/d<e>&` + "\u2028\u2029é😀" + `\u0000\u001f` + "\x7f" + `\b\f\n\r\t"}`
	if err != nil || text != want {
		t.Fatalf("got  %s, %v\nwant %s", text, err, want)
	}
	text, err = waggle.Encode(waggle.TeammateTerminated{Message: "a\xffb\xed\xa0\x80c"}, waggle.DialectWire)
	if err != nil || strings.Contains(text, `\ud800`) || waggle.DecodeText(text).Kind != waggle.KindTeammateTerminated {
		t.Fatalf("broken bytes: %s, %v", text, err)
	}
}

// TestDialectsKeepTheDecision: whichever dialect a payload is written in, its reader finds the same decision and
// the same request id, says the decision once, and knows every key.
func TestDialectsKeepTheDecision(t *testing.T) {
	for _, info := range waggle.Kinds() {
		for _, dialect := range waggle.Dialects() {
			if dialect.For(info.Kind) != dialect {
				continue
			}
			t.Run(string(info.Kind)+"/"+string(dialect), func(t *testing.T) {
				payloads := protocoltest.Payload(info.Kind)
				rapid.Check(t, func(t *rapid.T) {
					p := payloads.Draw(t, "payload")
					e, err := waggle.Envelope{From: "w1", Timestamp: protocoltest.At}.Carrying(p, dialect)
					if err != nil {
						return // the form cannot say it
					}
					if info.Kind == waggle.KindSystemInit {
						e.Type = string(info.Kind)
					}
					d := waggle.Decode(e)
					if d.Kind != info.Kind || d.Dialect == waggle.DialectMixed || len(d.Unread) > 0 {
						t.Fatalf("%s: kind %s, dialect %s, unread %q, %q", e.Text, d.Kind, d.Dialect, d.Unread, d.Warnings)
					}
					if got, want := yes(d.Payload), yes(p); got != want {
						t.Fatalf("%s: verdict %v, want %v", e.Text, got, want)
					}
					sent, _ := waggle.RequestIDOf(p)
					if got, _ := waggle.RequestIDOf(d.Payload); got != sent {
						t.Fatalf("%s: id %q, want %q", e.Text, got, sent)
					}
					if strings.Contains(strings.Join(d.Warnings, "\n"), "more than once") {
						t.Fatalf("%s: %q", e.Text, d.Warnings)
					}
				})
			})
		}
	}
}
