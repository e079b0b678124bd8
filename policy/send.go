package policy

import (
	"fmt"
	"slices"
	"strings"

	"waggle/protocol"
)

// Role is what a principal is in a team (trust §9).
type Role string

// The roles. RoleRules is the principal of a decision that the team's rules gave
// (trust §3); it decides and never sends.
const (
	RoleOperator Role = "operator"
	RoleLeader   Role = "leader"
	RoleWorker   Role = "worker"
	RoleSystem   Role = "system"
	RoleRules    Role = "rules"
)

// Roles lists the roles.
func Roles() []Role { return []Role{RoleOperator, RoleLeader, RoleWorker, RoleSystem, RoleRules} }

// Channel is how something reached us; authority comes from it.
type Channel string

// The channels.
const (
	ChannelJournal  Channel = "journal"  // backed by the right journal's record
	ChannelOperator Channel = "operator" // a command, prompt or socket of the operator
	ChannelFile     Channel = "file"     // a mailbox entry without a matching journal record
)

// Channels lists the channels.
func Channels() []Channel { return []Channel{ChannelJournal, ChannelOperator, ChannelFile} }

// SendRow is one row of the table of who may send what: these kinds, from this
// role to that, by these channels, have an effect.
type SendRow struct {
	Name     string
	Kinds    []protocol.Kind
	From, To Role
	By       []Channel
	// FileTrust marks rows that hold only for members recorded as trust: file, by ChannelFile
	// (trust §1). MaySend ignores them, and MaySendFile uses no others.
	FileTrust bool
}

var (
	// verdicts answer a request. They are what a leader's journal decides.
	verdicts = []protocol.Kind{
		protocol.KindPermissionResponse, protocol.KindSandboxPermissionResponse, protocol.KindPlanApprovalResponse,
	}
	// commands change a member's mode, rules, state or work.
	commands = []protocol.Kind{
		protocol.KindModeSetRequest, protocol.KindTeamPermissionUpdate,
		protocol.KindShutdownRequest, protocol.KindTaskAssignment,
	}
	// reports are what a member says of itself.
	reports = []protocol.Kind{
		protocol.KindPermissionRequest, protocol.KindSandboxPermissionRequest, protocol.KindPlanApprovalRequest,
		protocol.KindShutdownApproved, protocol.KindShutdownRejected,
		protocol.KindIdleNotification, protocol.KindTaskProgress, protocol.KindTaskCompleted,
	}
	// words are delivered, whoever sends them, and never have an effect.
	words = []protocol.Kind{protocol.KindText, protocol.KindSystemInit}
	// inert kinds never have an effect, whoever sends them.
	inert = []protocol.Kind{
		protocol.KindTeammateTerminated, protocol.KindJoinRequest, protocol.KindJoinApproved, protocol.KindJoinRejected,
		protocol.KindUnknown, protocol.KindInvalid,
	}
)

var sendTable = []SendRow{
	{"leader decides", verdicts, RoleLeader, RoleWorker, []Channel{ChannelJournal}, false},
	{"leader commands", commands, RoleLeader, RoleWorker, []Channel{ChannelJournal}, false},
	{"worker reports", reports, RoleWorker, RoleLeader, []Channel{ChannelJournal}, false},
	{"operator commands", commands, RoleOperator, RoleWorker, []Channel{ChannelJournal}, false},
	{"leader decides, unvouched", verdicts, RoleLeader, RoleWorker, []Channel{ChannelFile}, true},
	{"leader ends, unvouched", []protocol.Kind{protocol.KindShutdownRequest}, RoleLeader, RoleWorker, []Channel{ChannelFile}, true},
	{"leader narrows, unvouched", []protocol.Kind{protocol.KindModeSetRequest, protocol.KindTeamPermissionUpdate}, RoleLeader, RoleWorker, []Channel{ChannelFile}, true},
	{"worker reports, unvouched", reports, RoleWorker, RoleLeader, []Channel{ChannelFile}, true},
}

// SendTable is the table of who may send what; documents are generated from it
// and MaySend reads it (trust §1, protocol §1.0, §5.3 invariants 6 and 7). The
// operator decides in the leader's journal (MayDecide), and the leader sends that
// answer; the operator sends no verdict and gets no report as a message.
func SendTable() []SendRow {
	out := slices.Clone(sendTable)
	for i := range out {
		out[i].Kinds = slices.Clone(out[i].Kinds)
		out[i].By = slices.Clone(out[i].By)
	}
	return out
}

// MaySend reports whether a payload of this kind, from a principal of role from
// to one of role to, may have an effect when it came by channel; why names the
// row of the table when it may not.
//
// Text, and system_init, which is text with a label, may always be delivered and
// never has an effect: ok is true and why is empty. A kind that is not in the
// table, a role or a channel that is not known: false. Whether the journal's
// record matches the entry is the caller's to check before it says
// ChannelJournal. ChannelFile gives no control payload an effect; see MaySendFile.
func MaySend(k protocol.Kind, from, to Role, by Channel) (ok bool, why string) {
	if !slices.Contains(Roles(), from) || !slices.Contains(Roles(), to) || !slices.Contains(Channels(), by) {
		return false, fmt.Sprintf("%s from %q to %q by %q: no such role or channel", k, from, to, by)
	}
	if slices.Contains(words, k) {
		return true, ""
	}
	if slices.Contains(inert, k) {
		return false, fmt.Sprintf("%s never has an effect, whoever sends it", k)
	}
	var rows []string
	for _, row := range sendTable {
		if row.FileTrust || !slices.Contains(row.Kinds, k) {
			continue
		}
		if row.From == from && row.To == to && slices.Contains(row.By, by) {
			return true, ""
		}
		rows = append(rows, row.String())
	}
	if len(rows) == 0 {
		return false, fmt.Sprintf("%s is not a kind of the table", k)
	}
	return false, fmt.Sprintf("%s from %s to %s by %s has no effect; the table has: %s",
		k, from, to, by, strings.Join(rows, "; "))
}

// MaySendFile is MaySend for an entry without a matching journal record, to or from a member
// recorded as trust: file, where no better evidence exists (trust §1): a verdict may answer one
// request with its own input inside the local ceiling, a leader may ask a member to end and may make
// its mode and rules narrower, and a foreign worker may ask and report. What would widen, and assignments
// from files, never have an effect. The caller checks that the member is recorded so, that the request is
// open, and that the mode or the rule narrows.
func MaySendFile(k protocol.Kind, from, to Role) (ok bool, why string) {
	if slices.Contains(words, k) {
		return MaySend(k, from, to, ChannelFile)
	}
	for _, row := range sendTable {
		if row.FileTrust && row.From == from && row.To == to && slices.Contains(row.Kinds, k) {
			return true, ""
		}
	}
	return false, fmt.Sprintf("%s from %s to %s by file has no effect, not even for a member that is trust: file", k, from, to)
}

// String writes the row's roles and channels: "leader to worker by journal".
func (r SendRow) String() string {
	return fmt.Sprintf("%s to %s by %s", r.From, r.To, strings.Join(protocol.Strings(r.By), " or "))
}
