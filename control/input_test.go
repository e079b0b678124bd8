package control_test

import (
	"strings"
	"testing"

	"waggle/internal/test/protocoltest"
	"waggle/protocol"
	"waggle/record"
)

// The bytes of the input are in the message and in the journal as they were
// asked, so that the digest that was shown is the digest of what runs.
func TestInputKeepsItsBytes(t *testing.T) {
	for _, s := range protocoltest.Spellings {
		if !strings.HasPrefix(s, "{") {
			continue
		}
		w, m := working(t, record.PolicySet{}, false)
		a := record.Ask{Tool: "mcp__x__y", Input: s, Cwd: "/work"}
		_, ds, err := m.w.Ask(tool, a, m.lead, m.mint())
		if err != nil {
			continue // not Unicode, or white space around it
		}
		if b, ok := ds[0].Body.(record.Answered); ok {
			if b.Decision != record.DecisionDeny {
				t.Errorf("%s was allowed by rule %q", s, b.Rule)
			}
			continue
		}
		k := m.ask(tool, a)
		w.round()
		r := w.request(k)
		p, ok := protocol.DecodeText(w.box.entries[0].env.Text).Payload.(protocol.PermissionRequest)
		if !ok || string(p.Input) != s || r.Ask.Input != s || r.Digest != record.DigestOf(uid, k, r.Ask) || r.Ask.N != record.SumN {
			t.Errorf("%q became %q on the wire and %q on record", s, p.Input, r.Ask.Input)
		}
		w.decide(verdict(r, true), operator)
		w.round()
		g, ok := protocol.DecodeText(m.box.entries[len(m.box.entries)-1].env.Text).Payload.(protocol.PermissionResponse)
		c, _ := m.w.Call(k)
		if !ok || c.Input() != s || s != "{}" && string(g.Response.UpdatedInput) != s {
			t.Errorf("%q was allowed as %q and runs as %q", s, g.Response.UpdatedInput, c.Input())
		}
	}
}
