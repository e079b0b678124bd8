package operator

import (
	"errors"

	"waggle/internal/fs/atomicfile"
	"waggle/journal"
	"waggle/poll"
)

// Passing reports an error after which a leader retries instead of ending: a lock that another
// process holds, a full disk, a record that contradicts the others and was not written, a journal
// that is broken and may be repaired. The next pass starts again from what is on disk, and nothing
// is decided meanwhile.
func Passing(err error) bool {
	switch b, ok := errors.AsType[*journal.BrokenError](err); {
	case ok:
		return b.Journal == journal.Leader && !b.Gone
	case err == nil || poll.Final(err):
		return false
	case is[*atomicfile.LockedError](err), is[*journal.DraftError](err):
		return true
	}
	return poll.Lack(err) != nil
}

// Unpassing removes the passing errors from an error.
func Unpassing(err error) error {
	if Passing(err) {
		return nil
	}
	return err
}

// Room returns the reason why STATE takes no record now, as the file system reports it. It writes
// nothing.
func (s *State) Room() error { return atomicfile.Room(s.Dir.Path) }

// MoreDescriptors is what to do when a process may not open more files.
const MoreDescriptors = "a process here may have too few files open (ulimit -n): allow more, for example ulimit -n 256"
