package operator

import (
	"errors"

	"waggle/internal/atomicfile"
	"waggle/journal"
	"waggle/poll"
)

// Passing reports an error that ends no leader: a lock that somebody holds, a disk that
// is full, a record that contradicts the others and was not written, a journal that is
// broken and may be put back. The next pass tries again from what is on disk, and nothing
// is decided meanwhile.
func Passing(err error) bool {
	var locked *atomicfile.LockedError
	var draft *journal.DraftError
	switch b, ok := errors.AsType[*journal.BrokenError](err); {
	case ok:
		return b.Journal == journal.Leader && !b.Gone
	case err == nil || poll.Final(err):
		return false
	case errors.As(err, &locked), errors.As(err, &draft):
		return true
	}
	return poll.Lack(err) != nil
}

// Unpassing leaves out an error that passes.
func Unpassing(err error) error {
	if Passing(err) {
		return nil
	}
	return err
}

// Room tells why STATE takes no record now, as the file system says it. It writes nothing.
func (s *State) Room() error { return atomicfile.Room(s.Dir.Path) }
