package operator

import (
	"errors"
	"fmt"

	"waggle"
	"waggle/journal"
)

// Broken reports an error after which a journal is only good for looking at.
func Broken(err error) bool {
	var b *journal.BrokenError
	return errors.As(err, &b)
}

// Unreadable explains a command that needs a journal which is broken: the hints are the
// commands that work then.
func Unreadable(op string, name waggle.TeamName, err error) error {
	return &Error{Kind: Failed, Op: op, Err: err, Hint: "waggle audit verify " + string(name) + " names the line; " + WaysOn(string(name))}
}

// WaysOn names what a person can do about a leader's journal that is broken, apart from
// putting it back.
func WaysOn(team string) string {
	return fmt.Sprintf("waggle audit acknowledge --team %s shows what is lost and lets the team go on without it; waggle down --force %s ends what runs and frees the name", team, team)
}
