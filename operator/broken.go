package operator

import (
	"errors"

	"waggle"
	"waggle/journal"
)

// Broken reports an error after which a journal can be read and not appended to.
func Broken(err error) bool {
	var b *journal.BrokenError
	return errors.As(err, &b)
}

// Unreadable returns the error of a command that cannot run while a journal is broken, with the
// commands that can.
func Unreadable(op string, name waggle.TeamName, err error) error {
	return &Error{Kind: Failed, Op: op, Err: err, Next: Next{Step: NextAcknowledge, Team: name}}
}
