package waggle

import (
	"encoding/json"
	"slices"
	"strings"
)

// decodeTaskAssignment reads protocol §1.13.
func decodeTaskAssignment(f *frame) Payload {
	p := TaskAssignment{
		TaskID:           f.textOrNumber("taskId", "requestId", "requestID"),
		Subject:          f.text("subject", "task.title"),
		Description:      f.text("description", "task.instructions"),
		AssignedBy:       f.text("assignedBy"),
		Timestamp:        f.timestamp(),
		PlanModeRequired: f.planModeRequired(),
	}
	_, flat := f.find("description") // which has its context in it; task.instructions have not
	if p.Context = f.text("task.context", "context"); p.Context != "" && !(flat && p.hasContext()) {
		if p.Description != "" {
			p.Description += "\n\n"
		}
		p.Description += p.Context
	}
	if p.AssignedBy == "" {
		p.AssignedBy = f.fallback("assignedBy", f.env.From)
	} else if f.env.From != "" && p.AssignedBy != f.env.From {
		f.warn("assignedBy is %s, the envelope's from is %s", show(p.AssignedBy), show(f.env.From))
	}
	if p.TaskID == "" {
		f.fail("the task's id is missing")
	}
	return p
}

// hasContext reports whether the description ends with the context.
func (p TaskAssignment) hasContext() bool {
	return p.Description == p.Context || strings.HasSuffix(p.Description, "\n\n"+p.Context)
}

// planModeRequired reads the flag; a value that is not a boolean asks for the
// plan, which is the careful reading.
func (f *frame) planModeRequired() bool {
	raw, ok := f.find("planModeRequired", "task.planModeRequired")
	if !ok {
		return false
	}
	if jsonType(raw) != "boolean" {
		f.warn("planModeRequired is %s, not a boolean: read as true", aType(raw))
		return true
	}
	return raw == "true"
}

var phases = []string{"analyzing", "implementing", "verifying", "blocked", "done"}

// Phases lists those of a TaskProgress; Encode refuses another.
func Phases() []string { return slices.Clone(phases) }

// decodeTaskProgress reads protocol §1.15.
func decodeTaskProgress(f *frame) Payload {
	p := TaskProgress{
		RequestID: f.textOrNumber("requestId", "requestID", "taskId"),
		Timestamp: f.timestamp(),
		Progress:  Progress{Phase: f.text("progress.phase"), Message: f.text("progress.message")},
	}
	if !slices.Contains(phases, p.Progress.Phase) {
		f.warn("phase %s is not known", show(p.Progress.Phase))
	}
	if p.RequestID == "" {
		f.fail("the task's id is missing")
	}
	return p
}

// decodeTaskCompleted reads protocol §1.14.
func decodeTaskCompleted(f *frame) Payload {
	p := TaskCompleted{
		From:        f.from(),
		TaskID:      f.textOrNumber("taskId", "requestId", "requestID"),
		TaskSubject: f.text("taskSubject"),
		Timestamp:   f.timestamp(),
		Result:      f.result(),
	}
	if p.TaskID == "" {
		f.fail("the task's id is missing")
	}
	return p
}

func (f *frame) result() *TaskResult {
	if raw, ok := f.find("result"); ok && raw[0] != '{' {
		if raw[0] != '"' {
			f.warn("result is %s, not an object: ignored", aType(raw))
			return nil
		}
		f.warn("result is a string: read as its summary")
		return &TaskResult{Summary: str(raw), Artifacts: []string{}, Errors: []string{}}
	}
	r := TaskResult{
		Summary:   f.text("result.summary"),
		Artifacts: f.strs("result.artifacts"),
		Errors:    f.strs("result.errors"),
	}
	for _, path := range []string{"result", "result.summary", "result.artifacts", "result.errors"} {
		if f.read[path] {
			return &r
		}
	}
	return nil
}

// Values of IdleNotification fields that are written, and seed 002's reasons,
// which are read.
var (
	idleReasons    = []string{"available", "interrupted", "failed"}
	apiIdleReasons = []string{"waiting_response", "task_complete"}
	idleStatuses   = []string{"resolved", "blocked", "failed"}
)

// decodeIdleNotification reads protocol §1.12.
func decodeIdleNotification(f *frame) Payload {
	p := IdleNotification{
		From:            f.from(),
		Timestamp:       f.timestamp(),
		IdleReason:      f.text("idleReason"),
		Summary:         f.text("summary"),
		CompletedTaskID: f.textOrNumber("completedTaskId"),
		CompletedStatus: f.text("completedStatus"),
		FailureReason:   f.text("failureReason"),
		Result:          f.text("result"),
	}
	state := f.text("state")
	if state != "" && state != "idle" {
		f.warn("state %s is not known: read as idle", show(state))
	}
	switch {
	case p.IdleReason == "":
		if state == "" {
			f.warn("idleReason is missing: read as available")
		}
		p.IdleReason = "available"
	case slices.Contains(apiIdleReasons, p.IdleReason):
		f.label = DialectAPI
	case !slices.Contains(idleReasons, p.IdleReason):
		f.warn("idleReason %s is not known: it counts as available", show(p.IdleReason))
	}
	switch {
	case p.CompletedStatus == "completed":
		f.warn("completedStatus completed is read as resolved")
		p.CompletedStatus = "resolved"
	case p.CompletedStatus != "" && !slices.Contains(idleStatuses, p.CompletedStatus):
		f.warn("completedStatus %s is not known", show(p.CompletedStatus))
	}
	return p
}

// decodeTeammateTerminated reads protocol §1.16.
func decodeTeammateTerminated(f *frame) Payload {
	return TeammateTerminated{Message: f.text("message")}
}

// The join_* kinds (protocol §1.17) are recognised so that they are not shown as
// chat; nothing answers them.

func decodeJoinRequest(f *frame) Payload {
	f.label = DialectLegacy
	p := JoinRequest{
		ProposedName: f.text("proposedName"),
		RequestID:    f.text("requestId"),
		Timestamp:    f.text("timestamp"),
	}
	if raw, ok := f.find("capabilities"); ok {
		p.Capabilities = json.RawMessage(raw)
	}
	return p
}

func decodeJoinApproved(f *frame) Payload {
	f.label = DialectLegacy
	return JoinApproved{RequestID: f.text("requestId"), Timestamp: f.text("timestamp")}
}

func decodeJoinRejected(f *frame) Payload {
	f.label = DialectLegacy
	return JoinRejected{RequestID: f.text("requestId"), Reason: f.text("reason"), Timestamp: f.text("timestamp")}
}
