package atomicfile

import (
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Identity identifies one state of a file without its content: it is equal while the file was
// neither replaced nor written to. Identities are compared with ==. The zero Identity equals that
// of no file.
type Identity struct {
	ino   uint64
	size  int64
	mtime int64 // Unix nanoseconds
	ctime int64 // Unix nanoseconds; 0 where the system has none
}

// coarse is the time between two changes after which their times surely differ, on a file system
// that stamps by the kernel's tick (at most 10 ms) and not by the clock.
const coarse = 20 * time.Millisecond

// Identify returns the identity of path: one lstat, no lock, no read. It fails
// with fs.ErrNotExist or ErrNotRegular.
func Identify(path string) (Identity, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return Identity{}, err
	}
	if err := regular(path, fi.Mode()); err != nil {
		return Identity{}, err
	}
	return identityOf(fi), nil
}

// sameContent compares without ctime, which an exchange of names changes.
func (id Identity) sameContent(other Identity) bool {
	id.ctime, other.ctime = 0, 0
	return id == other
}

// doubtful reports whether a further change within the kernel's tick could leave
// the identity as it is.
func (id Identity) doubtful(now time.Time, fine bool) bool {
	return !fine && now.UnixNano()-max(id.mtime, id.ctime) < int64(coarse)
}

func regular(path string, mode fs.FileMode) error {
	if mode.IsRegular() {
		return nil
	}
	return fmt.Errorf("%s is %s, %w", path, KindOf(mode), ErrNotRegular)
}

// dirStat is what is known of a lock directory.
type dirStat struct {
	ino   uint64
	btime int64 // birth, Unix nanoseconds; 0 where unknown
	mtime int64
	mode  fs.FileMode
}

// same reports whether d and other are the same directory at a lock path. The inode is not enough:
// ext4 gives the number to the next directory at once.
func (d dirStat) same(other dirStat) bool {
	if d.ino != other.ino {
		return false
	}
	if d.btime != 0 && other.btime != 0 {
		return d.btime == other.btime
	}
	return d.mtime == other.mtime
}

// born is the time when the directory was made, 0 when it is unknown.
func (d dirStat) born() int64 {
	if d.btime != 0 {
		return d.btime
	}
	return d.mtime
}
