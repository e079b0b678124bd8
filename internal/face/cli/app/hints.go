package app

import (
	"cmp"
	"strings"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/protocol"
)

// Hint returns what to do next after a failure: the advice of the packages below, or the text of
// its step.
func Hint(e *operator.Error) string {
	return cmp.Or(e.Advice, StepText(e.Next))
}

// StepText returns a step as a person types it, "" for none.
func StepText(n operator.Next) string {
	in := ""
	if n.Team != "" {
		in = " --team " + string(n.Team)
	}
	return strings.NewReplacer("{in}", in, "{team}", string(n.Team), "{member}", string(n.Member), "{id}", n.ID, "{text}", n.Text).Replace(Steps[n.Step])
}

// StepsOf returns steps of a team as a person types them here: they name the team, unless the commands are about it
// without a name.
func (a *App) StepsOf(name protocol.TeamName) page.Spell {
	if !a.named(name) {
		return StepText
	}
	return func(n operator.Next) string {
		if n.Team == "" {
			n.Team = name
		}
		return StepText(n)
	}
}

// named reports whether a command has to name a team, because without a name it would be about others too.
func (a *App) named(name protocol.TeamName) bool {
	if name == "" || a.Flags.Team != "" {
		return name != ""
	}
	op, err := a.Op()
	if err != nil {
		return false
	}
	usual, err := op.Pick("")
	return err == nil && usual != name || operator.KindOf(err) == operator.Usage
}

