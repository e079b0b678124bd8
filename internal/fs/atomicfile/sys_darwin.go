package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

func changed(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }

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

// Ways of rename.
const (
	swapNames = unix.RENAME_SWAP
	notOver   = unix.RENAME_EXCL
)

func renameAs(from, to string, way uint) error { return unix.RenamexNp(from, to, uint32(way)) }

// syncData flushes to the medium: os.File.Sync is F_FULLFSYNC here, which is the
// only flush that means it.
func syncData(f *os.File) error {
	err := Flush(f)
	if errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}

// fineTimes reports whether the file system stamps by the clock: APFS does.
func fineTimes(dir string) bool {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return false
	}
	return unix.ByteSliceToString(st.Fstypename[:]) == "apfs"
}

const (
	clockOfAll = unix.CLOCK_UPTIME_RAW
	readOnly   = unix.MNT_RDONLY // of a file system
)

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
