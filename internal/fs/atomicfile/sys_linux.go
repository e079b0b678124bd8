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

	"golang.org/x/sys/unix"
)

func changed(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

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

// Ways of rename.
const (
	swapNames = unix.RENAME_EXCHANGE
	notOver   = unix.RENAME_NOREPLACE
)

func renameAs(from, to string, way uint) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, way)
}

func syncData(f *os.File) error {
	return unless(OpSync, f.Name(), func() error { return unix.Fdatasync(int(f.Fd())) })
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

const (
	clockOfAll = unix.CLOCK_MONOTONIC
	readOnly   = unix.ST_RDONLY // of a file system
)

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

// Holder is the pid of the process that holds the flock on path, 0 when it is unknown.
func Holder(path string) int {
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
