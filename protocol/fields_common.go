package protocol

// Spellings that mean the same in every kind, or that are looked at outside of it.
const (
	keyType      = "type"
	keyFrom      = "from"
	keyTeamName  = "teamName"
	keyAgentID   = "agentId"
	keyAgentName = "agentName"
	keyError     = "error"
	keyUpdated   = "updated_input"
	keyMetadata  = "metadata" // of an envelope of seed 002
)

// What seed 002's request to shut down says in its envelope.
const (
	metadataKey     = "request_id"
	shutdownSummary = "Shutdown request"
	shutdownProse   = "Please prepare for shutdown."
)

// idKeys are the spellings of the id that pairs a request with its answer.
var idKeys = []string{"requestId", "requestID", "request_id"}

// decisionKey is a field that decides, in whichever kind of answer it stands.
type decisionKey struct {
	key string
	yes string   // the one value that allows; "": it is a boolean
	no  []string // the values that deny in so many words
}

// decisionKeys are the decision fields (protocol §1.2, 9.1 #2). All of them count in every
// kind of answer: whichever dialect a no is said in, it is a no.
var decisionKeys = []decisionKey{
	{key: "approved"},
	{key: "approve"},
	{key: "allow"},
	{key: "allowed"},
	{key: "subtype", yes: SubtypeSuccess, no: []string{SubtypeError}},
	{key: "behavior", yes: "allow", no: []string{"deny"}},
	{key: "decision", yes: "approve", no: []string{"deny", "reject"}},
}

// routing are the keys that seed 000 allows in every payload. They say nothing
// that the envelope does not, and are read only where a kind has such a field.
var routing = []string{keyTeamName, keyAgentID, keyAgentName}

// routingFields are the routing keys as fields of a kind: the last of the catalogue.
func routingFields[P any]() []*fieldOf[P] {
	key := func(name, in, doc string, of func(*Routing) *string) *fieldOf[P] {
		return &fieldOf[P]{name: name, in: in, doc: doc,
			codec: textCodec(elsewhere, func(p *P) *string { return of(any(p).(routed).routingKeys()) }, nil)}
	}
	return []*fieldOf[P]{
		key(keyTeamName, "catalog:97:teamName", "The sender's team.", func(r *Routing) *string { return &r.TeamName }),
		key(keyAgentID, "catalog:98:agentId", "The sender's id.", func(r *Routing) *string { return &r.AgentID }),
		key(keyAgentName, "catalog:99:agentName", "The sender's name.", func(r *Routing) *string { return &r.AgentName }),
	}
}

// tables holds the table of every kind that has fields.
var tables = map[Kind]kindTable{
	KindTaskAssignment:            taskAssignmentTable,
	KindTaskProgress:              taskProgressTable,
	KindTaskCompleted:             taskCompletedTable,
	KindIdleNotification:          idleNotificationTable,
	KindPlanApprovalRequest:       planApprovalRequestTable,
	KindPlanApprovalResponse:      planApprovalResponseTable,
	KindPermissionRequest:         permissionRequestTable,
	KindPermissionResponse:        permissionResponseTable,
	KindSandboxPermissionRequest:  sandboxPermissionRequestTable,
	KindSandboxPermissionResponse: sandboxPermissionResponseTable,
	KindModeSetRequest:            modeSetRequestTable,
	KindTeamPermissionUpdate:      teamPermissionUpdateTable,
	KindShutdownRequest:           shutdownRequestTable,
	KindShutdownApproved:          shutdownApprovedTable,
	KindShutdownRejected:          shutdownRejectedTable,
	KindTeammateTerminated:        teammateTerminatedTable,
	KindJoinRequest:               joinRequestTable,
	KindJoinApproved:              joinApprovedTable,
	KindJoinRejected:              joinRejectedTable,
}

// documents names what a dialect is of, for people.
var documents = map[Dialect]string{DialectWire: "the wire", DialectProtocol: "seed 001", DialectCatalog: "seed 000", DialectAPI: "seed 002",
	DialectEarly: "seed 004", DialectTool: "seed 003", DialectLegacy: "what is superseded"}

// asWire lists the kinds that the document of a dialect spells as the wire does.
var asWire = map[Dialect][]Kind{
	DialectProtocol: {KindSandboxPermissionRequest, KindSandboxPermissionResponse, KindPlanApprovalRequest, KindPlanApprovalResponse,
		KindModeSetRequest, KindTeamPermissionUpdate, KindShutdownRequest, KindShutdownApproved, KindShutdownRejected,
		KindIdleNotification, KindTaskAssignment, KindTaskCompleted},
	DialectEarly:  {KindIdleNotification, KindShutdownRequest, KindTaskAssignment},
	DialectLegacy: {KindJoinRequest, KindJoinApproved, KindJoinRejected},
}

// answers has the kind that answers a request; of a shutdown the yes.
var answers = map[Kind]Kind{
	KindPermissionRequest: KindPermissionResponse, KindSandboxPermissionRequest: KindSandboxPermissionResponse,
	KindPlanApprovalRequest: KindPlanApprovalResponse, KindShutdownRequest: KindShutdownApproved,
}

// containers are the keys whose objects are part of a shape (protocol §1). Other
// objects, input above all, are values and are not looked into.
var containers = containersOf(tables)

func containersOf(tables map[Kind]kindTable) map[string]bool {
	all := make(map[string]bool)
	for _, t := range tables {
		for _, key := range t.containers() {
			all[key] = true
		}
	}
	return all
}
