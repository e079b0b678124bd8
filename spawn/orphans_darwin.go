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

// environAt reads the environment a process was started with, none when it may not
// be read.
func environAt(s stat) ([]string, error) {
	b, err := unix.SysctlRaw("kern.procargs2", s.pid)
	if err != nil {
		return nil, nil // ended meanwhile, or the system keeps it to itself
	}
	_, env := procStrings(b)
	return env, nil
}

// Argv is what a process runs, as it says itself; none when that cannot be read.
func Argv(pid int) []string {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil
	}
	argv, _ := procStrings(b)
	return argv
}

// procStrings reads an answer of KERN_PROCARGS2: the number of arguments, the program's
// path, zeros up to a word, the arguments, the environment, each with a zero behind it.
func procStrings(b []byte) (argv, env []string) {
	if len(b) < 4 {
		return nil, nil
	}
	argc := int(int32(binary.NativeEndian.Uint32(b)))
	path := bytes.IndexByte(b[4:], 0)
	if path < 0 {
		return nil, nil
	}
	rest := bytes.TrimLeft(b[4+path:], "\x00")
	for n := 0; len(rest) > 0; n++ {
		one, more, _ := bytes.Cut(rest, []byte{0})
		rest = more
		if n < argc {
			argv = append(argv, string(one))
			continue
		}
		if len(one) == 0 {
			break
		}
		env = append(env, string(one))
	}
	return argv, env
}

// owner reads the real user of a process.
func owner(pid int) (uint32, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, ErrGone // what readStat makes of it, too
	}
	return k.Eproc.Pcred.P_ruid, nil
}
