package protocol

import "encoding/json"

// Payload is the typed body of an envelope. The set is closed: only this
// package's types implement it. The json tags are the canonical field names of
// protocol §1 in canonical key order; Encode writes "type" before them.
type Payload interface {
	Kind() Kind
	payload() // sealed
}

// TaskAssignment tells an owner that a task is theirs (protocol §1.13). It is not a
// permission and never sets an owner by itself.
type TaskAssignment struct {
	TaskID      string `json:"taskId"`
	Subject     string `json:"subject"`
	Description string `json:"description"`
	AssignedBy  string `json:"assignedBy"`
	Timestamp   string `json:"timestamp"`
	// PlanModeRequired is seed 000's extension: no irreversible action before a
	// plan is approved. Only written when true.
	PlanModeRequired bool `json:"planModeRequired,omitempty"`
	// Context is the end of Description that seed 000 keeps apart; catalog form only.
	Context string `json:"context,omitempty"`
	Routing
}

// TaskProgress is an informational step report (protocol §1.15).
type TaskProgress struct {
	RequestID string   `json:"requestId"` // the task's id
	Timestamp string   `json:"timestamp"`
	Progress  Progress `json:"progress"`
	Routing
}

// Progress is the body of a TaskProgress. Phase is one of analyzing,
// implementing, verifying, blocked, done; other values are kept with a warning.
type Progress struct {
	Phase   string `json:"phase"`
	Message string `json:"message"`
}

// TaskCompleted reports the end of a task (protocol §1.14). The task file, not this
// message, closes the task.
type TaskCompleted struct {
	From        string      `json:"from"`
	TaskID      string      `json:"taskId"`
	TaskSubject string      `json:"taskSubject,omitempty"`
	Timestamp   string      `json:"timestamp"`
	Result      *TaskResult `json:"result,omitempty"`
	Routing
}

// TaskResult is seed 000's result body.
type TaskResult struct {
	Summary   string   `json:"summary"`
	Artifacts []string `json:"artifacts"`
	Errors    []string `json:"errors"`
}

// IdleNotification says that a member's turn has ended (protocol §1.12). It may
// repeat; any IdleReason is kept, unknown ones count as available.
type IdleNotification struct {
	From            string `json:"from"`
	Timestamp       string `json:"timestamp"`
	IdleReason      string `json:"idleReason"`
	Summary         string `json:"summary,omitempty"`
	CompletedTaskID string `json:"completedTaskId,omitempty"`
	CompletedStatus string `json:"completedStatus,omitempty"` // resolved, blocked, failed
	FailureReason   string `json:"failureReason,omitempty"`
	Result          string `json:"result,omitempty"` // the final answer of the turn
	Routing
}

// PlanApprovalRequest asks for a verdict on a plan (protocol §1.5). PlanFilePath is
// display only: a path named by a peer is never opened.
type PlanApprovalRequest struct {
	From         string `json:"from"`
	Timestamp    string `json:"timestamp"`
	PlanFilePath string `json:"planFilePath"`
	PlanContent  string `json:"planContent"`
	RequestID    string `json:"requestId"`
	Summary      string `json:"summary,omitempty"` // read only, from seed 002
	// Plan is what PlanContent was made of, where it was seed 000's object; written in
	// the catalog form only, and only while it says the same.
	Plan *Plan `json:"plan,omitempty"`
	Routing
}

// Plan is seed 000's plan.
type Plan struct {
	Goal    string   `json:"goal"`
	Steps   []string `json:"steps"`
	Risks   []string `json:"risks"`
	Tooling []string `json:"tooling"`
}

// PlanApprovalResponse is the verdict on a plan (protocol §1.6).
type PlanApprovalResponse struct {
	RequestID      string `json:"requestId"`
	Approved       bool   `json:"approved"`
	Feedback       string `json:"feedback,omitempty"`
	Timestamp      string `json:"timestamp"`
	PermissionMode string `json:"permissionMode,omitempty"` // written only when approved
	PlanDigest     string `json:"planDigest,omitempty"`     // read only; its preimage is unknown
	Routing
}

// PermissionRequest asks to run one tool call (protocol §1.1).
type PermissionRequest struct {
	RequestID   string `json:"request_id"`
	AgentID     string `json:"agent_id"` // bare member name
	ToolName    string `json:"tool_name"`
	ToolUseID   string `json:"tool_use_id"`
	Description string `json:"description"`
	// Input holds the raw bytes as they stand in the message, an object: the
	// request's digest is taken over them. Where seed 000 has a string S, it is
	// {"arguments":S}; {} when the message has none.
	Input                 json.RawMessage   `json:"input"`
	PermissionSuggestions []json.RawMessage `json:"permission_suggestions"` // never nil on the wire; display only
	Timestamp             string            `json:"timestamp,omitempty"`    // catalog form only: the envelope says when
	Routing
}

