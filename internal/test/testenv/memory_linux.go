package testenv

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// shared is a file system in memory, which most systems have.
const shared = "/dev/shm"

// room is the free space that the files of a test run may need there.
const room = 4 << 30

// Tests make and remove many small files, which costs more on a disk than the tests themselves. So the
// temporary directory of a test program is in memory where that is possible. It is the usual one where
// the files are the subject: in the full run and after OnDisk; and a TMPDIR
// that is set stays.
func init() {
	if !testing.Testing() || !slices.ContainsFunc(os.Args[1:], func(a string) bool { return strings.HasPrefix(a, "-test.") }) {
		return // a program that a test starts has the TMPDIR that its test gives it
	}
	if _, set := os.LookupEnv("TMPDIR"); !set && !Full() && holds(shared, room) && os.Setenv("TMPDIR", shared) == nil {
		moved = true
	}
}

// holds reports whether a directory is one of tmpfs with so many bytes free, in which this user may make
// files and run them.
func holds(dir string, free uint64) bool {
	const (
		tmpfs    = 0x01021994
		readonly = 0x1
		noexec   = 0x8
		write    = 0x2
	)
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Type != tmpfs || fs.Flags&(readonly|noexec) != 0 {
		return false
	}
	return fs.Bavail*uint64(fs.Bsize) >= free && syscall.Access(dir, write) == nil
}
