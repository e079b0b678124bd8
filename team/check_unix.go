//go:build unix

package team

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// foreignOwner reports the owner of a file that is not the user of this process.
func foreignOwner(info fs.FileInfo) (uid int, other bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), int(stat.Uid) != os.Geteuid()
}

// foreignDevice reports that a rename failed because the two places are not on
// one file system.
func foreignDevice(err error) bool { return errors.Is(err, syscall.EXDEV) }
