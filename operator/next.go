package operator

import (
	"time"

	"waggle/protocol"
)

// Next is what a person can do after a failure, as data: each face writes it in its own commands or
// controls. The zero Next has no step.
type Next struct {
	Step   Step
	Team   protocol.TeamName
	Member protocol.MemberName
	ID     string // of a task, a request or a message
	Text   string // what else the step needs
}

// Sentence is a text with the step that it suggests.
type Sentence struct {
	Text string
	Do   Next
}

// Past is a time of which a document has how long ago it was.
type Past struct{ time.Time }

// Step is one thing to do next. Its value is a name, not a text for people.
type Step string

// With returns the step without a team, member, task or request.
func (s Step) With() Next { return Next{Step: s} }

// Looking at a team.
const (
	NextStatus        Step = "status"
	NextStatusTeam    Step = "status-team"
	NextStatusNow     Step = "status-now"
	NextStatusNames   Step = "status-names"
	NextStatusLater   Step = "status-later"
	NextStatusOrDown  Step = "status-or-down"
	NextAwaitEnd      Step = "await-end"
	NextWhoIsThere    Step = "who-is-there"
	NextWhoRuns       Step = "who-runs"
	NextStatusEnded   Step = "status-ended"
	NextReadEnded     Step = "read-ended"
	NextSessions      Step = "sessions"
	NextShowMembers   Step = "show-members"
	NextWhy           Step = "why-member"
	NextWhyRestart    Step = "why-restart"
	NextPeek          Step = "peek"
	NextState         Step = "state"
	NextLog           Step = "log"
	NextLogUnverified Step = "log-claims"
	NextAudit         Step = "audit"
	NextAuditSessions Step = "audit-sessions"
	NextOwnProcess    Step = "session-own-process"
	NextInstallHooks  Step = "install-hooks"
	NextInstallHere   Step = "install-hooks-project"
	NextHooksFor      Step = "install-hooks-for"
	NextHooksForHere  Step = "install-hooks-for-project"
	NextNameTeam      Step = "name-team"
	NextSameIn        Step = "same-in"
	NextOtherTeam     Step = "other-team"
)

// Making, leading and ending a team.
const (
	NextDemoOrInit         Step = "demo-or-init"
	NextDemo               Step = "demo"
	NextTransitions        Step = "transitions"
	NextNotifyOn           Step = "notify-on"
	NextNotifyTest         Step = "notify-test"
	NextInit               Step = "init"
	NextUp                 Step = "up"
	NextAgainOrUp          Step = "again-or-up"
	NextResume             Step = "resume"
	NextResumeTeam         Step = "resume-team"
	NextResumeMember       Step = "resume-member"
	NextReturnMember       Step = "return-member"
	NextLeadReturn         Step = "lead-return"
	NextDetach             Step = "detach"
	NextAccept             Step = "accept"
	NextInto               Step = "into"
	NextDown               Step = "down"
	NextDownOnly           Step = "down-only"
	NextHear               Step = "hear"
	NextDownFirst          Step = "down-first"
	NextDownOrDeleteForce  Step = "down-or-delete-force"
	NextDownWithProcess    Step = "down-with-process"
	NextDownForce          Step = "down-force"
	NextDownForceIt        Step = "down-force-it"
	NextDownAgain          Step = "down-again"
	NextResumeOrDown       Step = "resume-or-down"
	NextDownForceOrPutBack Step = "down-force-or-put-back"
	NextAcknowledge        Step = "acknowledge"
	NextAcknowledgeOrDown  Step = "acknowledge-or-down"
	NextRepairMember       Step = "repair-member"
	NextShowOrDelete       Step = "show-or-delete"
	NextFreeName           Step = "free-name"
	NextCollect            Step = "collect"
	NextEndLeftover        Step = "end-leftover"
	NextMigrate            Step = "migrate"
	NextLayoutDown         Step = "layout-down"
	NextPutAway            Step = "put-away"
	NextDeleteForeign      Step = "delete-foreign"
	NextRestoreElsewhere   Step = "restore-elsewhere"
	NextRestoreMakeRoom    Step = "restore-make-room"
)

