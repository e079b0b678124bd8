package protocol

// Kind is a payload's type constant: the string in its "type" field (protocol §1).
type Kind string

// The kinds of protocol §1.
const (
	KindTaskAssignment            Kind = "task_assignment"
	KindTaskProgress              Kind = "task_progress"
	KindTaskCompleted             Kind = "task_completed"
	KindIdleNotification          Kind = "idle_notification"
	KindPlanApprovalRequest       Kind = "plan_approval_request"
	KindPlanApprovalResponse      Kind = "plan_approval_response"
	KindPermissionRequest         Kind = "permission_request"
	KindPermissionResponse        Kind = "permission_response"
	KindSandboxPermissionRequest  Kind = "sandbox_permission_request"
	KindSandboxPermissionResponse Kind = "sandbox_permission_response"
	KindModeSetRequest            Kind = "mode_set_request"
	KindTeamPermissionUpdate      Kind = "team_permission_update"
	KindShutdownRequest           Kind = "shutdown_request"
	KindShutdownApproved          Kind = "shutdown_approved"
	KindShutdownRejected          Kind = "shutdown_rejected"
	KindTeammateTerminated        Kind = "teammate_terminated"
)

// Legacy kinds (protocol §1.17): recognised, never acted upon.
const (
	KindJoinRequest  Kind = "join_request"
	KindJoinApproved Kind = "join_approved"
	KindJoinRejected Kind = "join_rejected"
	KindSystemInit   Kind = "system_init"
)

// Kinds that are not on the wire: what Decode answers when an entry carries no
// known payload.
const (
	KindText    Kind = "text"    // plain words; never has an effect
	KindUnknown Kind = "unknown" // a frame whose type is not in the table; kept, no effect
	KindInvalid Kind = "invalid" // an entry or a frame that cannot be read
)

func (k Kind) String() string { return string(k) }

// Dialect names the form in which a payload was found or is to be written.
type Dialect string

// Dialects. Encode writes each where its document has a form for the kind (Dialects); DialectMixed
// and DialectNone are only read.
const (
	DialectNone     Dialect = ""         // plain text has no dialect
	DialectWire     Dialect = "wire"     // the canonical write form of protocol §1
	DialectCatalog  Dialect = "catalog"  // seed 000's recommended shapes
	DialectProtocol Dialect = "protocol" // seed 001's shapes where they differ from the wire
	DialectAPI      Dialect = "api"      // seed 002's API document, envelope-level type included
	DialectTool     Dialect = "tool"     // SendMessage tool arguments: request_id + approve (seed 003)
	DialectEarly    Dialect = "early"    // observed before the wire form settled (permission v0, seed 004)
	DialectLegacy   Dialect = "legacy"   // superseded types: shutdown_response (seed 004), join_*, system_init
	DialectMixed    Dialect = "mixed"    // spellings of more than one dialect in one payload
)

func (d Dialect) String() string { return string(d) }
