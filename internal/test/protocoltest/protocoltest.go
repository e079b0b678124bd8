// Package protocoltest makes payloads for tests: one sample of every kind, and
// generators of arbitrary ones that the protocol can write.
package protocoltest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"waggle/protocol"
)

// At is the time in every sample.
const At = "2026-11-20T18:15:43.000Z"

// Samples returns one payload of every kind, every written field set, in the
// order of protocol.Kinds.
func Samples() []protocol.Payload {
	return []protocol.Payload{
		protocol.PermissionRequest{
			RequestID: "perm-1795193430835-yzbvsed", AgentID: "w1", ToolName: "Bash", ToolUseID: "toolu_01",
			Description: "List the files", Input: json.RawMessage(`{"command":"ls -la","timeout":9007199254740993}`),
			PermissionSuggestions: []json.RawMessage{json.RawMessage(`{"type":"setMode","mode":"acceptEdits","destination":"session"}`)},
		},
		protocol.PermissionResponse{
			RequestID: "perm-1795193430835-yzbvsed", Subtype: protocol.SubtypeSuccess, ToolUseID: "toolu_01",
			Response: &protocol.PermissionGranted{
				UpdatedInput:      json.RawMessage(`{"command":"ls"}`),
				PermissionUpdates: []json.RawMessage{json.RawMessage(`{"type":"addRules"}`)},
			},
		},
		protocol.SandboxPermissionRequest{
			RequestID: "sandbox-1795193430835-yzbvsed", WorkerID: "w1", WorkerName: "w1", WorkerColor: "cyan",
			HostPattern: protocol.HostPattern{Host: "example.com"}, CreatedAt: 1795193430835,
		},
		protocol.SandboxPermissionResponse{RequestID: "sandbox-1795193430835-yzbvsed", Host: "example.com", Allow: true, Timestamp: At},
		protocol.PlanApprovalRequest{
			From: "w1", Timestamp: At, PlanFilePath: "/plans/calm-red-fox.md", PlanContent: "# The plan\n\n1. Look.\n",
			RequestID: "plan_approval-1795195332406@w1@ours",
		},
		protocol.PlanApprovalResponse{
			RequestID: "plan_approval-1795195332406@w1@ours", Approved: true, Feedback: "Good.", Timestamp: At, PermissionMode: "default",
		},
		protocol.ModeSetRequest{Mode: "acceptEdits", From: "team-lead"},
		protocol.TeamPermissionUpdate{
			ToolName: "Bash", DirectoryPath: "/src/api",
			PermissionUpdate: protocol.PermissionUpdate{Behavior: "allow", Rules: []protocol.PermissionRule{{ToolName: "Bash", RuleContent: "git:*"}, {ToolName: "Read"}}},
			PolicyVersion:    7,
		},
		protocol.ShutdownRequest{RequestID: "shutdown-1795194121941@w1", From: "team-lead", Reason: "all done", Timestamp: At},
		protocol.ShutdownApproved{RequestID: "shutdown-1795194121941@w1", From: "w1", Timestamp: At, PaneID: "%7", BackendType: "tmux"},
		protocol.ShutdownRejected{RequestID: "shutdown-1795194121941@w1", From: "w1", Reason: "still busy", Timestamp: At},
		protocol.IdleNotification{
			From: "w1", Timestamp: At, IdleReason: "failed", Summary: "[to w2] done?", CompletedTaskID: "3",
			CompletedStatus: "blocked", FailureReason: "no quota", Result: "half done",
		},
		protocol.TaskAssignment{TaskID: "1", Subject: "First", Description: "d1", AssignedBy: "team-lead", Timestamp: At, PlanModeRequired: true},
		protocol.TaskCompleted{
			From: "w1", TaskID: "1", TaskSubject: "First", Timestamp: At,
			Result: &protocol.TaskResult{Summary: "Fixed", Artifacts: []string{"report.md"}, Errors: []string{}},
		},
		protocol.TaskProgress{RequestID: "1", Timestamp: At, Progress: protocol.Progress{Phase: "verifying", Message: "9 of 10 pass"}},
		protocol.TeammateTerminated{Message: "w1 has shut down."},
		protocol.JoinRequest{ProposedName: "w9", RequestID: "join-1", Capabilities: json.RawMessage(`["read"]`), Timestamp: At},
		protocol.JoinApproved{RequestID: "join-1", Timestamp: At},
		protocol.JoinRejected{RequestID: "join-1", Reason: "full", Timestamp: At},
		protocol.SystemInit{Text: "You are a tester."},
	}
}

// Sample returns the sample of a kind; it panics for a kind that is not on the
// wire.
func Sample(k protocol.Kind) protocol.Payload {
	for _, p := range Samples() {
		if p.Kind() == k {
			return p
		}
	}
	panic("no sample of " + k)
}

// Payload generates payloads of a kind that Validate accepts and that Decode
// gives back unchanged: lists are not nil where the wire has them, and a yes
// carries an updated input.
func Payload(k protocol.Kind) *rapid.Generator[protocol.Payload] {
	return rapid.Custom(func(t *rapid.T) protocol.Payload { return draw(t, k) })
}

