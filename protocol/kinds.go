package protocol

import "slices"

// KindInfo describes a kind of payload (protocol §1). The list that Kinds returns is
// what the documentation's table of kinds is made of.
type KindInfo struct {
	Kind Kind   `json:"kind"`
	From string `json:"from"` // who sends it
	To   string `json:"to"`   // who receives it
	// Effect reports that the kind changes something: it is applied before any
	// chat is delivered.
	Effect bool `json:"effect"`
	// Agent reports that the kind is one that an agent sends (protocol §1.0). The
	// others come from a harness or are legacy. It gives no authority: whether a message has
	// an effect is policy.MaySend's to say.
	Agent bool `json:"agent_sendable"`
	// Request and Decision report that the kind opens a question or answers one;
	// RequestIDOf pairs them.
	Request  bool `json:"request"`
	Decision bool `json:"decision"`
	Legacy   bool `json:"legacy"` // recognised, never acted upon
	// Aliases are other values of "type" that may decode to this kind.
	Aliases []string `json:"aliases"`
	Meaning string   `json:"meaning"`      // one sentence
	Section string   `json:"wire_section"` // of docs/protocol.md
}

var kinds = []KindInfo{
	{Kind: KindPermissionRequest, From: "worker", To: "lead", Effect: true, Agent: true, Request: true,
		Meaning: "Asks to run one tool call.", Section: "1.1"},
	{Kind: KindPermissionResponse, From: "lead", To: "worker", Effect: true, Agent: true, Decision: true,
		Meaning: "Allows or denies a tool call.", Section: "1.2"},
	{Kind: KindSandboxPermissionRequest, From: "worker", To: "lead", Effect: true, Agent: true, Request: true,
		Meaning: "Asks for network access to a host.", Section: "1.3"},
	{Kind: KindSandboxPermissionResponse, From: "lead", To: "worker", Effect: true, Agent: true, Decision: true,
		Meaning: "Allows or denies network access to a host.", Section: "1.4"},
	{Kind: KindPlanApprovalRequest, From: "worker", To: "lead", Effect: true, Agent: true, Request: true,
		Meaning: "Asks for a verdict on a plan.", Section: "1.5"},
	{Kind: KindPlanApprovalResponse, From: "lead", To: "worker", Effect: true, Agent: true, Decision: true,
		Meaning: "Approves or rejects a plan.", Section: "1.6"},
	{Kind: KindModeSetRequest, From: "lead", To: "worker", Effect: true, Agent: true,
		Meaning: "Sets a member's permission mode.", Section: "1.7"},
	{Kind: KindTeamPermissionUpdate, From: "lead", To: "all workers", Effect: true, Agent: true,
		Meaning: "Changes the team's permission rules.", Section: "1.8"},
	{Kind: KindShutdownRequest, From: "lead", To: "worker", Effect: true, Agent: true, Request: true,
		Meaning: "Asks a member to end.", Section: "1.9"},
	{Kind: KindShutdownApproved, From: "worker", To: "lead", Effect: true, Agent: true, Decision: true,
		Aliases: []string{typeShutdownResponse}, Meaning: "Agrees to end.", Section: "1.10"},
	{Kind: KindShutdownRejected, From: "worker", To: "lead", Effect: true, Decision: true,
		Aliases: []string{typeShutdownResponse}, Meaning: "Declines to end, with a reason.", Section: "1.11"},
	{Kind: KindIdleNotification, From: "worker", To: "lead",
		Meaning: "Says that a turn has ended.", Section: "1.12"},
	{Kind: KindTaskAssignment, From: "whoever sets the owner", To: "owner",
		Meaning: "Tells an owner that a task is theirs.", Section: "1.13"},
	{Kind: KindTaskCompleted, From: "worker", To: "lead",
		Meaning: "Reports the end of a task.", Section: "1.14"},
	{Kind: KindTaskProgress, From: "worker", To: "lead",
		Meaning: "Reports a step of a task.", Section: "1.15"},
	{Kind: KindTeammateTerminated, From: "the lead's harness", To: "the lead's own session",
		Meaning: "Says that a member has ended.", Section: "1.16"},
	{Kind: KindJoinRequest, From: "stranger", To: "lead", Legacy: true,
		Meaning: "Asked to join a team.", Section: "1.17"},
	{Kind: KindJoinApproved, From: "lead", To: "stranger", Legacy: true,
		Meaning: "Let a stranger join.", Section: "1.17"},
	{Kind: KindJoinRejected, From: "lead", To: "stranger", Legacy: true,
		Meaning: "Did not let a stranger join.", Section: "1.17"},
	{Kind: KindSystemInit, From: "system", To: "worker", Legacy: true,
		Meaning: "Marked a first prompt, in the envelope's type.", Section: "1.17"},
}

// Kinds returns every kind that is on the wire, in the order of protocol §1.
func Kinds() []KindInfo {
	list := slices.Clone(kinds)
	for i := range list {
		list[i].Aliases = append([]string{}, list[i].Aliases...)
	}
	return list
}
