package control_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waggle"
	"waggle/control"
)

// spellings are inputs that some decoder reads alike, or that differ in one byte.
var spellings = []string{
	`{"n":9007199254740993}`, `{"n":9007199254740992}`, `{"n":9007199254740993.0}`, `{"n":9.007199254740993e15}`, `{"n":"9007199254740993"}`,
	`{"n":1}`, `{"n":1.0}`, `{"n":1e0}`, `{"n":-0}`, `{"n":0}`,
	`{"a":1,"b":2}`, `{"b":2,"a":1}`, `{ "a":1,"b":2}`, `{"a":1,"b":2} `, `{"a": 1,"b":2}`, "{\"a\":1,\n\"b\":2}", "{\"a\":1,\t\"b\":2}",
	`{"a":1,"a":2}`, `{"a":2,"a":1}`, `{"a":1}`, `{"a":2}`, `{"A":1}`, `{"A":1,"a":2}`,
	`{"s":"é"}`, `{"s":"\u00e9"}`, `{"s":"\u00E9"}`, "{\"s\":\"e\u0301\"}", `{"s":"/"}`, `{"s":"\/"}`, `{"s":"\u002f"}`,
	`{"s":"<"}`, `{"s":"\u003c"}`, `{"s":"\ud800"}`, `{"s":"\ud83d\ude00"}`, `{"s":"😀"}`, "{\"s\":\"\ufffd\"}", "{\"s\":\"\xff\"}",
	`{"b":true}`, `{"b":True}`, `{"b":1}`, `{}`, `{"x":null}`, `null`, ``,
}

// Equal digest exactly when equal bytes: there is no canonical JSON (trust §2).
func TestDigestIsOfTheBytes(t *testing.T) {
	k := control.Key{Instance: "i", Kind: tool, ID: "perm-1"}
	seen := map[control.Digest]string{}
	for _, s := range spellings {
		d := control.DigestOf(uid, k, control.Ask{Tool: "Bash", Input: s, Cwd: "/work"})
		if other, ok := seen[d]; ok {
			t.Errorf("%q and %q have one digest", s, other)
		}
		seen[d] = s
		if len(d) != 64 || d != control.DigestOf(uid, k, control.Ask{Tool: "Bash", Input: s, Cwd: "/work", Reason: "another", ToolUseID: "toolu_2"}) {
			t.Errorf("%q: what is only shown is in the digest", s)
		}
	}
}

// The bytes of the input are in the message and in the journal as they were
// asked, so that the digest that was shown is the digest of what runs.
func TestInputKeepsItsBytes(t *testing.T) {
	for _, s := range spellings {
		if !strings.HasPrefix(s, "{") {
			continue
		}
		w, m := working(t, control.PolicySet{}, false)
		a := control.Ask{Tool: "mcp__x__y", Input: s, Cwd: "/work"}
		_, ds, err := m.w.Ask(tool, a, m.lead, m.mint())
		if err != nil {
			continue // not Unicode, or white space around it
		}
		if b, ok := ds[0].Body.(control.Answered); ok {
			if b.Decision != control.DecisionDeny {
				t.Errorf("%s was allowed by rule %q", s, b.Rule)
			}
			continue
		}
		k := m.ask(tool, a)
		w.round()
		r := w.request(k)
		p, ok := waggle.DecodeText(w.box.entries[0].env.Text).Payload.(waggle.PermissionRequest)
		if !ok || string(p.Input) != s || r.Ask.Input != s || r.Digest != control.DigestOf(uid, k, r.Ask) || r.Ask.N != control.SumN {
			t.Errorf("%q became %q on the wire and %q on record", s, p.Input, r.Ask.Input)
		}
		w.decide(verdict(r, true), operator)
		w.round()
		g, ok := waggle.DecodeText(m.box.entries[len(m.box.entries)-1].env.Text).Payload.(waggle.PermissionResponse)
		c, _ := m.w.Call(k)
		if !ok || c.Input() != s || s != "{}" && string(g.Response.UpdatedInput) != s {
			t.Errorf("%q was allowed as %q and runs as %q", s, g.Response.UpdatedInput, c.Input())
		}
	}
}

