package relay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// confine removes the rights that the namespaces leave, irrevocably: the calling thread, and its
// children, write only to the paths of the configuration, and make no system call that the filter
// refuses.
func confine(c Config) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("refuse new privileges: %w", err)
	}
	if err := restrict(c); err != nil {
		return fmt.Errorf("enter a Landlock domain: %w", err)
	}
	if err := filterCalls(c.UnixSockets); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}

// LandlockABI is the version of Landlock that this kernel has, 0 for none.
func LandlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// Rights of Landlock, each with the version that introduced it.
const (
	readFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	readDir   = unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	truncate  = unix.LANDLOCK_ACCESS_FS_TRUNCATE     // 3
	ioctlDev  = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV    // 5
	resolve   = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX // 9: connect to a Unix socket by its path
	refer     = unix.LANDLOCK_ACCESS_FS_REFER        // 2
	makeAny   = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM

	ofFiles = readFile | writeFile | truncate | ioctlDev // rights that a rule for a file may have
)

// handled are the rights that a version of Landlock can restrict.
func handled(abi int) uint64 {
	rights := uint64(readFile | readDir | writeFile | makeAny)
	for _, r := range []struct {
		since int
		right uint64
	}{{2, refer}, {3, truncate}, {5, ioctlDev}, {9, resolve}} {
		if abi >= r.since {
			rights |= r.right
		}
	}
	return rights
}

// rule permits rights on a file, or below a directory.
type rule struct {
	path   string
	rights uint64
	plain  bool // a link on the way is not followed: the member may have put it there
}

// devices are the writable files in /dev.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// terminals are the paths of new pseudo-terminals.
var terminals = []string{"/dev/ptmx", "/dev/pts"}

// rules are the permissions of the configuration, on a kernel that handles these rights.
func (c Config) rules(all uint64) []rule {
	write := all &^ (ioctlDev | resolve)
	var rules []rule
	add := func(rights uint64, plain bool, paths ...string) {
		for _, path := range paths {
			rules = append(rules, rule{path, rights, plain})
		}
	}
	add(write|ioctlDev, false, devices...)
	add(write, true, c.Writable...)
	if c.Readable == nil {
		add(write|ioctlDev, false, terminals...) // otherwise /dev is the machine's, with the user's terminals
		add(readFile|readDir, false, "/")
		return rules
	}
	// Directories can be listed everywhere, contents read only where the configuration permits it.
	add(readDir, false, "/")
	add(readFile|readDir, true, c.Readable...)
	return rules
}

// restrict sets a Landlock domain for the calling thread, which is locked, and for what it starts.
// The other threads of the relay get no domain: a domain of their own would prevent them from
// signalling the command. The first thread is one of those (see apart), so the command cannot signal
// the relay by the number of its process. It can by the number of this thread, which ends the relay and
// the command with it, except where the relay is process 1 (see defaultSignals).
func restrict(c Config) error {
	abi := LandlockABI()
	if abi == 0 {
		if c.Landlock {
			return errors.New("this kernel has none, or it is not enabled at boot (lsm=landlock,…)")
		}
		return nil
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(abi)}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("make a set of rules: %w", errno)
	}
	defer unix.Close(int(set))
	for _, r := range c.rules(attr.Handled_access_fs) {
		if err := r.add(int(set), attr.Handled_access_fs); err != nil {
			return fmt.Errorf("%s: %w", r.path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return fmt.Errorf("enter the domain: %w", errno)
	}
	return nil
}

// add puts the rule into a set. A path that does not exist needs no rule.
func (r rule) add(set int, all uint64) error {
	open := func(path string) (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) }
	if r.plain {
		open = openPlain
	}
	fd, err := open(r.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), r.path)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return unix.ELOOP
	}
	rights := r.rights & all
	if !info.IsDir() {
		rights &= ofFiles
	}
	if rights == 0 {
		return nil
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
