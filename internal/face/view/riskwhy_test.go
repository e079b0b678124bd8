package view_test

import (
	"encoding/json"
	"testing"

	"waggle/internal/face/view"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
)

// QuestionFields has the reason why a request is of high risk.
func TestRiskWhy(t *testing.T) {
	for command, want := range map[string]string{
		"ls; rm -rf build7": "rm -rf build7: it deletes files",
		"rm -rf build7":     "it deletes files",
		"ls":                "",
	} {
		in, err := json.Marshal(map[string]string{"command": command})
		testenv.Must(t, err)
		q := decide.Request{PendingItem: decide.PendingItem{Kind: string(protocol.KindPermissionRequest), Tool: "Bash", Input: in, Cwd: "/src",
			Risk: string(policy.RiskOf(policy.Call{Tool: "Bash", Input: in, Cwd: "/src"}))}, Command: command}
		if got := whyOf(q); got != want {
			t.Errorf("%s: %q, not %q", command, got, want)
		}
	}
	for kind, want := range map[protocol.Kind]string{protocol.KindSandboxPermissionRequest: "it uses the network", protocol.KindPlanApprovalRequest: ""} {
		if got := whyOf(decide.Request{PendingItem: decide.PendingItem{Kind: string(kind), Risk: string(policy.RiskHigh)}, Host: "db.internal"}); got != want {
			t.Errorf("%s: %q, not %q", kind, got, want)
		}
	}
}

func whyOf(q decide.Request) (why string) {
	for _, f := range view.QuestionFields(q, view.RiskParts(q), now) {
		if f.Name == "why" {
			why = f.Text
		}
	}
	return why
}