func draw(t *rapid.T, k protocol.Kind) protocol.Payload {
	text := func(label string) string { return rapid.String().Draw(t, label) }
	some := func(label string) string { return rapid.StringN(1, -1, -1).Draw(t, label) }
	at := timestamp().Draw(t, "timestamp")
	switch k {
	case protocol.KindPermissionRequest:
		return protocol.PermissionRequest{
			RequestID: some("id"), AgentID: strings.ReplaceAll(some("agent"), "@", "-"), ToolName: some("tool"), ToolUseID: text("use"),
			Description: text("description"), Input: Object().Draw(t, "input"),
			PermissionSuggestions: rapid.SliceOfN(JSON(), 0, 3).Draw(t, "suggestions"),
		}
	case protocol.KindPermissionResponse:
		p := protocol.PermissionResponse{RequestID: some("id"), ToolUseID: text("use"), Subtype: protocol.SubtypeError}
		if rapid.Bool().Draw(t, "allow") {
			p.Subtype = protocol.SubtypeSuccess
			p.Response = &protocol.PermissionGranted{UpdatedInput: Object().Draw(t, "input")}
			if updates := rapid.SliceOfN(JSON(), 0, 3).Draw(t, "updates"); len(updates) > 0 {
				p.Response.PermissionUpdates = updates
			}
		} else {
			p.Error = text("error")
		}
		return p
	case protocol.KindSandboxPermissionRequest:
		return protocol.SandboxPermissionRequest{
			RequestID: some("id"), WorkerID: some("worker"), WorkerName: some("name"), WorkerColor: text("color"),
			HostPattern: protocol.HostPattern{Host: some("host")}, CreatedAt: rapid.Int64Range(0, 253402300799999).Draw(t, "created"),
		}
	case protocol.KindSandboxPermissionResponse:
		return protocol.SandboxPermissionResponse{
			RequestID: some("id"), Host: some("host"), Allow: rapid.Bool().Draw(t, "allow"), Timestamp: at,
			Scope: text("scope"), Notes: text("notes"),
		}
	case protocol.KindPlanApprovalRequest:
		return protocol.PlanApprovalRequest{From: some("from"), Timestamp: at, PlanFilePath: text("path"), PlanContent: some("plan"), RequestID: some("id")}
	case protocol.KindPlanApprovalResponse:
		p := protocol.PlanApprovalResponse{RequestID: some("id"), Approved: rapid.Bool().Draw(t, "approved"), Feedback: text("feedback"), Timestamp: at}
		if p.Approved {
			p.PermissionMode = text("mode")
		}
		return p
	case protocol.KindModeSetRequest:
		return protocol.ModeSetRequest{Mode: some("mode"), From: some("from")}
	case protocol.KindTeamPermissionUpdate:
		rule := rapid.Custom(func(t *rapid.T) protocol.PermissionRule {
			return protocol.PermissionRule{ToolName: rapid.StringN(1, -1, -1).Draw(t, "tool"), RuleContent: rapid.String().Draw(t, "content")}
		})
		var removed []protocol.PermissionRule // absent when it is empty
		if rapid.Bool().Draw(t, "removes") {
			removed = rapid.SliceOfN(rule, 1, 3).Draw(t, "removed")
		}
		return protocol.TeamPermissionUpdate{
			ToolName: text("tool"), DirectoryPath: text("directory"),
			PermissionUpdate: protocol.PermissionUpdate{
				Behavior: rapid.SampledFrom([]string{"allow", "deny", "ask"}).Draw(t, "behavior"),
				Rules:    rapid.SliceOfN(rule, 0, 3).Draw(t, "rules"), RemovedRules: removed,
			},
			PolicyVersion: rapid.Uint64Max(protocol.MaxPolicyVersion).Draw(t, "version"),
		}
	case protocol.KindShutdownRequest:
		return protocol.ShutdownRequest{RequestID: some("id"), From: some("from"), Reason: text("reason"), Timestamp: at}
	case protocol.KindShutdownApproved:
		return protocol.ShutdownApproved{RequestID: some("id"), From: some("from"), Timestamp: at, PaneID: text("pane"), BackendType: text("backend")}
	case protocol.KindShutdownRejected:
		return protocol.ShutdownRejected{RequestID: some("id"), From: some("from"), Reason: text("reason"), Timestamp: at}
	}
	return drawStatus(t, k, at)
}