// Steps are the texts of all steps. {in} is the flag that names the team, where the step has one; {team}, {member}, {id} and {text} are the fields of
// operator.Next.
var Steps = map[operator.Step]string{
	operator.NextStatus:        "waggle status --team {team}",
	operator.NextStatusAll:     "waggle status",
	operator.NextRecapOf:       "waggle recap TEAM",
	operator.NextListKept:      "waggle gc",
	operator.NextStatusTeam:    "waggle status {team}",
	operator.NextStatusNow:     "waggle status shows how it is now",
	operator.NextStatusNames:   ", waggle status names them",
	operator.NextStatusLater:   "waggle status --team {team} shows it when it is there",
	operator.NextStatusOrDown:  "waggle status --team {team}; waggle down {team} ends it",
	operator.NextAwaitEnd:      "wait for the end of it: waggle status",
	operator.NextWhoIsThere:    "waggle status shows who is there",
	operator.NextWhoRuns:       "waggle status shows who runs",
	operator.NextStatusEnded:   "waggle status {team} says how it ended, and what is kept",
	operator.NextReadEnded:     "waggle recap {team}; waggle log --team {team}",
	operator.NextSessions:      "waggle status shows the sessions that run",
	operator.NextShowMembers:   "waggle team show{in}",
	operator.NextWhyRestart:    "waggle why {member}{in} says more; it is started again as its restart policy says",
	operator.NextWhy:           "waggle why {member}{in}",
	operator.NextPeek:          "waggle peek {member}{in}",
	operator.NextState:         "--state says where records lie",
	operator.NextLog:           "waggle log --team {team}",
	operator.NextAudit:         "waggle audit query{in}",
	operator.NextAuditSessions: "waggle audit query -",
	operator.NextLogUnverified: "waggle log --kind unverified{in}",
	operator.NextOwnProcess:    "codex --no-daemon starts a session in a process of its own",
	operator.NextInstallHooks:  "waggle hooks install",
	operator.NextInstallHere:   "waggle hooks install --project",
	operator.NextHooksFor:      "waggle hooks install --for {text}",
	operator.NextHooksForHere:  "waggle hooks install --for {text} --project",
	operator.NextNameTeam:      "--team NAME",
	operator.NextSameIn:        "the same command with --team NAME",
	operator.NextOtherTeam:     "--team {team}",

	operator.NextDemoOrInit:         "waggle new \"TASK\" starts an agent; waggle demo shows a team; waggle init writes a team file",
	operator.NextDemo:               "waggle demo",
	operator.NextNotifyOn:           "waggle notify on",
	operator.NextNotifyTest:         "waggle notify test",
	operator.NextTransitions:        "WAGGLE_TRANSITIONS=FILE waggle up writes every transition as a JSON line, which a collector can read",
	operator.NextInit:               "waggle init writes one",
	operator.NextUp:                 "start teams that are to stay with waggle up",
	operator.NextAgainOrUp:          "the same command again finds it when it is there; waggle up makes it anew when nobody does",
	operator.NextResume:             "its members go on without one; waggle resume {team} leads it",
	operator.NextResumeTeam:         "waggle resume {team}",
	operator.NextResumeMember:       "waggle resume {member} --team {team} starts it again; then send it again",
	operator.NextReturnMember:       "waggle resume {member} --team {team} brings it back, in its session and worktree; then send it again",
	operator.NextLeadReturn:         "waggle resume {team} leads the team again, then waggle resume {member} --team {team} brings it back",
	operator.NextDetach:             "waggle detach {team} leaves it running in the background",
	operator.NextAccept:             "--accept takes it as it is",
	operator.NextInto:               "name a branch with --into",
	operator.NextDown:               "waggle down {team} ends the team with that process",
	operator.NextDownOnly:           "waggle down ends the team",
	operator.NextHear:               "waggle team add {member} --team {team}",
	operator.NextDownFirst:          "waggle down {team} ends it first",
	operator.NextDownOrDeleteForce:  "waggle down {team} ends them by handshake first; --force kills them and deletes",
	operator.NextDownWithProcess:    "waggle down ends the team with that process",
	operator.NextDownForce:          "waggle down --force {team} ends the team with that process",
	operator.NextDownForceIt:        "waggle down --force {team} ends it",
	operator.NextDownAgain:          "waggle down {team} again, when that can be written, frees the name",
	operator.NextResumeOrDown:       "waggle resume {team} brings it back, waggle down {team} ends it",
	operator.NextDownForceOrPutBack: "waggle down --force {team} ends what runs and frees the name; put the file back to go on",
	operator.NextAcknowledge:        "waggle audit verify {team} names the line; waggle repair {team} shows what is lost and lets the team go on without it; waggle down --force {team} ends what runs and frees the name",
	operator.NextAcknowledgeOrDown:  "waggle repair {team}; waggle down --force {team}",
	operator.NextRepairMember:       "waggle repair {member} --team {team} --seq {id}",
	operator.NextShowOrDelete:       "waggle team show {team}, or waggle team delete {team}",
	operator.NextFreeName:           "waggle team delete {team} --archive puts its files away and frees the name; or give the team in the file another name",
	operator.NextCollect:            "waggle gc --yes puts it into the archive",
	operator.NextEndLeftover:        "waggle gc --yes ends it",
	operator.NextMigrate:            "waggle team migrate {team} --layout {text}",
	operator.NextLayoutDown:         "waggle down {team} ends it; with layout: {text} in its file the next one has that layout",
	operator.NextPutAway:            "waggle team delete {team} --archive puts its files away as they are",
	operator.NextDeleteForeign:      "end that program first; --force removes its files under it",
	operator.NextRestoreElsewhere:   "--name NAME restores under another name; --force puts the team that is there into the archive first",
	operator.NextRestoreMakeRoom:    "--name NAME restores it under another name; waggle team delete {team} --tasks makes room",

	operator.NextSpawn:          "waggle spawn{in} starts a member in it",
	operator.NextSpawnName:      "waggle spawn NAME{in} starts a member of it",
	operator.NextSpawnAgain:     "waggle spawn {member}{in} starts it anew",
	operator.NextSpawnProcess:   "say --backend process, or name the member in the team file",
	operator.NextAcceptSetup:    `waggle new "TASK" in a terminal shows it and asks, once for a team`,
	operator.NextNoSetup:        "waggle new --no-setup goes on without it",
	operator.NextInstallGh:      "install gh, and gh auth login; or give the text as the task: waggle new \"TASK\"",
	operator.NextNewBranch:      "waggle new \"TASK\" begins a new branch",
	operator.NextForkBranch:     "gh pr checkout {id} fetches its branch; waggle new --base BRANCH \"TASK\" begins at it",
	operator.NextListBranches:   "git branch --all lists the branches; git fetch gets those that are new on a remote",
	operator.NextLetGo:          "git switch --detach there lets it go; waggle new --base {id} \"TASK\" begins a new branch at it",
	operator.NextHere:           "waggle new --here \"TASK\" works in the directory itself",
	operator.NextInstallAgent:   "npm install -g @anthropic-ai/claude-code installs Claude Code; waggle new exec 'COMMAND' runs a command",
	operator.NextOwnChecks:      "waggle init without --template writes a file for your own checks",
	operator.NextFollow:         "waggle pending; waggle peek {member}{in}; waggle diff {member}{in}; waggle merge {member}{in}",
	operator.NextDiff:           "waggle diff {member}{in}",
	operator.NextMergeAgain:     "waggle diff {member} --team {team}; waggle merge {member} --team {team}",
	operator.NextMergeOpen:      "waggle merge {member}{in} --continue, or --abort",
	operator.NextMergeByHand:    "commit there what is to stay, and git merge {text} in your checkout; then waggle gc --yes removes it",
	operator.NextPeekResume:     "waggle peek {member} --team {team} has its log; waggle resume {member} --team {team} tries again",
	operator.NextFollowHere:     "waggle pending; waggle peek {member}{in}; waggle stop {member}{in}",
	operator.NextCompare:        "waggle compare shows them side by side; waggle merge the one to keep, waggle stop the others",
	operator.NextParts:          "waggle plan show {member}{in}; waggle plan approve {member} --rev 1{in}; waggle new {member} --parts",
	operator.NextBringBack:      "waggle resume {member} --team {team} brings it back",
	operator.NextStopSessions:   "waggle stop --all --sessions stops them, too",
	operator.NextUndoEarlier:    "waggle undo ID takes an earlier answer back, waggle policy rm RULE a rule",
	operator.NextUndoPlan:       "waggle undo --plan shows what it would take back now",
	operator.NextGoOn:           "waggle resume {team} lets it go on",
	operator.NextStopMember:     "waggle stop {member} --team {team} ends it",
	operator.NextStopAgain:      "waggle stop {member}{in} again when there is room",
	operator.NextTell:           "waggle send {member} TEXT --team {team} tells it something",
	operator.NextTypePane:       "waggle attach {member} --type --team {team}",
	operator.NextTypeThere:      "--type goes to it; waggle peek shows its screen",
	operator.NextGuest:          "waggle guest NAME -- COMMAND",
	operator.NextToken:          "the operator makes one with waggle team token NAME{in}",
	operator.NextAddClient:      "waggle team add NAME --agent mcp{in} makes a member for a client",
	operator.NextAdoptPID:       "a session without agent teams writes no such file: name its process with --pid",
	operator.NextAdoptedStatus:  ": waggle status --team {team}",
	operator.NextAdoptedSend:    "waggle send {member} --team {team} puts them into {text}; the session sees them when something in it reads that file (waggle inbox {member} --team {team})",
	operator.NextAdoptedSay:     "waggle send {member} --team {team} says them to its session by its own socket, as words of another session",
	operator.NextAdoptedAnswers: "what is sent from below its process with waggle send is this member's, and has no authority",
	operator.NextRegister:       "waggle team add NAME --team {team} registers a member to speak as",
	operator.NextRegisterOrLead: "leave out --as to speak as the lead, or waggle team add {member}{in}",
	operator.NextSpeakAs:        "name one with --as",
	operator.NextAs:             "--as names whose chat this is",

	operator.NextListTasks:         "waggle task list{in}",
	operator.NextListOwners:        "waggle task list{in} shows who has them",
	operator.NextAddTask:           "waggle task add{in} makes a new one",
	operator.NextAssignTask:        "waggle task assign {id} {member}{in}",
	operator.NextOrderTask:         ": waggle task assign {id} {member}{in}",
	operator.NextRepeatTask:        "waggle task assign {id} {member}{in} orders it again",
	operator.NextConfirmTask:       "you say so with waggle task done {id}{in}",
	operator.NextClaimTask:         "waggle task claim {id} --as NAME{in}",
	operator.NextFinishTask:        "waggle task done {id}{in}",
	operator.NextReleaseOne:        "waggle task release ID{in} gives back one task",
	operator.NextReleaseOrAssign:   "waggle task release {id}{in} gives it back, waggle task assign {id} NAME{in} hands it on",
	operator.NextUnblockTask:       "waggle task unblock ID BLOCKER{in} takes a dependency away",
	operator.NextShowTask:          "look at it and try again: waggle task show {id}{in}",
	operator.NextArtifacts:         "waggle task artifacts {member}{in}",
	operator.NextReadableArtifacts: "waggle task artifacts {member}{in} lists what can be read",

	operator.NextPending:        "waggle pending shows what waits",
	operator.NextPendingList:    "waggle pending",
	operator.NextPendingAgain:   "look again: waggle pending",
	operator.NextShow:           "waggle show {id}",
	operator.NextApproveOf:      "waggle approve {id}",
	operator.NextAnswer:         "waggle show {id} shows it whole, then waggle {text} {id}",
	operator.NextShowGroup:      "waggle show --group {id}",
	operator.NextExplain:        "waggle policy explain {id}{in}",
	operator.NextShowAgain:      "look again: waggle show {id}",
	operator.NextShowThenDecide: "waggle show {id}, then approve or deny it",
	operator.NextShowOptions:    "waggle show {id} lists the options",
	operator.NextAnswerEach:     "look at each and answer it by its handle: waggle show {id}",
	operator.NextDecideEach:     "look at each and answer it by its id: waggle show {id}, then waggle {text} {id}",
	operator.NextFindGroup:      "waggle pending, or waggle show PATTERN, prints the requests and the id of their group",
	operator.NextSayGroup:       "say which by a request of it: waggle show --group ID",
	operator.NextSayDigest:      "say which with --digest; waggle pending --json has it",
	operator.NextPlanRevisions:  "waggle plan list --all{in} shows the revisions",
	operator.NextNetList:        "waggle net list{in}",
	operator.NextSandboxTest:    "write sandbox: {mode: required} into the team file; waggle sandbox test says what this machine can hold",
	operator.NextNetPending:     "waggle net pending{in}; --until TIME --for NAME answers ahead",
	operator.NextNetAhead:       "to answer ahead say the port and for whom: waggle net allow {text}:443 --for NAME --until TIME{in}",
	operator.NextNetOpen:        "waggle net allow HOST:PORT --until TIME --for NAME{in} opens a host for a time",
	operator.NextWildcard:       "if that is meant, say --wildcard",
	operator.NextListRules:      "waggle policy list{in}",
	operator.NextDenyRule:       "waggle policy add --deny RULE{in} denies for good",

	operator.NextShowMessage:   "waggle msg show {id}{in}",
	operator.NextPutBackOrFree: "put it back there; or waggle team delete {team} --archive puts the team's files away and frees the name",
	operator.NextReadMessages:  "its messages are still readable: waggle inbox --team {team}",
	operator.NextReadUnmarked:  "read it without --mark-read",
	operator.NextWaitDelivered: "--wait delivered",
	operator.NextSendPlain:     "send it without --priority",
	operator.NextSendAsLead:    "--as never carries authority; leave it out",
	operator.NextSendMember:    "a mailbox file takes messages by its member's name: waggle send NAME TEXT{in}",
	operator.NextSendPID:       "name it by its process: waggle send @PID TEXT",
	operator.NextAnswerRequest: "waggle approve or waggle deny answers a request",
	operator.NextAnswerPlan:    "waggle approve or waggle deny answers a plan",
	operator.NextAnswerHost:    "waggle approve or waggle deny answers a network request",
	operator.NextEndTeam:       "waggle down ends a team",
	operator.NextGiveTask:      "waggle task assign{in} gives a task to a member",

	operator.NextServe:        "waggle serve starts one",
	operator.NextServeIs:      "waggle serve is such an endpoint",
	operator.NextServeWhere:   "waggle serve --where says where",
	operator.NextServeListen:  "--listen 127.0.0.1:0, or --cert and --key",
	operator.NextServeToken:   "--new-token makes it anew",
	operator.NextLead:         "a process that leads the team serves it: waggle run, or waggle up",
	operator.NextBridge:       "waggle bridge starts one",
	operator.NextBridgeEditor: "waggle bridge serves editors; an editor registers when it connects",
	operator.NextBridgeWhere:  "waggle bridge --where says where",
	operator.NextBridgeToken:  "waggle bridge --where prints it",
	operator.NextBridgeListen: "--listen 127.0.0.1:0",
	operator.NextInbox:        "its messages are readable: waggle inbox --team {team}",
	operator.NextInboxRead:    "waggle inbox{in}",
	operator.NextMessages:     "waggle msg list{in}",
	operator.NextInboxUnread:  "waggle inbox --unread{in}",
	operator.NextInboxArchive: "waggle inbox NAME --archive{in}",
	operator.NextDoctor:       "waggle doctor",
	operator.NextInboxOf:      "waggle inbox {member} --team {team}",
	operator.NextDeadLetters:  "waggle msg list --delivery dead-letter --team {team}",
}
