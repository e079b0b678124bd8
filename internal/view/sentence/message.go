package sentence

import (
	"fmt"
	"strings"

	"waggle"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/record"
)

// OfMessage says in a sentence what a message of the protocol says; its subject is the sender,
// whom the face names before it. It is empty for plain words and for kinds that it does not know.
func OfMessage(payload any) string {
	switch m := payload.(type) {
	case waggle.TaskAssignment:
		return fmt.Sprintf("gives task %s %q", m.TaskID, m.Subject)
	case waggle.TaskProgress:
		return "reports progress" + operator.Suffix(strings.TrimPrefix(m.Progress.Phase+", "+m.Progress.Message, ", "))
	case waggle.TaskCompleted:
		return completed(m)
	case waggle.IdleNotification:
		return idle(m)
	case waggle.PlanApprovalRequest:
		return "asks for a verdict on its plan: " + firstLine(m.PlanContent)
	case waggle.PlanApprovalResponse:
		if m.Approved {
			return "approves the plan" + operator.Suffix(m.Feedback)
		}
		return "sends the plan back" + operator.Suffix(m.Feedback)
	case waggle.PermissionRequest:
		return "asks: " + decide.Brief(waggle.KindPermissionRequest, record.Ask{Tool: m.ToolName, Input: string(m.Input)})
	case waggle.PermissionResponse:
		if m.Subtype == "success" {
			return "allows the call" + operator.Suffix(m.Notes)
		}
		return "denies the call" + operator.Suffix(m.Error)
	case waggle.SandboxPermissionRequest:
		return "asks for network to " + m.HostPattern.Host
	case waggle.SandboxPermissionResponse:
		if m.Allow {
			return "allows network to " + m.Host
		}
		return "denies network to " + m.Host + operator.Suffix(m.Notes)
	case waggle.ModeSetRequest:
		return "sets mode " + m.Mode
	case waggle.ShutdownRequest:
		return "asks to end" + operator.Suffix(m.Reason)
	case waggle.ShutdownApproved:
		return "agrees to end"
	case waggle.ShutdownRejected:
		return "refuses to end" + operator.Suffix(m.Reason)
	case waggle.TeammateTerminated:
		return m.Message
	}
	return ""
}

func completed(m waggle.TaskCompleted) string {
	task := "task " + m.TaskID
	if m.TaskSubject != "" {
		task += fmt.Sprintf(" %q", m.TaskSubject)
	}
	if m.Result == nil {
		return "has done " + task
	}
	if len(m.Result.Errors) > 0 {
		return "has failed " + task + operator.Suffix(strings.Join(m.Result.Errors, "; "))
	}
	return "has done " + task + operator.Suffix(m.Result.Summary)
}

func idle(m waggle.IdleNotification) string {
	if m.FailureReason != "" {
		return "is idle after its turn failed: " + m.FailureReason
	}
	if m.CompletedTaskID != "" {
		return "is idle after task " + m.CompletedTaskID + operator.Suffix(m.Summary)
	}
	return "is idle" + operator.Suffix(m.Summary)
}