// Values of PermissionResponse.Subtype.
const (
	SubtypeSuccess = "success"
	SubtypeError   = "error"
)

// PermissionResponse is the verdict on a tool call (protocol §1.2). Subtype decides:
// success allows, anything else denies.
type PermissionResponse struct {
	RequestID       string             `json:"request_id"`
	Subtype         string             `json:"subtype"`
	ToolUseID       string             `json:"tool_use_id,omitempty"`
	ApprovedRequest json.RawMessage    `json:"approved_request,omitempty"` // kept when read, never written
	Response        *PermissionGranted `json:"response,omitempty"`         // success
	Error           string             `json:"error,omitempty"`            // error: text for the agent
	// Mode is seed 000's: a separate act, never applied by an answer. It is
	// written in the catalog form only.
	Mode string `json:"mode,omitempty"`
	// Notes are the words of an approval, and Timestamp is when: catalog form only.
	Notes     string `json:"notes,omitempty"`
	Timestamp string `json:"timestamp,omitempty"`
	Routing
}

// PermissionGranted is the success arm of a PermissionResponse. An absent, null
// or empty UpdatedInput means: run the original input unchanged.
type PermissionGranted struct {
	UpdatedInput      json.RawMessage   `json:"updated_input"` // always written as an object
	PermissionUpdates []json.RawMessage `json:"permission_updates,omitempty"`
}

// SandboxPermissionRequest asks for network access (protocol §1.3). The wire names
// one host a message; Hosts holds them all when a foreign message names several.
type SandboxPermissionRequest struct {
	RequestID   string      `json:"requestId"`
	WorkerID    string      `json:"workerId"`
	WorkerName  string      `json:"workerName"`
	WorkerColor string      `json:"workerColor,omitempty"`
	HostPattern HostPattern `json:"hostPattern"`
	CreatedAt   int64       `json:"createdAt"`       // epoch milliseconds
	Hosts       []string    `json:"hosts,omitempty"` // read only; set when more than one
	// Capability is read only and set when it is not "network": such a request
	// is unsupported and is answered allow:false. A value that was no string is
	// its JSON.
	Capability string `json:"capability,omitempty"`
	Reason     string `json:"reason,omitempty"` // read only
	Routing
}

// HostPattern is the host part of a sandbox request.
type HostPattern struct {
	Host string `json:"host"`
}

// SandboxPermissionResponse is the verdict on network access (protocol §1.4).
type SandboxPermissionResponse struct {
	RequestID string `json:"requestId"`
	Host      string `json:"host,omitempty"` // empty when a foreign answer names none and is for the request as a whole
	Allow     bool   `json:"allow"`
	Timestamp string `json:"timestamp"`
	Scope     string `json:"scope,omitempty"` // session, one-shot; a separate act
	Notes     string `json:"notes,omitempty"`
	Routing
}

// ModeSetRequest sets a member's permission mode (protocol §1.7).
type ModeSetRequest struct {
	Mode      string `json:"mode"` // any string is kept; policy refuses those it does not know
	From      string `json:"from"`
	Timestamp string `json:"timestamp,omitempty"` // catalog form only
	Routing
}

// TeamPermissionUpdate changes the team's rules (protocol §1.8).
type TeamPermissionUpdate struct {
	ToolName         string           `json:"toolName"`
	DirectoryPath    string           `json:"directoryPath"`
	PermissionUpdate PermissionUpdate `json:"permissionUpdate"`
	// PolicyVersion orders the updates of one lead: from 1 to MaxPolicyVersion, and 0 in an
	// update that has none. It proves nothing about the sender.
	PolicyVersion uint64 `json:"policyVersion,omitempty"`
	// AlsoDeny holds the second arm of seed 000's shape when a message both
	// allows and disallows tools. On the wire it is an update of its own.
	AlsoDeny  *PermissionUpdate `json:"alsoDeny,omitempty"`
	Timestamp string            `json:"timestamp,omitempty"` // catalog form only
	Routing
}

// MaxPolicyVersion is the largest policyVersion: 2^53-1, the largest integer that every JSON reader has exactly.
const MaxPolicyVersion = 1<<53 - 1

// PermissionUpdate is a behaviour (allow, deny, ask), the rules that get it and those that lose it.
type PermissionUpdate struct {
	Behavior string           `json:"behavior"`
	Rules    []PermissionRule `json:"rules"`
	// RemovedRules are the rules that no longer have the behaviour.
	RemovedRules []PermissionRule `json:"removedRules,omitempty"`
}

// PermissionRule names a tool and, optionally, what of it: Bash and "git:*".
type PermissionRule struct {
	ToolName    string `json:"toolName"`
	RuleContent string `json:"ruleContent,omitempty"`
}

// ShutdownRequest asks a member to end (protocol §1.9).
type ShutdownRequest struct {
	RequestID string `json:"requestId"`
	From      string `json:"from"`
	Reason    string `json:"reason,omitempty"`
	Timestamp string `json:"timestamp"`
	Routing
}

