package protocol_test

import (
	"testing"

	"waggle/protocol"
)

// TestContextStaysApart: a frame of the catalogue whose instructions are its context, or end
// with it, is written again with both.
func TestContextStaysApart(t *testing.T) {
	for _, c := range [][2]string{{"a", "a"}, {"x\n\na", "a"}, {"\na", "\na"}, {"x", "a"}, {"a", "x\n\na"}} {
		text := `{"type":"task_assignment","requestId":"7","timestamp":` + quoted(payloadTime) +
			`,"task":{"title":"t","instructions":` + quoted(c[0]) + `,"context":` + quoted(c[1]) + `}}`
		d := protocol.Decode(protocol.Envelope{From: "team-lead", Text: text, Timestamp: payloadTime})
		p, ok := d.Payload.(protocol.TaskAssignment)
		if !ok {
			t.Fatalf("%s: %v", text, d)
		}
		if p.Description != c[0]+"\n\n"+c[1] || p.Context != c[1] {
			t.Errorf("%q, context %q: described as %q, context %q", c[0], c[1], p.Description, p.Context)
		}
		for dialect, want := range map[protocol.Dialect]string{protocol.DialectCatalog: text, protocol.DialectWire: ""} {
			again, err := protocol.Encode(p, dialect)
			if err != nil || want != "" && again != want {
				t.Errorf("%s is written as %s, %v", text, again, err)
			}
			back := protocol.Decode(protocol.Envelope{From: "team-lead", Text: again, Timestamp: payloadTime})
			if q, _ := back.Payload.(protocol.TaskAssignment); q.Description != p.Description || want != "" && q.Context != p.Context {
				t.Errorf("%s becomes %+v", again, q)
			}
		}
	}
}
