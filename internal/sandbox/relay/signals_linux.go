package relay

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lastSignal is the largest number of a signal.
const lastSignal = 64

// defaultSignals gives every signal its default action in place of the Go runtime's handler. The kernel
// gives the first process of a pid namespace no signal of another process in it whose action is the
// default one, SIGKILL and SIGSTOP among them, also by the number of one of its threads. So the command
// cannot end the relay or stop it. A fault of the relay itself ends it still.
func defaultSignals() error {
	// struct sigaction of the kernel, which is 32 bytes long at most: SIG_DFL, no flags, no mask.
	var action [4]uint64
	for sig := 1; sig <= lastSignal; sig++ {
		if sig == int(unix.SIGKILL) || sig == int(unix.SIGSTOP) {
			continue
		}
		const maskSize = 8
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, maskSize, 0, 0); errno != 0 {
			return fmt.Errorf("signal %d: %w", sig, errno)
		}
	}
	return nil
}
