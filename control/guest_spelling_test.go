package control_test

import (
	"strings"
	"testing"

	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// TestGuestSpellings: a foreign lead answers each question of a guest in the spelling of each document that has it: a yes allows
// it, a no denies it, and what comes under its id after that answers nothing.
func TestGuestSpellings(t *testing.T) {
	network := record.Ask{Host: "a.test", Port: "443"}
	proposal := record.Ask{Plan: "First this."}
	for what, c := range map[string]struct {
		kind    protocol.Kind
		ask     record.Ask
		yes, no string
	}{
		"permission, client": {tool, bash, `{"type":"permission_response","request_id":"ID","subtype":"success","tool_use_id":"toolu_1","response":{"updated_input":{}}}`,
			`{"type":"permission_response","request_id":"ID","subtype":"error","tool_use_id":"toolu_1","error":"no"}`},
		"permission, 2.1.3x": {tool, bash, `{"type":"permission_response","request_id":"ID","approve":true}`, `{"type":"permission_response","request_id":"ID","approve":false}`},
		"permission, 000": {tool, bash, `{"type":"permission_response","requestId":"ID","timestamp":"T","approved":true,"mode":"default","notes":"go"}`,
			`{"type":"permission_response","requestId":"ID","timestamp":"T","approved":false,"mode":"locked-down"}`},
		"permission, 001": {tool, bash, `{"type":"permission_response","requestId":"ID","subtype":"success","response":{"updatedInput":{},"permissionUpdates":[{"any":"json"}]}}`,
			`{"type":"permission_response","requestId":"ID","subtype":"error","error":"Permission denied"}`},
		"network, 001": {host, network, `{"type":"sandbox_permission_response","requestId":"ID","host":"a.test:443","allow":true,"timestamp":"T"}`,
			`{"type":"sandbox_permission_response","requestId":"ID","host":"a.test:443","allow":false,"timestamp":"T"}`},
		"network, 000": {host, network, `{"type":"sandbox_permission_response","requestId":"ID","timestamp":"T","approved":true,"scope":"session"}`,
			`{"type":"sandbox_permission_response","requestId":"ID","timestamp":"T","approved":false,"scope":"one-shot"}`},
		"plan, 001": {plan, proposal, `{"type":"plan_approval_response","requestId":"ID","approved":true,"timestamp":"T","permissionMode":"default"}`,
			`{"type":"plan_approval_response","requestId":"ID","approved":false,"feedback":"no","timestamp":"T"}`},
		"plan, 000": {plan, proposal, `{"type":"plan_approval_response","requestId":"ID","timestamp":"T","approved":true,"policy":{"permissionMode":"default"}}`,
			`{"type":"plan_approval_response","requestId":"ID","timestamp":"T","approved":false,"notes":"no"}`},
		"plan, 002": {plan, proposal, `{"type":"plan_approval_response","requestId":"ID","approve":true,"feedback":"Looks good."}`,
			`{"type":"plan_approval_response","requestId":"ID","approve":false,"feedback":"no"}`},
		"plan, 003": {plan, proposal, `{"type":"plan_approval_response","request_id":"ID","approve":true,"permissionMode":"default"}`,
			`{"type":"plan_approval_response","request_id":"ID","approve":false}`},
	} {
		t.Run(what, func(t *testing.T) {
			for answer, want := range map[string]string{c.yes: record.DecisionAllow, c.no: record.DecisionDeny} {
				g := newGuest(t)
				k := g.ask(c.kind, c.ask)
				says := strings.NewReplacer(`"ID"`, `"`+string(k.ID)+`"`, `"T"`, `"`+stamp+`"`)
				if why := refusedFor(g.sent("stranger", says.Replace(answer))); why != "only the lead may send it" {
					t.Errorf("a stranger's: %q", why)
				}
				ds := g.sent("team-lead", says.Replace(answer))
				if len(ds) != 1 || ds[0].Kind != record.KindAnswered {
					t.Fatalf("%s: %+v", answer, ds)
				}
				if a := ds[0].Body.(record.Answered); a.Decision != want || a.Channel != policy.ChannelFile || a.Key != k {
					t.Errorf("%s is %+v", answer, a)
				}
				g.do(ds)
				for _, late := range []string{c.yes, c.no} {
					if why := refusedFor(g.sent("team-lead", says.Replace(late)+" ")); why != "it answers nothing that is open" {
						t.Errorf("then %s: %q", late, why)
					}
				}
			}
		})
	}
}
