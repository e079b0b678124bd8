package operator

import (
	"errors"

	"waggle"
	"waggle/journal"
)

// Broken reports an error after which a journal is only good for looking at.
func Broken(err error) bool {
	var b *journal.BrokenError
	return errors.As(err, &b)
}

// Unreadable explains a command that needs a journal which is broken: the step is what
// works then.
func Unreadable(op string, name waggle.TeamName, err error) error {
	return &Error{Kind: Failed, Op: op, Err: err, Next: Next{Step: NextAcknowledge, Team: name}}
}