// ShutdownApproved is a member's yes (protocol §1.10). PaneID is display only: what
// is ended is what the leader recorded at spawn.
type ShutdownApproved struct {
	RequestID   string `json:"requestId"`
	From        string `json:"from"`
	Timestamp   string `json:"timestamp"`
	PaneID      string `json:"paneId,omitempty"`
	BackendType string `json:"backendType,omitempty"`
	Routing
}

// ShutdownRejected is a member's no, with a reason (protocol §1.11).
type ShutdownRejected struct {
	RequestID string `json:"requestId"`
	From      string `json:"from"`
	Reason    string `json:"reason"`
	Timestamp string `json:"timestamp"`
	Routing
}

// TeammateTerminated is the harness's own notice to its session (protocol §1.16);
// ignored when it comes from a peer.
type TeammateTerminated struct {
	Message string `json:"message"`
}

// JoinRequest, JoinApproved and JoinRejected are legacy (protocol §1.17): they are
// recognised and answered with nothing.
type (
	JoinRequest struct {
		ProposedName string          `json:"proposedName"`
		RequestID    string          `json:"requestId"`
		Capabilities json.RawMessage `json:"capabilities,omitempty"`
		Timestamp    string          `json:"timestamp,omitempty"`
	}
	JoinApproved struct {
		RequestID string `json:"requestId"`
		Timestamp string `json:"timestamp,omitempty"`
	}
	JoinRejected struct {
		RequestID string `json:"requestId"`
		Reason    string `json:"reason,omitempty"`
		Timestamp string `json:"timestamp,omitempty"`
	}
)

// SystemInit is seed 002's first prompt: an envelope-level type whose text is
// prose (protocol §1.17). It is plain text with a label.
type SystemInit struct {
	Text string `json:"text"`
}

// Text is plain words. Text never changes mode, permission, membership or
// life-cycle (protocol §5.3, invariant 6).
type Text struct {
	Text string `json:"text"`
}

// Unknown is a frame whose type is not in the table. Raw is the whole object.
type Unknown struct {
	Type string          `json:"type"`
	Raw  json.RawMessage `json:"raw"`
}

func (TaskAssignment) Kind() Kind            { return KindTaskAssignment }
func (TaskProgress) Kind() Kind              { return KindTaskProgress }
func (TaskCompleted) Kind() Kind             { return KindTaskCompleted }
func (IdleNotification) Kind() Kind          { return KindIdleNotification }
func (PlanApprovalRequest) Kind() Kind       { return KindPlanApprovalRequest }
func (PlanApprovalResponse) Kind() Kind      { return KindPlanApprovalResponse }
func (PermissionRequest) Kind() Kind         { return KindPermissionRequest }
func (PermissionResponse) Kind() Kind        { return KindPermissionResponse }
func (SandboxPermissionRequest) Kind() Kind  { return KindSandboxPermissionRequest }
func (SandboxPermissionResponse) Kind() Kind { return KindSandboxPermissionResponse }
func (ModeSetRequest) Kind() Kind            { return KindModeSetRequest }
func (TeamPermissionUpdate) Kind() Kind      { return KindTeamPermissionUpdate }
func (ShutdownRequest) Kind() Kind           { return KindShutdownRequest }
func (ShutdownApproved) Kind() Kind          { return KindShutdownApproved }
func (ShutdownRejected) Kind() Kind          { return KindShutdownRejected }
func (TeammateTerminated) Kind() Kind        { return KindTeammateTerminated }
func (JoinRequest) Kind() Kind               { return KindJoinRequest }
func (JoinApproved) Kind() Kind              { return KindJoinApproved }
func (JoinRejected) Kind() Kind              { return KindJoinRejected }
func (SystemInit) Kind() Kind                { return KindSystemInit }
func (Text) Kind() Kind                      { return KindText }
func (Unknown) Kind() Kind                   { return KindUnknown }

func (Routing) payload()            {} // of all that have the keys of routing
func (TeammateTerminated) payload() {}
func (JoinRequest) payload()        {}
func (JoinApproved) payload()       {}
func (JoinRejected) payload()       {}
func (SystemInit) payload()         {}
func (Text) payload()               {}
func (Unknown) payload()            {}

// Allowed reports the verdict: true only for subtype success.
func (p PermissionResponse) Allowed() bool { return p.Subtype == SubtypeSuccess }

// RequestID pairs a response with its request. Ids are chosen by whoever asks
// and are compared exactly; the format is not interpreted.
type RequestID string

// RequestIDOf returns the id that pairs p with its request or answer, and false
// for kinds that have none. A task's id pairs nothing.
func RequestIDOf(p Payload) (RequestID, bool) {
	if p = value(p); p == nil || p.Kind() == KindTaskProgress || tables[p.Kind()] == nil {
		return "", false
	}
	return tables[p.Kind()].requestID(p)
}
