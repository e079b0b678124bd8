package control

import (
	"errors"
	"testing"

	"waggle/journal"
	"waggle/machine"
)

// TestMoved: a move of the team that its table does not have is an error.
func TestMoved(t *testing.T) {
	l := NewLeader(nil)
	l.Instance = "i"
	var wrong *machine.TransitionError
	if err := l.moved(machine.Leading, machine.EvEnded, journal.Record{}); !errors.As(err, &wrong) || wrong.From != machine.Leading || wrong.To != machine.Leading || wrong.On != machine.EvEnded {
		t.Errorf("the end of a team that goes on: %v", err)
	}
	if err := l.moved(machine.Leading, machine.EvOpened, journal.Record{}); err != nil {
		t.Error(err)
	}
}