// Members.
const (
	NextSpawn          Step = "spawn"
	NextSpawnName      Step = "spawn-name"
	NextSpawnAgain     Step = "spawn-again"
	NextSpawnProcess   Step = "spawn-process"
	NextInstallAgent   Step = "install-agent"
	NextAcceptSetup    Step = "accept-setup"
	NextNoSetup        Step = "no-setup"
	NextHere           Step = "here"
	NextInstallGh      Step = "install-gh"
	NextNewBranch      Step = "new-branch"
	NextForkBranch     Step = "fork-branch"
	NextListBranches   Step = "list-branches"
	NextLetGo          Step = "let-go"
	NextOwnChecks      Step = "own-checks"
	NextFollow         Step = "follow"
	NextDiff           Step = "diff"
	NextMergeAgain     Step = "merge-again"
	NextMergeByHand    Step = "merge-by-hand"
	NextMergeOpen      Step = "merge-open"
	NextPeekResume     Step = "peek-resume"
	NextFollowHere     Step = "follow-here"
	NextCompare        Step = "compare"
	NextParts          Step = "parts"
	NextStopMember     Step = "stop-member"
	NextBringBack      Step = "bring-back"
	NextStopSessions   Step = "stop-sessions"
	NextUndoEarlier    Step = "undo-earlier"
	NextUndoPlan       Step = "undo-plan"
	NextGoOn           Step = "go-on"
	NextStopAgain      Step = "stop-again"
	NextTell           Step = "tell"
	NextTypePane       Step = "type-pane"
	NextTypeThere      Step = "type-there"
	NextGuest          Step = "guest"
	NextToken          Step = "token"
	NextAddClient      Step = "add-client"
	NextAdoptPID       Step = "adopt-pid"
	NextAdoptedStatus  Step = "adopted-status"
	NextAdoptedSend    Step = "adopted-send"
	NextAdoptedSay     Step = "adopted-say"
	NextAdoptedAnswers Step = "adopted-answers"
	NextRegister       Step = "register"
	NextRegisterOrLead Step = "register-or-lead"
	NextSpeakAs        Step = "speak-as"
	NextAs             Step = "as"
)

// Tasks.
const (
	NextListTasks         Step = "list-tasks"
	NextListOwners        Step = "list-owners"
	NextAddTask           Step = "add-task"
	NextAssignTask        Step = "assign-task"
	NextOrderTask         Step = "order-task"
	NextRepeatTask        Step = "repeat-task"
	NextConfirmTask       Step = "confirm-task"
	NextClaimTask         Step = "claim-task"
	NextFinishTask        Step = "finish-task"
	NextReleaseOne        Step = "release-one"
	NextReleaseOrAssign   Step = "release-or-assign"
	NextUnblockTask       Step = "unblock-task"
	NextShowTask          Step = "show-task"
	NextArtifacts         Step = "artifacts"
	NextReadableArtifacts Step = "readable-artifacts"
)

// Requests, groups, plans, hosts and rules. ID is a request, or what names it.
const (
	NextPending        Step = "pending"
	NextPendingList    Step = "pending-list"
	NextPendingAgain   Step = "pending-again"
	NextStatusAll      Step = "status-all"
	NextRecapOf        Step = "recap-of"
	NextListKept       Step = "list-kept"
	NextAnswer         Step = "answer"
	NextShow           Step = "show"
	NextApproveOf      Step = "approve-of"
	NextShowGroup      Step = "show-group"
	NextExplain        Step = "explain"
	NextShowAgain      Step = "show-again"
	NextShowThenDecide Step = "show-then-decide"
	NextShowOptions    Step = "show-options"
	NextAnswerEach     Step = "answer-each"
	NextDecideEach     Step = "decide-each"
	NextFindGroup      Step = "find-group"
	NextSayGroup       Step = "say-group"
	NextSayDigest      Step = "say-digest"
	NextPlanRevisions  Step = "plan-revisions"
	NextNetPending     Step = "net-pending"
	NextNetList        Step = "net-list"
	NextSandboxTest    Step = "sandbox-test"
	NextNetAhead       Step = "net-ahead"
	NextNetOpen        Step = "net-open"
	NextWildcard       Step = "wildcard"
	NextListRules      Step = "list-rules"
	NextDenyRule       Step = "deny-rule"
)

// Messages. ID is that of one.
const (
	NextShowMessage   Step = "show-message"
	NextReadMessages  Step = "read-messages"
	NextPutBackOrFree Step = "put-back-or-free"
	NextReadUnmarked  Step = "read-unmarked"
	NextWaitDelivered Step = "wait-delivered"
	NextSendPlain     Step = "send-plain"
	NextSendAsLead    Step = "send-as-lead"
	NextSendMember    Step = "send-member"
	NextSendPID       Step = "send-pid"
	NextAnswerRequest Step = "answer-request"
	NextAnswerPlan    Step = "answer-plan"
	NextAnswerHost    Step = "answer-host"
	NextEndTeam       Step = "end-team"
	NextGiveTask      Step = "give-task"
)

// Endpoints and bridges.
const (
	NextServe        Step = "serve"
	NextServeIs      Step = "serve-is"
	NextServeWhere   Step = "serve-where"
	NextServeListen  Step = "serve-listen"
	NextServeToken   Step = "serve-token"
	NextLead         Step = "lead"
	NextBridge       Step = "bridge"
	NextBridgeEditor Step = "bridge-editor"
	NextBridgeWhere  Step = "bridge-where"
	NextBridgeToken  Step = "bridge-token"
	NextBridgeListen Step = "bridge-listen"
	NextInbox        Step = "inbox"
	NextInboxOf      Step = "inbox-of"
	NextInboxUnread  Step = "inbox-unread"
	NextInboxRead    Step = "inbox-read"
	NextMessages     Step = "messages"
	NextInboxArchive Step = "inbox-archive"
	NextDeadLetters  Step = "dead-letters"
	NextDoctor       Step = "doctor"
)
