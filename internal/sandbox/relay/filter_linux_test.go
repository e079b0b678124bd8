package relay

import (
	"encoding/binary"
	"testing"

	"waggle/internal/test/testenv"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The filter as the kernel reads it, in bpf's own machine. Its words are big endian
// there, which changes nothing for words of the right size.
func TestFilter(t *testing.T) {
	const allow = uint32(unix.SECCOMP_RET_ALLOW)
	refused := func(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }
	const clone3 = unix.SYS_CLONE3
	for _, tc := range []struct {
		name    string
		sockets bool
		arch    uint32
		nr      uint32
		args    [2]uint32
		want    uint32
	}{
		{"read", false, unix.AUDIT_ARCH_X86_64, unix.SYS_READ, [2]uint32{}, allow},
		{"a 32 bit program's call", false, unix.AUDIT_ARCH_I386, unix.SYS_READ, [2]uint32{}, refused(unix.ENOSYS)},
		{"another architecture's call", false, unix.AUDIT_ARCH_AARCH64, unix.SYS_READ, [2]uint32{}, refused(unix.ENOSYS)},
		{"x32", false, unix.AUDIT_ARCH_X86_64, x32 | unix.SYS_READ, [2]uint32{}, refused(unix.ENOSYS)},
		{"x32's socket", false, unix.AUDIT_ARCH_X86_64, x32 | unix.SYS_SOCKET, [2]uint32{unix.AF_UNIX}, refused(unix.ENOSYS)},
		{"a Unix socket", false, unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKET, [2]uint32{unix.AF_UNIX, unix.SOCK_STREAM}, refused(unix.EPERM)},
		{"a Unix socket, granted", true, unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKET, [2]uint32{unix.AF_UNIX, unix.SOCK_STREAM}, allow},
		{"TCP", false, unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKET, [2]uint32{unix.AF_INET6, unix.SOCK_STREAM}, allow},
		{"packets", true, unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKET, [2]uint32{unix.AF_PACKET, unix.SOCK_RAW}, refused(unix.EPERM)},
		{"vsock", true, unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKET, [2]uint32{unix.AF_VSOCK, unix.SOCK_STREAM}, refused(unix.EPERM)},
		{"a pair of streams", false, unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKETPAIR, [2]uint32{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, allow},
		{"a pair of packets", false, unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKETPAIR, [2]uint32{unix.AF_UNIX, unix.SOCK_SEQPACKET | unix.SOCK_NONBLOCK}, allow},
		{"a pair of datagrams", false, unix.AUDIT_ARCH_X86_64, unix.SYS_SOCKETPAIR, [2]uint32{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}, refused(unix.EPERM)},
		{"a fork", false, unix.AUDIT_ARCH_X86_64, unix.SYS_CLONE, [2]uint32{uint32(unix.SIGCHLD)}, allow},
		{"a fork into a namespace", false, unix.AUDIT_ARCH_X86_64, unix.SYS_CLONE, [2]uint32{uint32(unix.SIGCHLD) | unix.CLONE_NEWUSER}, refused(unix.EPERM)},
		{"clone3", false, unix.AUDIT_ARCH_X86_64, clone3, [2]uint32{}, refused(unix.ENOSYS)},
		{"unshare of files", false, unix.AUDIT_ARCH_X86_64, unix.SYS_UNSHARE, [2]uint32{unix.CLONE_FILES}, allow},
		{"unshare", false, unix.AUDIT_ARCH_X86_64, unix.SYS_UNSHARE, [2]uint32{unix.CLONE_NEWNS}, refused(unix.EPERM)},
		{"a terminal's size", false, unix.AUDIT_ARCH_X86_64, unix.SYS_IOCTL, [2]uint32{0, unix.TIOCGWINSZ}, allow},
		{"TIOCSTI", true, unix.AUDIT_ARCH_X86_64, unix.SYS_IOCTL, [2]uint32{0, unix.TIOCSTI}, refused(unix.EPERM)},
		{"TIOCLINUX", true, unix.AUDIT_ARCH_X86_64, unix.SYS_IOCTL, [2]uint32{0, unix.TIOCLINUX}, refused(unix.EPERM)},
		{"io_uring", true, unix.AUDIT_ARCH_X86_64, unix.SYS_IO_URING_SETUP, [2]uint32{}, refused(unix.EPERM)},
		{"keys", true, unix.AUDIT_ARCH_X86_64, unix.SYS_KEYCTL, [2]uint32{}, refused(unix.EPERM)},
	} {
		vm, err := bpf.NewVM(assemble(callRules(tc.sockets), unix.AUDIT_ARCH_X86_64))
		testenv.Must(t, err)
		data := make([]byte, 64)
		binary.BigEndian.PutUint32(data[offNr:], tc.nr)
		binary.BigEndian.PutUint32(data[offArch:], tc.arch)
		for i, a := range tc.args {
			binary.BigEndian.PutUint32(data[offArgs+8*i:], a)
		}
		got, err := vm.Run(data)
		if err != nil || uint32(got) != tc.want {
			t.Errorf("%s: %#x %v, want %#x", tc.name, got, err, tc.want)
		}
	}
}
