package control

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"waggle/internal/cut"
	"waggle/journal"
	"waggle/message"
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
