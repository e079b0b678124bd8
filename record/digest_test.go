package record_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/test/protocoltest"
	"waggle/protocol"
	"waggle/record"
)

// Equal digest exactly when equal bytes: there is no canonical JSON (trust §2).
func TestDigestIsOfTheBytes(t *testing.T) {
	k := record.Key{Instance: "i", Kind: tool, ID: "perm-1"}
	seen := map[record.Digest]string{}
	for _, s := range protocoltest.Spellings {
		d := record.DigestOf(uid, k, record.Ask{Tool: "Bash", Input: s, Cwd: "/work"})
		if other, ok := seen[d]; ok {
			t.Errorf("%q and %q have one digest", s, other)
		}
		seen[d] = s
		if len(d) != 64 || d != record.DigestOf(uid, k, record.Ask{Tool: "Bash", Input: s, Cwd: "/work", Reason: "another", ToolUseID: "toolu_2"}) {
			t.Errorf("%q: what is only shown is in the digest", s)
		}
	}
}

// Each field is hashed behind its length: no byte can move from one field to the next.
func TestDigestHasNoSeams(t *testing.T) {
	k := record.Key{Instance: "i", Kind: tool, ID: "p"}
	base := record.DigestOf(uid, k, record.Ask{Tool: "Bash", Input: "{}", Cwd: "/a"})
	for name, d := range map[string]record.Digest{
		"tool into cwd":      record.DigestOf(uid, k, record.Ask{Tool: "Bas", Cwd: "h/a", Input: "{}"}),
		"cwd into input":     record.DigestOf(uid, k, record.Ask{Tool: "Bash", Cwd: "/", Input: "a{}"}),
		"input into cwd":     record.DigestOf(uid, k, record.Ask{Tool: "Bash", Cwd: "/a{", Input: "}"}),
		"id into tool":       record.DigestOf(uid, record.Key{Instance: "i", Kind: tool, ID: "pB"}, record.Ask{Tool: "ash", Cwd: "/a", Input: "{}"}),
		"instance into kind": record.DigestOf(uid, record.Key{Instance: "ip", Kind: tool[1:], ID: "p"}, record.Ask{Tool: "Bash", Cwd: "/a", Input: "{}"}),
		"uid into instance":  record.DigestOf(uid+"i", record.Key{Kind: tool, ID: "p"}, record.Ask{Tool: "Bash", Cwd: "/a", Input: "{}"}),
		"another kind":       record.DigestOf(uid, record.Key{Instance: "i", Kind: plan, ID: "p"}, record.Ask{Tool: "Bash", Cwd: "/a", Input: "{}"}),
		"another team":       record.DigestOf("else", k, record.Ask{Tool: "Bash", Cwd: "/a", Input: "{}"}),
	} {
		if d == base {
			t.Errorf("%s: the same digest", name)
		}
	}
	h := record.Key{Instance: "i", Kind: host, ID: "p"}
	if record.DigestOf(uid, h, record.Ask{Host: "x.org", Port: "443"}) == record.DigestOf(uid, h, record.Ask{Host: "x.org443"}) {
		t.Error("a port moved into a host")
	}
	p := record.Key{Instance: "i", Kind: plan, ID: "p"}
	if record.DigestOf(uid, p, record.Ask{Plan: "a"}) == record.DigestOf(uid, p, record.Ask{Plan: "b"}) {
		t.Error("two plans have one digest")
	}
}

// TestDigestForm pins the preimage: journals outlive programs.
func TestDigestForm(t *testing.T) {
	k := record.Key{Instance: "i", Kind: tool, ID: "p"}
	h := sha256.New()
	for _, f := range []string{"waggle/request/1", string(uid), "i", "permission_request", "p", "Bash", "/work", `{"command":"x"}`} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(f)))
		h.Write(n[:])
		h.Write([]byte(f))
	}
	want := hex.EncodeToString(h.Sum(nil))
	if got := record.DigestOf(uid, k, record.Ask{Tool: "Bash", Cwd: "/work", Input: `{"command":"x"}`}); string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDigestsDifferWithAnyField(t *testing.T) {
	field := rapid.OneOf(rapid.SampledFrom(protocoltest.Spellings), rapid.StringN(0, 3, 8))
	kind := rapid.SampledFrom([]protocol.Kind{tool, plan, host})
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (record.Key, record.Ask) {
			k := record.Key{Instance: record.Instance(field.Draw(t, name)), Kind: kind.Draw(t, name), ID: protocol.RequestID(field.Draw(t, name))}
			switch k.Kind {
			case plan:
				return k, record.Ask{Plan: field.Draw(t, name)}
			case host:
				return k, record.Ask{Host: field.Draw(t, name), Port: field.Draw(t, name)}
			}
			return k, record.Ask{Tool: field.Draw(t, name), Cwd: field.Draw(t, name), Input: field.Draw(t, name)}
		}
		k1, a1 := draw("one")
		k2, a2 := draw("other")
		if (record.DigestOf(uid, k1, a1) == record.DigestOf(uid, k2, a2)) != (k1 == k2 && reflect.DeepEqual(a1, a2)) {
			t.Fatalf("%v %v and %v %v", k1, a1, k2, a2)
		}
	})
}
