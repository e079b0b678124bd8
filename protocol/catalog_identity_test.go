package protocol_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/json/jsonobj"
	"waggle/protocol"
)

// catalogText draws a frame of seed 000 as the document writes it: the fields of the kind, those
// that are optional or not, and the routing keys or not. It uses no code of the encoder.
func catalogText(t *rapid.T, kind protocol.Kind) string {
	words := func(label string) string {
		return quoted(rapid.StringMatching(`[a-z0-9 "\\<>&/\n\té.:-]{1,12}[a-z]`).Draw(t, label))
	}
	name := func(label string) string { return quoted(rapid.StringMatching(`[a-z][a-z0-9-]{0,8}`).Draw(t, label)) }
	list := func(label string, least int) string {
		n := rapid.IntRange(least, 3).Draw(t, label+"s")
		items := make([]string, n)
		for i := range items {
			items[i] = words(label)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	fields := []string{`"type":"` + string(kind) + `"`}
	add := func(key, value string) { fields = append(fields, `"`+key+`":`+value) }
	opt := func(key string, value func(string) string) {
		if rapid.Bool().Draw(t, key+"?") {
			add(key, value(key))
		}
	}
	if kind != protocol.KindIdleNotification && kind != protocol.KindModeSetRequest && kind != protocol.KindTeamPermissionUpdate {
		add("requestId", words("id"))
	}
	add("timestamp", quoted(payloadTime))
	yesNo := func() { add("approved", fmt.Sprint(rapid.Bool().Draw(t, "approved"))) }
	switch kind {
	case protocol.KindTaskAssignment:
		task := `"title":` + words("title") + `,"instructions":` + words("instructions")
		if rapid.Bool().Draw(t, "context?") {
			task += `,"context":` + words("context")
		}
		if rapid.Bool().Draw(t, "plan?") {
			task += `,"planModeRequired":true`
		}
		add("task", "{"+task+"}")
	case protocol.KindTaskProgress:
		phase := rapid.SampledFrom(strings.Fields("analyzing implementing verifying blocked done")).Draw(t, "phase")
		add("progress", `{"phase":"`+phase+`","message":`+words("message")+`}`)
	case protocol.KindTaskCompleted:
		add("result", `{"summary":`+words("summary")+`,"artifacts":`+list("artifact", 0)+`,"errors":`+list("error", 0)+`}`)
	case protocol.KindIdleNotification:
		add("state", `"idle"`)
	case protocol.KindPlanApprovalRequest:
		add("plan", `{"goal":`+words("goal")+`,"steps":`+list("step", 0)+`,"risks":`+list("risk", 0)+`,"tooling":`+list("tool", 0)+`}`)
	case protocol.KindPlanApprovalResponse:
		yesNo()
		opt("notes", words)
		if strings.Contains(fields[len(fields)-1]+fields[len(fields)-2], `"approved":true`) && rapid.Bool().Draw(t, "policy?") {
			add("policy", `{"permissionMode":`+name("mode")+`}`)
		}
	case protocol.KindPermissionRequest:
		add("tool", `{"name":`+name("tool")+`,"arguments":`+words("arguments")+`}`)
		add("reason", words("reason"))
	case protocol.KindPermissionResponse:
		yesNo()
		opt("mode", name)
		opt("notes", words)
	case protocol.KindSandboxPermissionRequest:
		add("capability", `"network"`)
		hosts := rapid.SampledFrom([]string{`["example.com"]`, `["a.example.com","b.example.com"]`}).Draw(t, "hosts")
		add("details", `{"hostnames":`+hosts+`,"reason":`+words("reason")+`}`)
	case protocol.KindSandboxPermissionResponse:
		yesNo()
		opt("scope", name)
		opt("notes", words)
	case protocol.KindModeSetRequest:
		mode := rapid.SampledFrom(strings.Fields("default plan safe")).Draw(t, "mode")
		add("mode", quoted(mode))
		add("policy", `{"permissionMode":"`+mode+`"}`)
	case protocol.KindTeamPermissionUpdate:
		add("rules", rapid.SampledFrom([]string{`{"allowedTools":["Bash(git:*)","Read"]}`, `{"disallowedTools":["Bash(rm -rf:*)"]}`,
			`{"allowedTools":["Edit"],"disallowedTools":["Bash(rm -rf:*)"]}`}).Draw(t, "rules"))
	case protocol.KindShutdownRequest, protocol.KindShutdownRejected:
		opt("reason", words)
	}
	if rapid.Bool().Draw(t, "routing?") {
		add("teamName", name("team"))
		add("agentId", `"w1@t"`)
		add("agentName", `"w1"`)
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func quoted(s string) string {
	raw, err := jsonobj.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// TestCatalogIdentity: Decode reads every key of a frame of seed 000, and Encode writes the frame
// again in that form, to the byte.
func TestCatalogIdentity(t *testing.T) {
	for _, info := range protocol.Kinds() {
		if info.Legacy || info.Kind == protocol.KindTeammateTerminated {
			continue
		}
		t.Run(string(info.Kind), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				text := catalogText(t, info.Kind)
				d := protocol.Decode(protocol.Envelope{From: "w1", Timestamp: envelopeTime, Text: text})
				if d.Kind != info.Kind || len(d.Unread) > 0 {
					t.Fatalf("%s: kind %s, unread %q, %q", text, d.Kind, d.Unread, d.Warnings)
				}
				if got, err := protocol.Encode(d.Payload, protocol.DialectCatalog); err != nil || got != text {
					t.Fatalf("%v\n%s\n%s", err, text, got)
				}
			})
		})
	}
}
