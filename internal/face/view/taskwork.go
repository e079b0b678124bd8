package view

import (
	"fmt"

	"waggle/internal/face/view/page"
	"waggle/operator/board"
	"waggle/task"
)

// TaskStep is a step on a task.
type TaskStep int

// The steps of tasks.
const (
	TaskAdded TaskStep = iota
	TaskAssigned
	TaskClaimed
	TaskMoved // to another status
	TaskReleased
)

// TaskResultPage shows the outcome of a step on a task.
func TaskResultPage(r *board.TaskResult, did TaskStep) (p page.Page) {
	t := r.Task
	owner := t.Owner
	var what string
	switch did {
	case TaskAdded:
		what = "on the list" + assigned(r)
	case TaskAssigned:
		what = owner + "'s" + assigned(r)
	case TaskClaimed:
		what = fmt.Sprintf("%s's, %s: %s", owner, t.Status, t.Subject)
	case TaskMoved:
		what = string(t.Status)
	case TaskReleased:
		what = "nobody's"
	}
	switch {
	case r.Changed:
		p.Line(page.Plain("task "), page.Strong(string(t.ID)), page.Plain(" is "+what))
	case owner != "":
		p.Line(page.Plain(fmt.Sprintf("task %s was %s already, %s's", t.ID, t.Status, owner)))
	default:
		p.Line(page.Plain(fmt.Sprintf("task %s was %s already", t.ID, t.Status)))
	}
	return p
}

// TaskWaits names the tasks that a task waits for, "" for none.
func TaskWaits(r *board.TaskResult) string {
	if len(r.Task.WaitsFor) == 0 || r.Task.Status != task.Pending {
		return ""
	}
	return "it waits for " + texts(r.Task.WaitsFor, ", ")
}

// assigned shows how an owner gets a task.
func assigned(r *board.TaskResult) string {
	switch owner := r.Task.Owner; {
	case r.Ordered:
		return fmt.Sprintf(", and %s was ordered to do it", owner)
	case owner != "":
		return fmt.Sprintf(", and %s was told", owner)
	}
	return ""
}

// TaskLinksPage says what a task comes after.
func TaskLinksPage(r *board.TaskResult) (p page.Page) {
	after := "no other"
	if len(r.Task.BlockedBy) > 0 {
		after = texts(r.Task.BlockedBy, ", ")
	}
	p.Line(page.Plain("task "), page.Strong(string(r.Task.ID)), page.Plain(" comes after "+after))
	return p
}

// ReleasedPage names tasks that were released.
func ReleasedPage(ids []task.ID) page.Page { return idsPage("given back: ", ids) }

// RemovedPage names tasks that were removed.
func RemovedPage(ids []task.ID) page.Page { return idsPage("removed: ", ids) }

// idsPage is empty where there are no ids.
func idsPage(what string, ids []task.ID) (p page.Page) {
	if len(ids) > 0 {
		p.Line(page.Plain(what + texts(ids, ", ")))
	}
	return p
}
