package board

import (
	"waggle/agent"
	"waggle/control"
	"waggle/protocol"
	"waggle/task"
)

// TaskState is how a task is as people are shown it: its status on the board, and what the journals
// add to it.
type TaskState string

// The states of a task. The files know no failed and no blocked one: both are pending there.
const (
	StatePending    TaskState = "pending"
	StateInProgress TaskState = "in_progress"
	StateCompleted  TaskState = "completed"
	StateFailed     TaskState = "failed"  // its owner's last turn on it failed
	StateBlocked    TaskState = "blocked" // it waits for a task that failed, or for a blocked one
)

// Failed returns why the last turn on a task failed, by the journal of its owner. ok is false for a
// task that did not fail, that its owner says by file to be done, and that has another owner now. In a team that
// has ended the last owner counts: the end gives all tasks back.
func Failed(l *control.Leader, t task.Task) (why string, ok bool) {
	order, ok := l.Assignment(string(t.ID))
	if !ok || t.Status != task.Pending {
		return "", false
	}
	m, ok := l.ByInstance(order.Instance)
	if !ok || !protocol.SameName(m.Name, protocol.MemberName(lastOwner(l, t))) {
		return "", false
	}
	if turn := m.Turns[string(t.ID)]; turn != nil && turn.Failed && (m.Claimed[string(t.ID)] == nil || m.Left != nil) {
		return turn.Note, true
	}
	return "", false
}

// lastOwner returns the owner of a task; in a team that has ended, of a task that was given back, its last one.
func lastOwner(l *control.Leader, t task.Task) string {
	if t.Owner != "" || l == nil || l.Ended == nil {
		return t.Owner
	}
	if order, ok := l.Assignment(string(t.ID)); ok {
		if m, ok := l.ByInstance(order.Instance); ok {
			return string(m.Name)
		}
	}
	return ""
}

// Unchecked reports a completed task of which its agent alone says that it is done: no check has passed,
// and no person has confirmed it.
func Unchecked(m *control.Member, id task.ID) bool {
	done := m.Done[string(id)]
	return done != nil && !done.Checked && done.Entry != "" && agent.SaysSo(m.Agent)
}

// States returns the state of each task. l is nil for a team that waggle does not lead: there the
// board's status is all that is known.
func States(l *control.Leader, tasks []task.Task) map[task.ID]TaskState {
	states := make(map[task.ID]TaskState, len(tasks))
	for _, t := range tasks {
		states[t.ID] = TaskState(t.Status)
		if l == nil {
			continue
		}
		if _, ok := Failed(l, t); ok {
			states[t.ID] = StateFailed
		}
	}
	for more := true; more; { // until no further task waits for a blocked one
		more = false
		for _, t := range tasks {
			if states[t.ID] != StatePending {
				continue
			}
			for _, id := range task.Blocked(t, tasks) {
				if s := states[id]; s == StateFailed || s == StateBlocked {
					states[t.ID], more = StateBlocked, true
				}
			}
		}
	}
	return states
}
