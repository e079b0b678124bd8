//go:build !linux && !darwin && !windows

package atomicfile

import (
	"io/fs"
	"os"
	"time"
)

func busy(error) bool { return false }

// statDir returns only the modification time here, so that an abandoned lock directory of ours is
// taken over only after the stale time.
func statDir(path string) (dirStat, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return dirStat{}, err
	}
	return dirStat{ino: 1, mtime: fi.ModTime().UnixNano(), mode: fi.Mode() & (fs.ModeDir | fs.ModePerm)}, nil
}

var began = time.Now()

// monotonic is the time since this process began. shared says that it is one clock for all processes.
func monotonic() (now time.Duration, shared bool) { return time.Since(began), false }

func procStart(int) (uint64, bool) { return 0, false }
