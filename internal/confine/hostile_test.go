//go:build linux

package confine_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// hostileWord makes the test binary the hostile program.
const hostileWord = "hostile"

// pwned is the text that an attack prints or leaves behind when it succeeds.
const pwned = "PWNED"

// hostileOps are the operations that a shell cannot do by itself.
var hostileOps = map[string]func(a []string) error{
	"dial": func(a []string) error {
		c, err := net.DialTimeout(a[0], a[1], 5*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		line, err := bufio.NewReader(c).ReadString('\n')
		if err == nil && !strings.Contains(line, pwned) {
			err = errors.New("connection refused: somebody else answers")
		}
		return err
	},
	"exchange": func(a []string) error {
		return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
	},
	"race": func(a []string) error {
		var last error
		for range 2000 {
			_ = unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
			if err := os.WriteFile(filepath.Join(a[0], a[2]), []byte(pwned), 0o600); err != nil {
				last = err
			}
		}
		return last
	},
	"readmem": func(a []string) error {
		var pid int
		var addr uintptr
		if _, err := fmt.Sscan(a[0], &pid); err != nil {
			return err
		}
		if _, err := fmt.Sscanf(a[1], "0x%x", &addr); err != nil {
			return err
		}
		buf := make([]byte, len(pwned))
		n, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}, []unix.RemoteIovec{{Base: addr, Len: len(buf)}}, 0)
		if err == nil && string(buf[:n]) != pwned {
			err = errors.New("no such process: other memory")
		}
		return err
	},
}

func hostile(args []string) int {
	op, ok := hostileOps[args[0]]
	if !ok {
		fmt.Println("there is no", args[0])
		return 99
	}
	if err := op(args[1:]); err != nil {
		fmt.Println(args[0]+":", err)
		return 1
	}
	fmt.Println(pwned)
	return 0
}
