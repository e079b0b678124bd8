package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

func busy(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) ||
		errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}

// statDir identifies a directory by its file index, which NTFS never gives twice.
func statDir(path string) (dirStat, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return dirStat{}, err
	}
	d := dirStat{mtime: fi.ModTime().UnixNano(), mode: fi.Mode() & (fs.ModeDir | fs.ModePerm)}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return dirStat{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	h, err := windows.CreateFile(name, 0,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil,
		windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return dirStat{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	defer windows.CloseHandle(h)
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &info); err != nil {
		return dirStat{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	d.ino = uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow)
	d.btime = info.CreationTime.Nanoseconds()
	return d, nil
}

// monotonic is the time since boot. shared says that it is one clock for all processes.
func monotonic() (now time.Duration, shared bool) { return windows.DurationSinceBoot(), true }

// procStart returns when a process started, in nanoseconds since 1970.
func procStart(pid int) (uint64, bool) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return 0, false
	}
	defer windows.CloseHandle(h)
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return 0, false
	}
	return uint64(created.Nanoseconds()), true
}