// drawStatus is the part of draw for kinds that nothing answers.
func drawStatus(t *rapid.T, k protocol.Kind, at string) protocol.Payload {
	text := func(label string) string { return rapid.String().Draw(t, label) }
	some := func(label string) string { return rapid.StringN(1, -1, -1).Draw(t, label) }
	list := func(label string) []string { return rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, label) }
	switch k {
	case protocol.KindIdleNotification:
		return protocol.IdleNotification{
			From: some("from"), Timestamp: at,
			IdleReason: rapid.SampledFrom([]string{"available", "interrupted", "failed"}).Draw(t, "reason"),
			Summary:    text("summary"), CompletedTaskID: text("task"),
			CompletedStatus: rapid.SampledFrom([]string{"", "resolved", "blocked", "failed"}).Draw(t, "status"),
			FailureReason:   text("failure"), Result: text("result"),
		}
	case protocol.KindTaskAssignment:
		return protocol.TaskAssignment{
			TaskID: some("id"), Subject: text("subject"), Description: text("description"), AssignedBy: some("by"), Timestamp: at,
			PlanModeRequired: rapid.Bool().Draw(t, "plan"),
		}
	case protocol.KindTaskCompleted:
		p := protocol.TaskCompleted{From: some("from"), TaskID: some("id"), TaskSubject: text("subject"), Timestamp: at}
		if rapid.Bool().Draw(t, "result") {
			p.Result = &protocol.TaskResult{Summary: text("summary"), Artifacts: list("artifacts"), Errors: list("errors")}
		}
		return p
	case protocol.KindTaskProgress:
		phase := rapid.SampledFrom([]string{"analyzing", "implementing", "verifying", "blocked", "done"}).Draw(t, "phase")
		return protocol.TaskProgress{RequestID: some("id"), Timestamp: at, Progress: protocol.Progress{Phase: phase, Message: text("message")}}
	case protocol.KindTeammateTerminated:
		return protocol.TeammateTerminated{Message: text("message")}
	case protocol.KindJoinRequest:
		return protocol.JoinRequest{ProposedName: some("name"), RequestID: some("id"), Capabilities: json.RawMessage(Object().Draw(t, "capabilities")), Timestamp: at}
	case protocol.KindJoinApproved:
		return protocol.JoinApproved{RequestID: some("id"), Timestamp: at}
	case protocol.KindJoinRejected:
		return protocol.JoinRejected{RequestID: some("id"), Reason: text("reason"), Timestamp: at}
	case protocol.KindSystemInit:
		return protocol.SystemInit{Text: words(t)}
	case protocol.KindText:
		return protocol.Text{Text: words(t)}
	case protocol.KindUnknown:
		typ := rapid.StringMatching(`[a-z]{1,8}_v[0-9]`).Draw(t, "type")
		raw := fmt.Sprintf(`{"type":%q,"body":%s}`, typ, JSON().Draw(t, "body"))
		return protocol.Unknown{Type: typ, Raw: json.RawMessage(raw)}
	}
	panic("no generator of " + k)
}

// words generates text that is no frame.
func words(t *rapid.T) string {
	return rapid.String().Filter(func(s string) bool {
		return protocol.DecodeText(s).Kind == protocol.KindText
	}).Draw(t, "words")
}

// timestamp generates times as envelopes carry them.
func timestamp() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return protocol.FormatTime(time.UnixMilli(rapid.Int64Range(0, 253402300799999).Draw(t, "ms")))
	})
}

// JSON generates JSON text as any writer may have written it: numbers beyond
// float64, escapes where none are needed, white space between tokens.
func JSON() *rapid.Generator[json.RawMessage] {
	return rapid.Custom(func(t *rapid.T) json.RawMessage { return json.RawMessage(value(t, 3)) })
}

// Object is JSON for objects.
func Object() *rapid.Generator[json.RawMessage] {
	return rapid.Custom(func(t *rapid.T) json.RawMessage { return json.RawMessage(drawnObject(t, 3)) })
}

func value(t *rapid.T, depth int) string {
	choices := 3
	if depth > 0 {
		choices = 5
	}
	switch rapid.IntRange(0, choices-1).Draw(t, "type") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case 1:
		return rapid.SampledFrom([]string{"0", "-0", "1.0", "1e400", "9007199254740993", "-12.50E-3", "123456789012345678901234567890"}).Draw(t, "number")
	case 2:
		return quote(t)
	case 3:
		return drawnObject(t, depth-1)
	}
	var items []string
	for range rapid.IntRange(0, 3).Draw(t, "items") {
		items = append(items, value(t, depth-1))
	}
	return "[" + space(t) + strings.Join(items, space(t)+","+space(t)) + space(t) + "]"
}

func drawnObject(t *rapid.T, depth int) string {
	var members []string
	for _, key := range rapid.SliceOfNDistinct(rapid.String(), 0, 3, rapid.ID).Draw(t, "keys") {
		k, _ := json.Marshal(key)
		members = append(members, string(k)+space(t)+":"+space(t)+value(t, max(depth-1, 0)))
	}
	return "{" + space(t) + strings.Join(members, space(t)+","+space(t)) + space(t) + "}"
}

func quote(t *rapid.T) string {
	if rapid.Bool().Draw(t, "escaped") {
		return rapid.SampledFrom([]string{`"\u00e9"`, `"\ud83d\ude00"`, `"\/"`, `"\u2028"`, `"\u0000"`}).Draw(t, "escape")
	}
	s, _ := json.Marshal(rapid.String().Draw(t, "string"))
	return string(s)
}

func space(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n  "}).Draw(t, "space")
}
