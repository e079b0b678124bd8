package waggle

import (
	"maps"
	"slices"
	"strings"
)

// shape is how one dialect spells one kind.
type shape struct {
	dialect  Dialect
	required []string // dotted paths of keys
	allowed  map[string]bool
}

// shapes lists, kind by kind, the spellings of protocol §1: one line a dialect, a
// "!" after the keys that the dialect always writes. A dialect that spells a
// kind exactly as the wire does has no line of its own.
var shapes = parseShapes(map[Kind]string{
	KindTaskAssignment: `
		wire     taskId! subject! description! assignedBy! timestamp! planModeRequired
		catalog  requestId! timestamp! task.title! task.instructions task.context task.planModeRequired`,
	KindTaskProgress: `
		wire     requestId! timestamp! progress.phase! progress.message!`,
	KindTaskCompleted: `
		wire     from! taskId! taskSubject timestamp! result result.summary result.artifacts result.errors
		catalog  requestId! timestamp! result.summary! result.artifacts result.errors`,
	KindIdleNotification: `
		wire     from! timestamp! idleReason! summary completedTaskId completedStatus failureReason result
		catalog  timestamp! state!`,
	KindPlanApprovalRequest: `
		wire     from! timestamp! planFilePath! planContent! requestId!
		catalog  requestId! timestamp! plan.goal! plan.steps plan.risks plan.tooling
		api      from! plan! summary! timestamp! requestId!
		early    requestId! from! plan!`,
	KindPlanApprovalResponse: `
		wire     requestId! approved! feedback timestamp! permissionMode planDigest
		catalog  requestId! timestamp! approved! notes policy.permissionMode
		api      requestId! approve! feedback timestamp
		tool     request_id! approve! feedback permissionMode`,
	KindPermissionRequest: `
		wire     request_id! agent_id! tool_name! tool_use_id! description! input! permission_suggestions! timestamp
		protocol requestId! agentId! toolName! toolUseId! description! input! permissionSuggestions timestamp
		catalog  requestId! timestamp! tool.name! tool.arguments reason`,
	KindPermissionResponse: `
		wire     request_id! subtype! tool_use_id approved_request response response.updated_input response.permission_updates error timestamp
		protocol requestId! subtype! response response.updatedInput response.permissionUpdates error timestamp
		catalog  requestId! timestamp! approved! mode notes
		early    request_id! approve!
		tool     request_id! approve! feedback reason`,
	KindSandboxPermissionRequest: `
		wire     requestId! workerId! workerName! workerColor hostPattern.host! createdAt!
		catalog  requestId! timestamp! capability! details.hostnames! details.reason`,
	KindSandboxPermissionResponse: `
		wire     requestId! host! allow! timestamp! scope notes
		catalog  requestId! timestamp! approved! scope notes`,
	KindModeSetRequest: `
		wire     mode! from! timestamp
		catalog  timestamp! mode! policy.permissionMode`,
	KindTeamPermissionUpdate: `
		wire     toolName! directoryPath! permissionUpdate.behavior! permissionUpdate.rules! timestamp
		catalog  timestamp! rules.allowedTools rules.disallowedTools`,
	KindShutdownRequest: `
		wire     requestId! from! reason timestamp!
		catalog  requestId! timestamp! reason`,
	KindShutdownApproved: `
		wire     requestId! from! timestamp! paneId backendType
		catalog  requestId! timestamp!
		api      requestId! paneId! backendType! timestamp`,
	KindShutdownRejected: `
		wire     requestId! from! reason! timestamp!
		catalog  requestId! timestamp! reason`,
	KindTeammateTerminated: `
		wire     message!`,
})

// routing are the keys that seed 000 allows in every payload. They say nothing
// that the envelope does not, and are read only where a kind has such a field.
var routing = []string{"teamName", "agentId", "agentName"}

func parseShapes(table map[Kind]string) map[Kind][]shape {
	all := make(map[Kind][]shape, len(table))
	for kind, lines := range table {
		for line := range strings.Lines(strings.TrimSpace(lines)) {
			words := strings.Fields(line)
			s := shape{dialect: Dialect(words[0]), allowed: make(map[string]bool)}
			for _, word := range words[1:] {
				path, required := strings.CutSuffix(word, "!")
				s.allowed[path] = true
				if required {
					s.required = append(s.required, path)
				}
			}
			if s.dialect == DialectCatalog {
				for _, key := range routing {
					s.allowed[key] = true
				}
			}
			all[kind] = append(all[kind], s)
		}
	}
	return all
}

// dialectOf tells the dialect whose spellings were used: the first whose line
// fits, or, when keys are missing, the first that knows every key that is there.
// Keys that no dialect knows were not read and do not count.
func dialectOf(kind Kind, read map[string]bool) Dialect {
	knows := func(s shape) bool {
		for path := range maps.Keys(read) {
			if !s.allowed[path] {
				return false
			}
		}
		return true
	}
	complete := func(s shape) bool {
		return !slices.ContainsFunc(s.required, func(path string) bool { return !read[path] })
	}
	for _, s := range shapes[kind] {
		if knows(s) && complete(s) {
			return s.dialect
		}
	}
	for _, s := range shapes[kind] {
		if knows(s) {
			return s.dialect
		}
	}
	return DialectMixed
}
