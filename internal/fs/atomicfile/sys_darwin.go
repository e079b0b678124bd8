package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func identityOf(fi fs.FileInfo) Identity {
	id := Identity{size: fi.Size(), mtime: fi.ModTime().UnixNano()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		id.ino = st.Ino
		id.ctime = st.Ctimespec.Nano()
	}
	return id
}

func statDir(path string) (dirStat, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return dirStat{}, err
	}
	d := dirStat{mtime: fi.ModTime().UnixNano(), mode: fi.Mode() & (fs.ModeDir | fs.ModePerm)}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		d.ino = st.Ino
		d.btime = st.Birthtimespec.Nano()
	}
	return d, nil
}

func exchange(a, b string) error {
	if err := unix.RenamexNp(a, b, unix.RENAME_SWAP); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

func renameNoReplace(from, to string) error {
	err := unix.RenamexNp(from, to, unix.RENAME_EXCL)
	switch {
	case err == nil:
		return nil
	case unsupported(err):
		return linkNoReplace(from, to)
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}

// syncData flushes to the medium: os.File.Sync is F_FULLFSYNC here, which is the
// only flush that means it.
func syncData(f *os.File) error {
	err := Flush(f)
	if errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}

// hasWriter cannot be answered here: there are no leases.
func hasWriter(*os.File) bool { return false }

// fineTimes reports whether the file system stamps by the clock: APFS does.
func fineTimes(dir string) bool {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return false
	}
	return unix.ByteSliceToString(st.Fstypename[:]) == "apfs"
}

// monotonic is the time since boot without sleep. shared says that it is one clock for all processes.
func monotonic() (now time.Duration, shared bool) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_UPTIME_RAW, &ts)
	return time.Duration(ts.Nano()), err == nil
}

// bootID names this run of the kernel.
var bootID = sync.OnceValue(func() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil || id == "" {
		return "-"
	}
	return id
})

// procStart returns when a process started, in microseconds since 1970.
func procStart(pid int) (uint64, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return 0, false
	}
	return uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec), true
}

// flockHolder cannot be answered here.
func flockHolder(string) int { return 0 }