// Each field is hashed behind its length: no byte can move from one field to the next.
func TestDigestHasNoSeams(t *testing.T) {
	k := control.Key{Instance: "i", Kind: tool, ID: "p"}
	base := control.DigestOf(uid, k, control.Ask{Tool: "Bash", Input: "{}", Cwd: "/a"})
	for name, d := range map[string]control.Digest{
		"tool into cwd":      control.DigestOf(uid, k, control.Ask{Tool: "Bas", Cwd: "h/a", Input: "{}"}),
		"cwd into input":     control.DigestOf(uid, k, control.Ask{Tool: "Bash", Cwd: "/", Input: "a{}"}),
		"input into cwd":     control.DigestOf(uid, k, control.Ask{Tool: "Bash", Cwd: "/a{", Input: "}"}),
		"id into tool":       control.DigestOf(uid, control.Key{Instance: "i", Kind: tool, ID: "pB"}, control.Ask{Tool: "ash", Cwd: "/a", Input: "{}"}),
		"instance into kind": control.DigestOf(uid, control.Key{Instance: "ip", Kind: tool[1:], ID: "p"}, control.Ask{Tool: "Bash", Cwd: "/a", Input: "{}"}),
		"uid into instance":  control.DigestOf(uid+"i", control.Key{Kind: tool, ID: "p"}, control.Ask{Tool: "Bash", Cwd: "/a", Input: "{}"}),
		"another kind":       control.DigestOf(uid, control.Key{Instance: "i", Kind: plan, ID: "p"}, control.Ask{Tool: "Bash", Cwd: "/a", Input: "{}"}),
		"another team":       control.DigestOf("else", k, control.Ask{Tool: "Bash", Cwd: "/a", Input: "{}"}),
	} {
		if d == base {
			t.Errorf("%s: the same digest", name)
		}
	}
	h := control.Key{Instance: "i", Kind: host, ID: "p"}
	if control.DigestOf(uid, h, control.Ask{Host: "x.org", Port: "443"}) == control.DigestOf(uid, h, control.Ask{Host: "x.org443"}) {
		t.Error("a port moved into a host")
	}
	p := control.Key{Instance: "i", Kind: plan, ID: "p"}
	if control.DigestOf(uid, p, control.Ask{Plan: "a"}) == control.DigestOf(uid, p, control.Ask{Plan: "b"}) {
		t.Error("two plans have one digest")
	}
}

// TestDigestForm pins the preimage: journals outlive programs.
func TestDigestForm(t *testing.T) {
	k := control.Key{Instance: "i", Kind: tool, ID: "p"}
	h := sha256.New()
	for _, f := range []string{"waggle/request/1", string(uid), "i", "permission_request", "p", "Bash", "/work", `{"command":"x"}`} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(f)))
		h.Write(n[:])
		h.Write([]byte(f))
	}
	want := hex.EncodeToString(h.Sum(nil))
	if got := control.DigestOf(uid, k, control.Ask{Tool: "Bash", Cwd: "/work", Input: `{"command":"x"}`}); string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDigestsDifferWithAnyField(t *testing.T) {
	field := rapid.OneOf(rapid.SampledFrom(spellings), rapid.StringN(0, 3, 8))
	kind := rapid.SampledFrom([]waggle.Kind{tool, plan, host})
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (control.Key, control.Ask) {
			k := control.Key{Instance: control.Instance(field.Draw(t, name)), Kind: kind.Draw(t, name), ID: waggle.RequestID(field.Draw(t, name))}
			switch k.Kind {
			case plan:
				return k, control.Ask{Plan: field.Draw(t, name)}
			case host:
				return k, control.Ask{Host: field.Draw(t, name), Port: field.Draw(t, name)}
			}
			return k, control.Ask{Tool: field.Draw(t, name), Cwd: field.Draw(t, name), Input: field.Draw(t, name)}
		}
		k1, a1 := draw("one")
		k2, a2 := draw("other")
		if (control.DigestOf(uid, k1, a1) == control.DigestOf(uid, k2, a2)) != (k1 == k2 && reflect.DeepEqual(a1, a2)) {
			t.Fatalf("%v %v and %v %v", k1, a1, k2, a2)
		}
	})
}
