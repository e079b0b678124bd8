//go:build !linux && !darwin

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// recordOffset is the offset of the holder's record in the flock file: behind the first bytes,
// which other processes cannot read while a Windows lock is held.
const recordOffset = 64

// openFlags has no equivalent here.
const openFlags = 0

// openRead opens a regular file for reading. A symbolic link is refused by a look
// beforehand, as the open itself cannot.
func openRead(path string) (*os.File, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(path, fi.Mode()); err != nil {
		return nil, err
	}
	return retry(func() (*os.File, error) { return os.Open(path) })
}

func unsupported(err error) bool { return errors.Is(err, errors.ErrUnsupported) }

func noFlock(err error) bool {
	return unsupported(err) || runtime.GOOS != "windows" && errors.Is(err, fs.ErrPermission)
}

func keepOwner(*os.File, fs.FileInfo) {}

// syncDir has no equivalent here.
func syncDir(string) error { return nil }

func syncData(f *os.File) error { return Flush(f) }

// patiently calls op until nothing is busy.
func patiently(op func() error) error {
	_, err := retry(func() (struct{}, error) { return struct{}{}, op() })
	return err
}

// retry repeats what a sharing violation or a pending deletion refused: both
// look like a missing permission, and both pass.
func retry[T any](op func() (T, error)) (T, error) {
	delay := time.Millisecond
	for try := 0; ; try++ {
		v, err := op()
		if err == nil || try == 10 || !busy(err) {
			return v, err
		}
		time.Sleep(delay)
		delay = min(2*delay, 50*time.Millisecond)
	}
}

func exchange(a, b string) error {
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: errors.ErrUnsupported}
}

func renameNoReplace(from, to string) error { return linkNoReplace(from, to) }

func identityOf(fi fs.FileInfo) Identity {
	return Identity{ino: 1, size: fi.Size(), mtime: fi.ModTime().UnixNano()}
}

// fineTimes: the clock that stamps files here advances in steps of up to 16 ms.
func fineTimes(string) bool { return false }

func bootID() string { return "-" }

// lockDirectory excludes nobody here.
func lockDirectory(string) (unlock func(), err error) { return func() {}, nil }

// chmodFile has no equivalent here that follows no link.
func chmodFile(string, uint32) error { return errors.ErrUnsupported }

// Room always returns nil here: free space is not checked, and a later write reports a full disk.
func Room(string) error { return nil }
