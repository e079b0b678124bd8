package atomicfile

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// A turn is a place in the line of processes that wait for a flock: a lock of one byte of the same
// file, whose offset is the number of the place. The kernel releases it when the process ends, so
// dead processes have no place. The file's first bytes hold the number that is tried next; two
// processes that read it at once take the next free ones.
type turn struct {
	f *os.File
	n int64
}

// lineUp takes a place at the end of the line. It returns nil when the system has no such locks.
func lineUp(path string) *turn {
	f, err := os.OpenFile(path, os.O_RDWR|openFlags, 0)
	if err != nil {
		return nil
	}
	t := &turn{f: f, n: nextTurn(f)}
	for range 1 << 16 {
		l := t.byte(t.n, 1)
		switch err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &l); {
		case err == nil:
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], uint64(t.n+1))
			_, _ = f.WriteAt(b[:], 0) // without it the next one looks longer
			return t
		case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES):
			f.Close()
			return nil
		}
		t.n++
	}
	f.Close()
	return nil
}

func nextTurn(f *os.File) int64 {
	var b [8]byte
	if _, err := f.ReadAt(b[:], 0); err != nil && err != io.EOF {
		return 1
	}
	if n := binary.LittleEndian.Uint64(b[:]); n < math.MaxInt64/2 {
		return max(1, int64(n))
	}
	return 1
}

func (t *turn) byte(at, length int64) unix.Flock_t {
	return unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: at, Len: length}
}

// ahead is the number of one who waits and came before, 0 when there is none, or no line.
func (t *turn) ahead() int64 {
	if t == nil || t.n <= 1 {
		return 0
	}
	l := t.byte(1, t.n-1)
	if err := unix.FcntlFlock(t.f.Fd(), unix.F_OFD_GETLK, &l); err != nil || l.Type == unix.F_UNLCK {
		return 0
	}
	return max(1, l.Start)
}

// leave gives the place up.
func (t *turn) leave() {
	if t != nil {
		t.f.Close()
	}
}

// lined reports whether a process waits for the flock of path.
func lined(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR|openFlags, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return (&turn{f: f, n: math.MaxInt64 / 2}).ahead() > 0
}
