package protocol

import (
	"slices"
	"strings"
)

// The fields of the kinds about tasks (protocol §1.12 to §1.15).

var taskAssignmentTable = table[TaskAssignment]{
	rows: []*fieldOf[TaskAssignment]{
		{name: "taskId", in: "wire:taskId! catalog:1:requestId! also:requestID", need: true, without: "the task's id is missing", as: number, doc: "The task's id on the board."},
		{name: "subject", in: "wire:subject! catalog:3:task.title!", as: text, doc: "The task in a few words."},
		taskDescription,
		taskAssigner,
		{name: "timestamp", in: "wire:timestamp! catalog:2:timestamp!", as: clock, doc: "When it was assigned."},
		{name: "planModeRequired", in: "wire:planModeRequired catalog:6:task.planModeRequired",
			codec: flag(func(p *TaskAssignment) *bool { return &p.PlanModeRequired }, (*frame).planModeRequired),
			doc:   "A plan must be approved before anything that cannot be undone."},
		{name: "context", in: "catalog:5:task.context also:context",
			codec: codec[TaskAssignment]{
				typ:  FieldText,
				read: (*frame).taskContext,
				write: func(o *object, key string, p *TaskAssignment) {
					o.str(key, p.Context)
				},
				empty: func(p *TaskAssignment) bool { return p.Context == "" || !p.hasContext() },
			}, doc: "The end of description that seed 000 keeps apart."},
	},
	finish: (*frame).taskAssignment,
}.build()

var taskDescription = &fieldOf[TaskAssignment]{
	name: "description", in: "wire:description! catalog:4:task.instructions+", as: text,
	catalog: func(o *object, key string, p *TaskAssignment) {
		text := p.Description
		if p.Context != "" && p.hasContext() {
			text = strings.TrimSuffix(strings.TrimSuffix(text, p.Context), "\n\n")
		}
		o.str(key, text)
	},
	doc: "What is to be done.",
}

var taskAssigner = &fieldOf[TaskAssignment]{name: "assignedBy", in: "wire:assignedBy!", need: true, as: text, doc: "Who set the owner."}

var phases = []string{"analyzing", "implementing", "verifying", "blocked", "done"}

// Phases lists those of a TaskProgress; Encode refuses another.
func Phases() []string { return slices.Clone(phases) }

var taskProgressTable = table[TaskProgress]{
	rows: []*fieldOf[TaskProgress]{
		{name: "requestId", in: "wire:requestId! catalog:1:requestId! also:requestID,taskId", without: "the task's id is missing",
			as: taskID, doc: "The task's id on the board."},
		{name: "timestamp", in: "wire:timestamp! catalog:2:timestamp!", as: clock, doc: "When it was reported."},
		{name: "progress.phase", in: "wire:progress.phase! catalog:3:progress.phase!", choices: phases, as: text, doc: "The step that is reported."},
		{name: "progress.message", in: "wire:progress.message! catalog:4:progress.message!", as: text, doc: "What there is to say of it."},
	},
	finish: (*frame).taskProgress,
}.build()

var taskCompletedTable = table[TaskCompleted]{
	rows: []*fieldOf[TaskCompleted]{
		{name: "from", in: "wire:from!", need: true, as: sender, doc: "Who worked on it."},
		{name: "taskId", in: "wire:taskId! catalog:1:requestId! also:requestID", need: true, without: "the task's id is missing", as: number, doc: "The task's id on the board."},
		{name: "taskSubject", in: "wire:taskSubject", as: text, doc: "The task in a few words."},
		{name: "timestamp", in: "wire:timestamp! catalog:2:timestamp!", as: clock, doc: "When it ended."},
		{name: "result", in: "wire:result-", hidden: true,
			codec: codec[TaskCompleted]{typ: FieldText, read: (*frame).taskResult}, doc: "A result that is not an object is its summary."},
		resultSummary, resultArtifacts, resultErrors,
	},
}.build()

// The result of a task. The wire leaves it out when there is none.
var (
	resultSummary = &fieldOf[TaskCompleted]{name: "result.summary", in: "wire:result.summary+ catalog:3:result.summary!", when: hasResult,
		codec: made(func(p *TaskCompleted) string { return p.result().Summary }), doc: "What came of it."}
	resultArtifacts = &fieldOf[TaskCompleted]{name: "result.artifacts", in: "wire:result.artifacts+ catalog:4:result.artifacts+", when: hasResult,
		codec: texts(func(p *TaskCompleted) []string { return p.result().Artifacts }), doc: "What was made."}
	resultErrors = &fieldOf[TaskCompleted]{name: "result.errors", in: "wire:result.errors+ catalog:5:result.errors+", when: hasResult,
		codec: texts(func(p *TaskCompleted) []string { return p.result().Errors }), doc: "What failed; with any the task has failed."}
)

func hasResult(p *TaskCompleted, d Dialect) bool { return p.Result != nil || d == DialectCatalog }

// Values of IdleNotification fields, and seed 002's reasons, which are written in its dialect only.
var (
	idleReasons    = []string{"available", "interrupted", "failed"}
	apiIdleReasons = []string{"waiting_response", "task_complete"}
	idleStatuses   = []string{"resolved", "blocked", "failed"}
)

var idleNotificationTable = table[IdleNotification]{
	rows: []*fieldOf[IdleNotification]{
		{name: "from", in: "wire:from! api:1:from!", need: true, as: sender, doc: "Whose turn has ended."},
		{name: "timestamp", in: "wire:timestamp! catalog:1:timestamp! api:3:timestamp", as: clock, doc: "When it ended."},
		{name: "idleReason", in: "wire:idleReason! api:2:idleReason!", choices: idleReasons, as: text, doc: "Why; others count as available."},
		{name: "summary", in: "wire:summary", as: text, doc: "The words to a peer that the turn ended with."},
		{name: "completedTaskId", in: "wire:completedTaskId", as: number, doc: "The task that the turn ended."},
		{name: "completedStatus", in: "wire:completedStatus", choices: idleStatuses, as: text, doc: "How that task ended."},
		{name: "failureReason", in: "wire:failureReason", as: text, doc: "Why the turn failed."},
		{name: "result", in: "wire:result", as: text, doc: "The final answer of the turn."},
		idleState,
	},
	finish: (*frame).idleNotification,
	refuse: func(p *IdleNotification, d Dialect) string {
		if d == DialectCatalog && p.IdleReason != idleReasons[0] {
			return "the catalog form cannot say idleReason " + p.IdleReason
		}
		return ""
	},
}.build()

// idleState is seed 000's idleReason, which has one value.
var idleState = &fieldOf[IdleNotification]{name: "state", in: "catalog:2:state!", hidden: true,
	codec: made(func(*IdleNotification) string { return "idle" }), doc: "The word idle, in place of idleReason."}
