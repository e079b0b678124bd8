package protocol

import (
	"slices"
	"strings"

	"waggle/internal/json/jsontext"
)

// taskContext reads the context that seed 000 keeps apart, and makes it the end of the
// description.
func (f *frame) taskContext(p *TaskAssignment, paths []string) {
	_, flat := f.find(taskDescription.path(DialectWire)) // which has its context in it; the catalogue's has not
	if p.Context = f.text(paths...); p.Context != "" && !(flat && p.hasContext()) {
		if p.Description != "" {
			p.Description += "\n\n"
		}
		p.Description += p.Context
	}
}

// taskAssignment ends the reading of protocol §1.13.
func (f *frame) taskAssignment(p *TaskAssignment) Payload {
	if p.AssignedBy == "" {
		p.AssignedBy = f.fallback(taskAssigner.name, f.env.From)
	} else if f.env.From != "" && f.env.From != string(Lead) && p.AssignedBy != f.env.From { // the lead passes on what others assign
		f.warn("assignedBy is %s, the envelope's from is %s", show(p.AssignedBy), show(f.env.From))
	}
	return *p
}

// hasContext reports whether the description ends with the context.
func (p TaskAssignment) hasContext() bool {
	return p.Description == p.Context || strings.HasSuffix(p.Description, "\n\n"+p.Context)
}

// planModeRequired reads the flag; a value that is not a boolean asks for the
// plan, which is the careful reading.
func (f *frame) planModeRequired(paths ...string) bool {
	raw, ok := f.find(paths...)
	if !ok {
		return false
	}
	if jsontext.TypeOf(raw) != "boolean" {
		f.warn("%s is %s, not a boolean: read as true", paths[0], jsontext.WithArticle(raw))
		return true
	}
	return raw == "true"
}

// taskProgress ends the reading of protocol §1.15.
func (f *frame) taskProgress(p *TaskProgress) Payload {
	if !slices.Contains(phases, p.Progress.Phase) {
		f.warn("phase %s is not known", show(p.Progress.Phase))
	}
	return *p
}

// result is the result of a task that may have none.
func (p TaskCompleted) result() TaskResult {
	if p.Result == nil {
		return TaskResult{}
	}
	return *p.Result
}

// taskResult reads all fields of a result.
func (f *frame) taskResult(p *TaskCompleted, paths []string) {
	if raw, ok := f.find(paths...); ok && raw[0] != '{' {
		if raw[0] != '"' {
			f.warn("%s is %s, not an object: ignored", paths[0], jsontext.WithArticle(raw))
			return
		}
		f.warn("%s is a string: read as its summary", paths[0])
		p.Result = &TaskResult{Summary: str(raw), Artifacts: []string{}, Errors: []string{}}
		return
	}
	r := TaskResult{
		Summary:   f.text(resultSummary.paths...),
		Artifacts: f.strs(resultArtifacts.paths...),
		Errors:    f.strs(resultErrors.paths...),
	}
	for _, path := range slices.Concat(paths, resultSummary.paths, resultArtifacts.paths, resultErrors.paths) {
		if f.read[path] {
			p.Result = &r
			return
		}
	}
}

// idleNotification ends the reading of protocol §1.12.
func (f *frame) idleNotification(p *IdleNotification) Payload {
	state := f.text(idleState.paths...)
	if state != "" && state != "idle" {
		f.warn("state %s is not known: read as idle", show(state))
	}
	switch {
	case p.IdleReason == "":
		if state == "" {
			f.warn("idleReason is missing: read as available")
		}
		p.IdleReason = idleReasons[0]
	case slices.Contains(apiIdleReasons, p.IdleReason):
		f.label = DialectAPI
	case !slices.Contains(idleReasons, p.IdleReason):
		f.warn("idleReason %s is not known: it counts as available", show(p.IdleReason))
	}
	switch {
	case p.CompletedStatus == "completed":
		f.warn("completedStatus completed is read as resolved")
		p.CompletedStatus = idleStatuses[0]
	case p.CompletedStatus != "" && !slices.Contains(idleStatuses, p.CompletedStatus):
		f.warn("completedStatus %s is not known", show(p.CompletedStatus))
	}
	return *p
}
