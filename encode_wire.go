package waggle

import "encoding/json"

// wire writes the canonical form: the keys and their order are those of real
// files where there are any (protocol §1.1 to §1.17, "Key order").
func (o *object) wire(p Payload) {
	switch p := p.(type) {
	case TaskAssignment:
		o.str("taskId", p.TaskID)
		o.str("subject", p.Subject)
		o.str("description", p.Description)
		o.str("assignedBy", p.AssignedBy)
		o.str("timestamp", p.Timestamp)
		if p.PlanModeRequired {
			o.bool("planModeRequired", true)
		}
	case TaskProgress:
		o.taskProgress(p)
	case TaskCompleted:
		o.str("from", p.From)
		o.str("taskId", p.TaskID)
		o.opt("taskSubject", p.TaskSubject)
		o.str("timestamp", p.Timestamp)
		if p.Result != nil {
			o.taskResult(*p.Result)
		}
	case IdleNotification:
		o.str("from", p.From)
		o.str("timestamp", p.Timestamp)
		o.str("idleReason", p.IdleReason)
		o.opt("summary", p.Summary)
		o.opt("completedTaskId", p.CompletedTaskID)
		o.opt("completedStatus", p.CompletedStatus)
		o.opt("failureReason", p.FailureReason)
		o.opt("result", p.Result)
	case PlanApprovalRequest:
		o.str("from", p.From)
		o.str("timestamp", p.Timestamp)
		o.str("planFilePath", p.PlanFilePath)
		o.str("planContent", p.PlanContent)
		o.str("requestId", p.RequestID)
	case PlanApprovalResponse:
		o.str("requestId", p.RequestID)
		o.bool("approved", p.Approved)
		o.opt("feedback", p.Feedback)
		o.str("timestamp", p.Timestamp)
		if p.Approved {
			o.opt("permissionMode", p.PermissionMode)
		}
	case ModeSetRequest:
		o.str("mode", p.Mode)
		o.str("from", p.From)
	case TeamPermissionUpdate:
		o.str("toolName", p.ToolName)
		o.str("directoryPath", p.DirectoryPath)
		o.nest("permissionUpdate", func(o *object) {
			o.str("behavior", p.PermissionUpdate.Behavior)
			o.raws("rules", ruleObjects(p.PermissionUpdate.Rules))
		})
	case TeammateTerminated:
		o.str("message", p.Message)
	default:
		o.wireAnswerable(p)
	}
}

// wireAnswerable is the part of wire for requests, their answers, and the legacy
// kinds.
func (o *object) wireAnswerable(p Payload) {
	switch p := p.(type) {
	case PermissionRequest:
		o.str("request_id", p.RequestID)
		o.str("agent_id", p.AgentID)
		o.str("tool_name", p.ToolName)
		o.str("tool_use_id", p.ToolUseID)
		o.str("description", p.Description)
		o.raw("input", p.Input)
		o.raws("permission_suggestions", p.PermissionSuggestions)
	case PermissionResponse:
		o.permissionResponse(p)
	case SandboxPermissionRequest:
		o.str("requestId", p.RequestID)
		o.str("workerId", p.WorkerID)
		o.str("workerName", p.WorkerName)
		o.opt("workerColor", p.WorkerColor)
		o.nest("hostPattern", func(o *object) { o.str("host", p.HostPattern.Host) })
		o.int("createdAt", p.CreatedAt)
	case SandboxPermissionResponse:
		o.str("requestId", p.RequestID)
		o.str("host", p.Host)
		o.bool("allow", p.Allow)
		o.str("timestamp", p.Timestamp)
		o.opt("scope", p.Scope)
		o.opt("notes", p.Notes)
	case ShutdownRequest:
		o.str("requestId", p.RequestID)
		o.str("from", p.From)
		o.opt("reason", p.Reason)
		o.str("timestamp", p.Timestamp)
	case ShutdownApproved:
		o.str("requestId", p.RequestID)
		o.str("from", p.From)
		o.str("timestamp", p.Timestamp)
		o.opt("paneId", p.PaneID)
		o.opt("backendType", p.BackendType)
	case ShutdownRejected:
		o.str("requestId", p.RequestID)
		o.str("from", p.From)
		o.str("reason", p.Reason)
		o.str("timestamp", p.Timestamp)
	case JoinRequest:
		o.str("proposedName", p.ProposedName)
		o.str("requestId", p.RequestID)
		if p.Capabilities != nil {
			o.raw("capabilities", p.Capabilities)
		}
		o.opt("timestamp", p.Timestamp)
	case JoinApproved:
		o.str("requestId", p.RequestID)
		o.opt("timestamp", p.Timestamp)
	case JoinRejected:
		o.str("requestId", p.RequestID)
		o.opt("reason", p.Reason)
		o.opt("timestamp", p.Timestamp)
	}
}

// permissionResponse writes v1 with the call's id (protocol §1.2). A worker drops a
// success whose updated_input is null, so it is always an object.
func (o *object) permissionResponse(p PermissionResponse) {
	o.str("request_id", p.RequestID)
	o.str("subtype", p.Subtype)
	o.opt("tool_use_id", p.ToolUseID)
	if !p.Allowed() {
		o.str("error", p.Error)
		return
	}
	o.nest("response", func(o *object) {
		input := json.RawMessage("{}")
		if p.Response != nil && !noInput(p.Response.UpdatedInput) {
			input = p.Response.UpdatedInput
		}
		o.raw("updated_input", input)
		if p.Response != nil && len(p.Response.PermissionUpdates) > 0 {
			o.raws("permission_updates", p.Response.PermissionUpdates)
		}
	})
}

// taskProgress is the one form that every dialect has (protocol §1.15).
func (o *object) taskProgress(p TaskProgress) {
	o.str("requestId", p.RequestID)
	o.str("timestamp", p.Timestamp)
	o.nest("progress", func(o *object) {
		o.str("phase", p.Progress.Phase)
		o.str("message", p.Progress.Message)
	})
}

func (o *object) taskResult(r TaskResult) {
	o.nest("result", func(o *object) {
		o.str("summary", r.Summary)
		o.strs("artifacts", r.Artifacts)
		o.strs("errors", r.Errors)
	})
}

func ruleObjects(rules []PermissionRule) []json.RawMessage {
	list := make([]json.RawMessage, len(rules))
	for i, rule := range rules {
		var o object
		o.str("toolName", rule.ToolName)
		o.opt("ruleContent", rule.RuleContent)
		list[i] = o.close()
	}
	return list
}
