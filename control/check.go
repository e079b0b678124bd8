package control

import (
	"fmt"
	"strings"

	"waggle/journal"
	"waggle/policy"
	"waggle/record"
)

// CheckOf is the check that decides whether a task of this member is done: the task's own, else that of the
// membership; nil: its agent says so. t is nil for a task that nobody has ordered.
func (m *Member) CheckOf(t *record.Task) *record.Check {
	if t != nil && t.Check != nil {
		return t.Check
	}
	return m.Joined.Check
}

// Check records one run of the check of the task that the turn does. The turn stays open.
func (w *Worker) Check(b record.Checked) ([]journal.Draft, error) {
	if w.turnTask == nil || w.turnTask.ID != b.Task {
		return nil, ErrNoTurn
	}
	b.Why, b.Tail = strings.ToValidUTF8(b.Why, "\uFFFD"), strings.ToValidUTF8(b.Tail, "\uFFFD")
	return []journal.Draft{{Kind: record.KindChecked, Body: b}}, nil
}

func (w *Worker) checkedRec(_ journal.Record, b record.Checked) error {
	t := w.turnTask
	if t == nil || t.ID != b.Task {
		return fmt.Errorf("task %s was checked, which no turn does", b.Task)
	}
	t.Checks, t.Checked = t.Checks+1, &b
	return nil
}

// Unanswered are the calls of the turn in a run that were denied because nobody answered.
func (w *Worker) Unanswered(lead *Leader) []*Call {
	if !lead.Policy.Unattended && (lead.Led == nil || !lead.Led.Run) {
		return nil
	}
	return those(w.Calls, func(c *Call) bool {
		a := c.Answer
		return c.turn == w.turn && c.Kind != record.KindQuestion && a != nil && a.Decision == record.DecisionDeny && a.By == policy.RoleSystem && !a.Revoked
	})
}
