package sentence

import (
	"cmp"
	"fmt"
	"strings"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// OfMessage says in a sentence what a message of the protocol says; its subject is the sender,
// whom the face names before it. handle is that of the request that the message asks or answers; "": it is not known. It
// is empty for what is shown as it is: plain words and kinds that it does not know.
func OfMessage(payload any, handle string) string {
	switch m := payload.(type) {
	case protocol.TaskAssignment:
		return assignment(m)
	case protocol.TaskProgress:
		return "reports progress" + operator.Suffix(strings.TrimPrefix(m.Progress.Phase+", "+m.Progress.Message, ", "))
	case protocol.TaskCompleted:
		return completed(m)
	case protocol.IdleNotification:
		return idle(m)
	case protocol.PlanApprovalRequest:
		return asks(handle) + " for a verdict on its plan: " + firstLine(m.PlanContent)
	case protocol.PlanApprovalResponse:
		return planAnswer(m, handle)
	case protocol.PermissionRequest:
		return asks(handle) + ": " + decide.Brief(protocol.KindPermissionRequest, record.Ask{Tool: m.ToolName, Input: string(m.Input)})
	case protocol.PermissionResponse:
		return callAnswer(m, handle)
	case protocol.SandboxPermissionRequest:
		return networkAsked(m, handle)
	case protocol.SandboxPermissionResponse:
		return networkAnswer(m, handle)
	case protocol.ModeSetRequest:
		return "sets mode " + m.Mode
	case protocol.TeamPermissionUpdate:
		return rules(m)
	case protocol.ShutdownRequest:
		return "asks to end" + operator.Suffix(m.Reason)
	case protocol.ShutdownApproved:
		return "agrees to end"
	case protocol.ShutdownRejected:
		return "refuses to end" + operator.Suffix(m.Reason)
	case protocol.TeammateTerminated:
		return "says that a member has ended" + operator.Suffix(m.Message)
	case protocol.JoinRequest:
		return "asks to join as " + m.ProposedName + ", which has no effect"
	case protocol.JoinApproved:
		return "lets somebody join, which has no effect"
	case protocol.JoinRejected:
		return "lets somebody not join, which has no effect" + operator.Suffix(m.Reason)
	}
	return ""
}

func asks(handle string) string { return strings.TrimSuffix("asks "+handle, " ") }

// answered names what is answered: by its handle, or in words.
func answered(verb, handle, words string) string {
	if handle == "" {
		return verb + " " + words
	}
	return verb + " " + handle
}

func assignment(m protocol.TaskAssignment) string {
	text := fmt.Sprintf("gives task %s %q", m.TaskID, m.Subject)
	if m.PlanModeRequired {
		text += ", which wants a plan first"
	}
	if m.Description != "" && m.Description != m.Subject {
		text += operator.Suffix(firstLine(m.Description))
	}
	return text
}

func planAnswer(m protocol.PlanApprovalResponse, handle string) string {
	if !m.Approved {
		return answered("sends", handle, "the plan") + " back" + operator.Suffix(m.Feedback)
	}
	text := answered("approves", handle, "the plan")
	if m.PermissionMode != "" {
		text += ", mode " + m.PermissionMode
	}
	return text + operator.Suffix(m.Feedback)
}

func callAnswer(m protocol.PermissionResponse, handle string) string {
	if !m.Allowed() {
		return answered("denies", handle, "the call") + operator.Suffix(m.Error)
	}
	text := answered("allows", handle, "the call")
	if g := m.Response; g != nil {
		if input := decide.ShownJSON(string(g.UpdatedInput)); input != "" && input != "{}" && input != "null" {
			text += " with the input " + input
		}
		if n := len(g.PermissionUpdates); n > 0 {
			text += ", with " + page.Count(n, "change") + " of rules"
		}
	}
	return text + operator.Suffix(m.Notes)
}

func networkAsked(m protocol.SandboxPermissionRequest, handle string) string {
	hosts := m.HostPattern.Host
	if len(m.Hosts) > 0 {
		hosts = strings.Join(m.Hosts, ", ")
	}
	return asks(handle) + " for " + cmp.Or(m.Capability, "network") + " to " + hosts + operator.Suffix(m.Reason)
}

func networkAnswer(m protocol.SandboxPermissionResponse, handle string) string {
	verb, words := "denies", "network"
	if m.Allow {
		verb = "allows"
	}
	if m.Host != "" {
		words += " to " + m.Host
	}
	text := verb + " " + words
	if handle != "" {
		text = verb + " " + handle + ", " + words
	}
	if m.Scope != "" {
		text += ", " + m.Scope
	}
	return text + operator.Suffix(m.Notes)
}

// rules says which rules an update makes and takes away.
func rules(m protocol.TeamPermissionUpdate) string {
	var parts []string
	add := func(u protocol.PermissionUpdate) {
		if len(u.Rules) > 0 {
			parts = append(parts, u.Behavior+" "+ruleList(u.Rules))
		}
		if len(u.RemovedRules) > 0 {
			parts = append(parts, "no more "+u.Behavior+" "+ruleList(u.RemovedRules))
		}
	}
	add(m.PermissionUpdate)
	if m.AlsoDeny != nil {
		add(*m.AlsoDeny)
	}
	if m.DirectoryPath != "" {
		parts = append(parts, "in "+m.DirectoryPath)
	}
	text := "changes the team's rules"
	if m.PolicyVersion > 0 {
		text += fmt.Sprintf(", policy version %d", m.PolicyVersion)
	}
	return text + operator.Suffix(strings.Join(parts, "; "))
}

func ruleList(rs []protocol.PermissionRule) string {
	var list []string
	for _, r := range rs {
		list = append(list, policy.Rule{Tool: r.ToolName, Pattern: r.RuleContent}.String())
	}
	return strings.Join(list, ", ")
}

func completed(m protocol.TaskCompleted) string {
	task := "task " + m.TaskID
	if m.TaskSubject != "" {
		task += fmt.Sprintf(" %q", m.TaskSubject)
	}
	if m.Result == nil {
		return "has done " + task
	}
	made := ""
	if len(m.Result.Artifacts) > 0 {
		made = ", made " + strings.Join(m.Result.Artifacts, ", ")
	}
	if len(m.Result.Errors) > 0 {
		return "has failed " + task + made + operator.Suffix(strings.Join(m.Result.Errors, "; "))
	}
	return "has done " + task + made + operator.Suffix(m.Result.Summary)
}

func idle(m protocol.IdleNotification) string {
	if m.FailureReason != "" {
		return "is idle after its turn failed: " + m.FailureReason
	}
	text := "is idle"
	if m.CompletedTaskID != "" {
		text += " after task " + m.CompletedTaskID
	}
	if m.CompletedStatus != "" && m.CompletedStatus != "resolved" {
		text += ", " + m.CompletedStatus
	}
	if m.IdleReason != "" && m.IdleReason != "available" {
		text += ", " + m.IdleReason
	}
	return text + operator.Suffix(firstLine(cmp.Or(m.Summary, m.Result)))
}
