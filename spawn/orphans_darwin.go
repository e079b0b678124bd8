package spawn

import (
	"bytes"
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// ownUser reports a process of this user.
func ownUser(s stat) bool {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", s.pid)
	return err == nil && int(k.Eproc.Ucred.Uid) == os.Geteuid()
}

// sameNamespace is true: there is one.
func sameNamespace(int) bool { return true }

// environAt reads the environment a process was started with, none when it may not
// be read.
func environAt(s stat) ([]string, error) {
	b, err := unix.SysctlRaw("kern.procargs2", s.pid)
	if err != nil {
		return nil, nil // ended meanwhile, or the system keeps it to itself
	}
	return procEnviron(b), nil
}

// procEnviron finds the environment in an answer of KERN_PROCARGS2: the number of
// arguments, the program's path, zeros up to a word, the arguments, the environment,
// each with a zero behind it.
func procEnviron(b []byte) []string {
	if len(b) < 4 {
		return nil
	}
	argc := int(int32(binary.NativeEndian.Uint32(b)))
	path := bytes.IndexByte(b[4:], 0)
	if path < 0 {
		return nil
	}
	rest := bytes.TrimLeft(b[4+path:], "\x00")
	var env []string
	for n := 0; len(rest) > 0; n++ {
		one, more, _ := bytes.Cut(rest, []byte{0})
		rest = more
		if n < argc {
			continue
		}
		if len(one) == 0 {
			break
		}
		env = append(env, string(one))
	}
	return env
}
