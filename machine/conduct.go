package machine

import (
	"slices"

	"waggle/protocol"
)

// Fate is the outcome of a message that a machine judges.
type Fate string

// The fates.
const (
	FateEffect     Fate = "it has its effect"
	FateAgain      Fate = "nothing is opened; the answer, if there is one, is sent again"
	FateNoted      Fate = "on record, changes nothing"
	FateAbandoned  Fate = "on record and closed at once: nobody waits for the answer"
	FateUnverified Fate = "one audit record, no effect"
	FateWords      Fate = "shown as words"
)

// Conduct says how the machines treat one kind of message: the first time, again, when its subject
// is over, and when no journal has it. Documents are generated from it, and every cell has a test.
type Conduct struct {
	Kind   protocol.Kind
	Effect string // of a message that its sender's journal has
	First  Fate
	// Again: the same message once more, from its sender or as a copy.
	Again Fate
	// Late: its subject was answered, replaced or has ended.
	Late Fate
	// When says what late means for this kind.
	When string
	// Forged: no journal has it, whatever sender and id it names.
	Forged Fate
}

var conduct = []Conduct{
	{protocol.KindPermissionRequest, "opens a question, under the digest of what it asks", FateEffect, FateAgain, FateAbandoned, "its sender has ended", FateUnverified},
	{protocol.KindPermissionResponse, "answers the request of that id; an allow is one start", FateEffect, FateUnverified, FateUnverified, "the request was withdrawn", FateUnverified},
	{protocol.KindSandboxPermissionRequest, "opens a question about one host", FateEffect, FateAgain, FateAbandoned, "its sender has ended", FateUnverified},
	{protocol.KindSandboxPermissionResponse, "answers the request of that id for the host that was asked for", FateEffect, FateUnverified, FateUnverified, "the request was withdrawn", FateUnverified},
	{protocol.KindPlanApprovalRequest, "opens a question and withdraws the plans before it", FateEffect, FateAgain, FateAbandoned, "its sender has ended", FateUnverified},
	{protocol.KindPlanApprovalResponse, "answers that revision of the plan; approved, the work may begin", FateEffect, FateUnverified, FateUnverified, "a newer plan took its place", FateUnverified},
	{protocol.KindModeSetRequest, "sets the member's mode, under a version", FateEffect, FateUnverified, FateUnverified, "a newer version was applied", FateUnverified},
	{protocol.KindTeamPermissionUpdate, "tells of the team's newest policy, under its version", FateEffect, FateUnverified, FateUnverified, "a newer version was applied", FateUnverified},
	{protocol.KindShutdownRequest, "the member shuts down and answers; nothing starts meanwhile", FateEffect, FateUnverified, FateUnverified, "the member has ended", FateUnverified},
	{protocol.KindShutdownApproved, "the member has ended; its open questions are closed when it is let go", FateEffect, FateUnverified, FateNoted, "the member was let go", FateUnverified},
	{protocol.KindShutdownRejected, "the member goes on; its reason is kept", FateEffect, FateUnverified, FateNoted, "the member was let go", FateUnverified},
	{protocol.KindIdleNotification, "the member's turn has ended", FateEffect, FateUnverified, FateNoted, "the member was let go", FateUnverified},
	{protocol.KindTaskAssignment, "gives the member that task, bound to the hash of its instructions", FateEffect, FateUnverified, FateUnverified, "the member has ended", FateUnverified},
	{protocol.KindTaskCompleted, "the task that was assigned last is reported done", FateEffect, FateUnverified, FateNoted, "the task was assigned again", FateUnverified},
	{protocol.KindTaskProgress, "none: people see it", FateNoted, FateUnverified, FateNoted, "the member was let go", FateUnverified},
	{protocol.KindTeammateTerminated, "none: it is no message between members", FateUnverified, FateUnverified, FateUnverified, "", FateUnverified},
	{protocol.KindJoinRequest, "none", FateUnverified, FateUnverified, FateUnverified, "", FateUnverified},
	{protocol.KindJoinApproved, "none", FateUnverified, FateUnverified, FateUnverified, "", FateUnverified},
	{protocol.KindJoinRejected, "none", FateUnverified, FateUnverified, FateUnverified, "", FateUnverified},
	{protocol.KindSystemInit, "none: words", FateWords, FateWords, FateWords, "", FateWords},
	{protocol.KindText, "none: words", FateWords, FateWords, FateWords, "", FateWords},
	{protocol.KindUnknown, "none: words", FateWords, FateWords, FateWords, "", FateWords},
	{protocol.KindInvalid, "none", FateUnverified, FateUnverified, FateUnverified, "", FateUnverified},
}

// Conducts lists how every kind is treated, in the order of protocol §1.
func Conducts() []Conduct { return slices.Clone(conduct) }
