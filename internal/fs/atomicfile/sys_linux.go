package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func identityOf(fi fs.FileInfo) Identity {
	id := Identity{size: fi.Size(), mtime: fi.ModTime().UnixNano()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		id.ino = st.Ino
		id.ctime = st.Ctim.Nano()
	}
	return id
}

func statDir(path string) (dirStat, error) {
	var st unix.Statx_t
	const want = unix.STATX_TYPE | unix.STATX_MODE | unix.STATX_INO | unix.STATX_MTIME | unix.STATX_BTIME
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, want, &st)
	if err != nil {
		return dirStat{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	d := dirStat{ino: st.Ino, mtime: st.Mtime.Sec*1e9 + int64(st.Mtime.Nsec), mode: fs.FileMode(st.Mode & 0o777)}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		d.mode |= fs.ModeDir
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		d.btime = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return d, nil
}

func exchange(a, b string) error {
	if err := Failing(OpRename, b); err != nil {
		return err
	}
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

func renameNoReplace(from, to string) error {
	if err := Failing(OpRename, to); err != nil {
		return err
	}
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return nil
	case unsupported(err):
		return linkNoReplace(from, to)
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}

func syncData(f *os.File) error {
	if err := Failing(OpSync, f.Name()); err != nil {
		return err
	}
	return unix.Fdatasync(int(f.Fd()))
}

// hasWriter reports whether some program has f's file open for writing: the
// kernel refuses a read lease then, and only then. Where leases are not to be
// had (another owner, a network file system) the answer is no.
func hasWriter(f *os.File) bool {
	fd := f.Fd()
	_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, unix.EAGAIN)
}

// fineTimes reports whether every change of a file gets its own time once the
// one before was looked at (multigrain timestamps, Linux 6.13).
func fineTimes(dir string) bool {
	if !multigrain() {
		return false
	}
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}

var multigrain = sync.OnceValue(func() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var major, minor int
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); n != 2 {
		return false
	}
	return major > 6 || major == 6 && minor >= 13
})

// monotonic is the time since boot without sleep. shared says that it is one clock for all processes.
func monotonic() (now time.Duration, shared bool) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano()), err == nil
}

// bootID names this run of the kernel.
var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "-"
	}
	return strings.TrimSpace(string(b))
})

// procStart returns when a process started, in kernel ticks since boot.
func procStart(pid int) (uint64, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// The second field is the name in brackets and may contain anything.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 20 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(fields[19]), 10, 64)
	return n, err == nil
}

// flockHolder returns the process that holds a flock on path, 0 when unknown.
func flockHolder(path string) int {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0
	}
	b, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0
	}
	where := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino)
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) > 5 && f[1] == "FLOCK" && f[5] == where {
			pid, _ := strconv.Atoi(f[4])
			return pid
		}
	}
	return 0
}
