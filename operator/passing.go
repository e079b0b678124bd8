package operator

import (
	"errors"
	"os"

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

// Writable tries whether STATE takes a record now.
func (s *State) Writable() error {
	f, err := os.CreateTemp(s.Dir.Path, ".probe-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4<<10))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
