package control

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"waggle/internal/cut"
	"waggle/journal"
	"waggle/message"
	"waggle/policy"
	"waggle/record"
)

// Bounds of what an agent says of itself.
const (
	maxPane         = 2000
	maxConversation = 256
	maxSteps        = 200
)

// Converse records the agent's conversation. The same again drafts nothing. A program that does not
// know the record begins a new conversation.
func (w *Worker) Converse(c record.Conversation) ([]journal.Draft, error) {
	switch {
	case c.ID == "" || len(c.ID) > maxConversation || len(c.Model) > maxConversation || !utf8.ValidString(c.ID) || !utf8.ValidString(c.Model):
		return nil, fmt.Errorf("conversation %.40q: an id and a model have 1 to %d bytes of text", c.ID, maxConversation)
	case w.Conversation != nil && *w.Conversation == c:
		return nil, nil
	}
	return []journal.Draft{{Kind: record.KindConversation, Body: c}}, nil
}

// Use records what the agent has used. The result that was counted last counts once.
func (w *Worker) Use(u record.Usage) ([]journal.Draft, error) {
	switch {
	case !u.Valid() || len(u.ID) > maxConversation || !utf8.ValidString(u.ID):
		return nil, errors.New("a usage counts tokens and cost forward")
	case u.ID != "" && u.ID == w.Usage.ID:
		return nil, nil
	}
	return []journal.Draft{{Kind: record.KindUsed, Body: u}}, nil
}

// Declare records the steps that the agent declares for its turn.
func (w *Worker) Declare(steps []record.Step) ([]journal.Draft, error) {
	if w.turn == nil {
		return nil, ErrNoTurn
	}
	if len(steps) > maxSteps {
		return nil, fmt.Errorf("%d steps: at most %d are shown", len(steps), maxSteps)
	}
	for i, s := range steps {
		steps[i].Text = message.Clip(strings.TrimSpace(s.Text))
		switch s.State {
		case "pending", "in_progress", "completed":
		default:
			return nil, fmt.Errorf("step %d: state %.40q is not one of pending, in_progress, completed", i+1, s.State)
		}
	}
	return []journal.Draft{{Kind: record.KindSteps, Body: record.Steps{Steps: steps}}}, nil
}

// Show records what the program in the member's pane waits for; "": nothing any more. The same again
// drafts nothing.
func (w *Worker) Show(waits string) []journal.Draft {
	waits = cut.Runes(strings.ToValidUTF8(waits, "\uFFFD"), maxPane)
	if waits == w.Pane {
		return nil
	}
	return []journal.Draft{{Kind: record.KindPane, Body: record.Pane{Waits: waits}}}
}

func (w *Worker) paneRec(r journal.Record, b record.Pane) error {
	w.Pane, w.PaneAt = b.Waits, r.Time
	return nil
}

func (w *Worker) conversationRec(_ journal.Record, b record.Conversation) error {
	w.Conversation, w.lent = &b, false
	return nil
}

func (w *Worker) usedRec(_ journal.Record, b record.Usage) error {
	if !b.Valid() {
		return fmt.Errorf("usage %+v", b)
	}
	w.Usage = w.Usage.Plus(b)
	return nil
}

func (w *Worker) stepsRec(_ journal.Record, b record.Steps) error {
	if w.turn != nil {
		w.Steps = b.Steps
	}
	return nil
}

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
