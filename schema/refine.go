package schema

import (
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"waggle"
)

// readOnly are the fields that are read from foreign messages and never written.
var readOnly = map[waggle.Kind][]string{
	waggle.KindPlanApprovalRequest:      {"summary"},
	waggle.KindPlanApprovalResponse:     {"planDigest"},
	waggle.KindPermissionResponse:       {"approved_request", "mode"},
	waggle.KindSandboxPermissionRequest: {"hosts", "capability", "reason"},
	waggle.KindTeamPermissionUpdate:     {"alsoDeny"},
}

// refinements say what a Go type cannot: closed sets, what must not be empty, and
// which raw values are objects. The path is of keys; [] is an array's element.
var refinements = map[waggle.Kind]map[string]func(*jsonschema.Schema){
	waggle.KindTaskAssignment: {"taskId": notEmpty, "assignedBy": notEmpty},
	waggle.KindTaskProgress: {
		"requestId":      notEmpty,
		"progress.phase": oneOf("analyzing", "implementing", "verifying", "blocked", "done"),
	},
	waggle.KindTaskCompleted: {"from": notEmpty, "taskId": notEmpty},
	waggle.KindIdleNotification: {
		"from":            notEmpty,
		"idleReason":      oneOf("available", "interrupted", "failed"),
		"completedStatus": oneOf("resolved", "blocked", "failed"),
	},
	waggle.KindPlanApprovalRequest:  {"requestId": notEmpty, "from": notEmpty, "planContent": notEmpty},
	waggle.KindPlanApprovalResponse: {"requestId": notEmpty},
	waggle.KindPermissionRequest: {
		"request_id": notEmpty, "tool_name": notEmpty, "input": anObject,
		"agent_id": func(s *jsonschema.Schema) { s.Pattern = "^[^@]+$" }, // the bare name
	},
	waggle.KindPermissionResponse: {
		"request_id":             notEmpty,
		"subtype":                oneOf(waggle.SubtypeSuccess, waggle.SubtypeError),
		"response.updated_input": anObject,
	},
	waggle.KindSandboxPermissionRequest: {
		"requestId": notEmpty, "workerId": notEmpty, "workerName": notEmpty, "hostPattern.host": notEmpty,
		"createdAt": func(s *jsonschema.Schema) { s.Minimum = jsonschema.Ptr(0.0) },
	},
	waggle.KindSandboxPermissionResponse: {"requestId": notEmpty, "host": notEmpty},
	waggle.KindModeSetRequest:            {"mode": notEmpty, "from": notEmpty},
	waggle.KindTeamPermissionUpdate: {
		"permissionUpdate.behavior":          oneOf("allow", "deny", "ask"),
		"permissionUpdate.rules.[].toolName": notEmpty,
	},
	waggle.KindShutdownRequest:  {"requestId": notEmpty, "from": notEmpty},
	waggle.KindShutdownApproved: {"requestId": notEmpty, "from": notEmpty},
	waggle.KindShutdownRejected: {"requestId": notEmpty, "from": notEmpty},
	waggle.KindJoinRequest:      {"proposedName": notEmpty, "requestId": notEmpty},
	waggle.KindJoinApproved:     {"requestId": notEmpty},
	waggle.KindJoinRejected:     {"requestId": notEmpty},
}

func notEmpty(s *jsonschema.Schema) { s.MinLength = jsonschema.Ptr(1) }

func anObject(s *jsonschema.Schema) { s.Type = "object" }

func oneOf(values ...string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		for _, v := range values {
			s.Enum = append(s.Enum, v)
		}
	}
}

// find follows a path of keys into a schema.
func find(s *jsonschema.Schema, path string) (*jsonschema.Schema, error) {
	for key := range strings.SplitSeq(path, ".") {
		if key == "[]" {
			s = s.Items
		} else {
			s = s.Properties[key]
		}
		if s == nil {
			return nil, fmt.Errorf("no field %s", path)
		}
	}
	return s, nil
}
