package control

import (
	"errors"
	"testing"

	"waggle/journal"
)

// TestMoved: a move of the team that its table does not have is an error.
func TestMoved(t *testing.T) {
	l := NewLeader(nil)
	l.Instance = "i"
	var wrong *TransitionError
	if err := l.moved(Leading, EvEnded, journal.Record{}); !errors.As(err, &wrong) || wrong.From != Leading || wrong.To != Leading || wrong.On != EvEnded {
		t.Errorf("the end of a team that goes on: %v", err)
	}
	if err := l.moved(Leading, EvOpened, journal.Record{}); err != nil {
		t.Error(err)
	}
}
