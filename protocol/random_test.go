package protocol_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waggle/protocol"
)

// The words that random frames are made of: every key a decoder knows, keys that
// look like them, and values that mean something somewhere.
var (
	frameKeys = strings.Fields(`requestId request_id requestID RequestId from From timestamp approved approve allow allowed Approved APPROVE Allowed
		\u0061pproved ſubtype subtype Subtype behavior decision error Error reason notes feedback content message response updated_input updatedInput
		tool_use_id toolUseId approved_request mode permissionMode policy host hosts hostPattern details capability scope plan planContent
		plan_content planFilePath tool tool_name toolName input agent_id agentId agentName teamName workerId workerName description
		permission_suggestions permissionUpdate rules task taskId subject progress result idleReason state paneId pane_id extra type`)
	innerKeys = strings.Fields(`updated_input updatedInput permission_updates permissionMode host hostnames reason name arguments goal steps
		behavior rules allowedTools disallowedTools title instructions summary phase message approved subtype extra`)
	frameValues = []string{
		`true`, `true`, `true`, `false`, `null`, `0`, `1`, `""`, `"success"`, `"success"`, `"error"`, `"allow"`, `"approve"`, `"deny"`, `"r"`, `"r"`, `"s"`,
		`"w1"`, `"w1@t"`, `"w2"`, `"true"`, `"default"`, `"plan"`, `"example.com"`, `["example.com"]`, `["a","b"]`, `"network"`, `{}`, `[]`,
		`{"a":1}`, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `1e999`, `"2026-11-20T18:15:43.000Z"`, `{"toolName":"Bash"}`, `["Bash(git:*)"]`,
	}
	frameTypes = strings.Fields(`permission_response permission_response sandbox_permission_response plan_approval_response shutdown_response
		shutdown_approved shutdown_rejected permission_request sandbox_permission_request plan_approval_request mode_set_request
		team_permission_update shutdown_request idle_notification task_assignment task_completed task_progress teammate_terminated
		join_request join_approved join_rejected lunch_request`)
)

// TestRandomFrames decodes frames made of known words and checks what FuzzDecode checks. In a
// second it reaches cases that random bytes never reach: two spellings, crossed arms, duplicates,
// wrong types, in every kind.
func TestRandomFrames(t *testing.T) {
	outcomes := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			e := protocol.Envelope{From: "w1", Text: randomFrame(t), Timestamp: envelopeTime}
			d := protocol.Decode(e)
			outcomes[outcome(d)]++
			checkDecoded(t, e, d)
		}
	})
	t.Log(outcomes)
}

func randomFrame(t *rapid.T) string {
	members := []string{`"type":"` + rapid.SampledFrom(frameTypes).Draw(t, "type") + `"`}
	if rapid.IntRange(0, 3).Draw(t, "id") > 0 {
		members = append(members, `"`+rapid.SampledFrom([]string{"requestId", "request_id"}).Draw(t, "id key")+`":"r"`)
	}
	for range rapid.IntRange(0, 5).Draw(t, "keys") {
		key := rapid.SampledFrom(frameKeys).Draw(t, "key")
		value := rapid.SampledFrom(frameValues).Draw(t, "value")
		if rapid.IntRange(0, 5).Draw(t, "nest") == 0 {
			value = `{"` + rapid.SampledFrom(innerKeys).Draw(t, "inner") + `":` + value + `}`
		}
		members = append(members, `"`+key+`":`+value)
	}
	return "{" + strings.Join(rapid.Permutation(members).Draw(t, "order"), ",") + "}"
}
