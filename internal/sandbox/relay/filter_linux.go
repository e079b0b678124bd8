package relay

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A call is one rule of the filter: the system call fails with errno, if its argument matches the
// test. The filter compares the lower 32 bits of an argument, which the kernel reads of an int and
// of flags.
type call struct {
	nr    uint32
	errno uint32
	arg   int
	test  test
	vals  []uint32
}

type test int

const (
	always test = iota
	notIn       // the argument is none of vals
	equals      // the argument is vals[0]
	masked      // the argument has a bit of vals[0]
)

// namespaces are the flags of clone and unshare that make namespaces.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// refusedCalls are refused with any arguments.
var refusedCalls = []uint32{
	// the memory and the descriptors of other processes
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	// asynchronous calls, which a filter does not check
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// keys, which belong to the user and to no namespace
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// mounts and namespaces
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS, unix.SYS_CHROOT,
	// files by handle, without a path to check
	unix.SYS_OPEN_BY_HANDLE_AT,
	// the kernel's own
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_KEXEC_LOAD, unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME, unix.SYS_FANOTIFY_INIT,
}

// callRules is the filter as a list.
func callRules(unixSockets bool) []call {
	var rules []call
	for _, nr := range refusedCalls {
		rules = append(rules, call{nr: nr, errno: uint32(unix.EPERM)})
	}
	families := []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	if unixSockets {
		families = append(families, unix.AF_UNIX)
	} else {
		// A datagram socket of a pair may be connected to any other path.
		rules = append(rules, call{nr: unix.SYS_SOCKETPAIR, errno: uint32(unix.EPERM), arg: 1, test: masked, vals: []uint32{unix.SOCK_DGRAM}})
	}
	return append(rules,
		call{nr: unix.SYS_SOCKET, errno: uint32(unix.EPERM), test: notIn, vals: families},
		call{nr: unix.SYS_UNSHARE, errno: uint32(unix.EPERM), test: masked, vals: []uint32{namespaces}},
		call{nr: unix.SYS_CLONE, errno: uint32(unix.EPERM), test: masked, vals: []uint32{namespaces &^ unix.CLONE_NEWTIME}},
		// A filter cannot read its flags, which are in memory: callers fall back on clone.
		call{nr: unix.SYS_CLONE3, errno: uint32(unix.ENOSYS)},
		call{nr: unix.SYS_IOCTL, errno: uint32(unix.EPERM), arg: 1, test: equals, vals: []uint32{unix.TIOCSTI}},
		call{nr: unix.SYS_IOCTL, errno: uint32(unix.EPERM), arg: 1, test: equals, vals: []uint32{unix.TIOCLINUX}},
	)
}

// Offsets in struct seccomp_data.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// x32 is the bit in the numbers of the x32 interface of amd64.
const x32 = 0x40000000

// assemble writes the rules as a program. A call of another architecture's interface
// (32 bit programs, x32) fails: its numbers would mean something else.
func assemble(rules []call, arch uint32) []bpf.Instruction {
	fail := func(errno uint32) bpf.Instruction { return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | errno} }
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		fail(uint32(unix.ENOSYS)),
		bpf.LoadAbsolute{Off: offNr, Size: 4},
	}
	if arch == unix.AUDIT_ARCH_X86_64 {
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32, SkipFalse: 1}, fail(uint32(unix.ENOSYS)))
	}
	for _, r := range rules {
		body := append(r.match(), fail(r.errno))
		if r.test != always {
			body = append(body, bpf.LoadAbsolute{Off: offNr, Size: 4}) // load the number for the next rule
		}
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: r.nr, SkipTrue: uint8(len(body))})
		prog = append(prog, body...)
	}
	return append(prog, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
}

// match compares the argument. It continues with the next instruction if the call is refused, and
// skips it if not.
func (r call) match() []bpf.Instruction {
	if r.test == always {
		return nil
	}
	ins := []bpf.Instruction{bpf.LoadAbsolute{Off: uint32(offArgs + 8*r.arg), Size: 4}} // little endian: the lower half
	switch r.test {
	case equals:
		ins = append(ins, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: r.vals[0], SkipTrue: 1})
	case masked:
		ins = append(ins, bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: r.vals[0], SkipTrue: 1})
	case notIn:
		for i, v := range r.vals {
			ins = append(ins, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(r.vals) - i)})
		}
	}
	return ins
}

// architectures are those whose numbers and byte order the filter knows.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64}

// filterCalls sets the filter for every thread of this process. The process must have set
// no_new_privs.
func filterCalls(unixSockets bool) error {
	arch, ok := architectures[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("there is no filter for %s yet", runtime.GOARCH)
	}
	raw, err := bpf.Assemble(assemble(callRules(unixSockets), arch))
	if err != nil {
		return err
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	tid, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	switch {
	case errno != 0:
		return errno
	case tid != 0:
		return fmt.Errorf("thread %d has a filter of its own", tid)
	}
	return nil
}
