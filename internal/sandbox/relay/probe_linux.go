package relay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"waggle/internal/json/jsonobj"
)

// probe tests the promises of the sandbox from inside, and writes the points as JSON.
func probe(spec string, environ []string, out io.Writer) (int, error) {
	var s ProbeSpec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return CodeFailed, fmt.Errorf("the probe's specification: %w", err)
	}
	points := append(s.files(), s.network(environ)...)
	points = append(points, s.calls()...)
	points = append(points, s.surroundings(environ)...)
	data, err := jsonobj.Marshal(points)
	if err != nil {
		return CodeFailed, err
	}
	_, err = fmt.Fprintf(out, "%s\n", data)
	return 0, err
}

func (s ProbeSpec) files() []Point {
	var ps []Point
	if s.Writable != "" {
		err := tryWrite(s.Writable)
		ps = append(ps, Point{WritablePoint, err == nil, detail(err, "a file was written")})
	}
	if s.Outside != "" {
		err := tryWrite(s.Outside)
		ps = append(ps, refusal("other directories are read-only", err, "a file was written to "+s.Outside))
	}
	if s.Secret != "" {
		_, err := os.ReadFile(s.Secret)
		ps = append(ps, refusal("secrets cannot be read", err, s.Secret+" was read"))
	}
	if s.Hidden != "" {
		_, err := os.ReadFile(s.Hidden)
		ps = append(ps, refusal("waggle's own files are out of reach", err, s.Hidden+" was read"))
	}
	return ps
}

// tryWrite makes a file with a name of its own, because others may test in the same directory, and removes
// it.
func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".waggle-sandbox-test-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString("a test of the sandbox wrote this\n")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// atOnce is the time limit for a refusal.
const atOnce = 2 * time.Second

func (s ProbeSpec) network(environ []string) []Point {
	var ps []Point
	for _, target := range s.Direct {
		network, addr, _ := strings.Cut(target, " ")
		err := tryDial(network, addr)
		ps = append(ps, refusal("no way to "+addr+" ("+network+") past the proxy", err, "connected"))
	}
	if s.Denied != "" {
		ps = append(ps, tryProxy(s.Denied, environ))
	}
	return ps
}

func tryDial(network, addr string) error {
	conn, err := net.DialTimeout(network, addr, atOnce)
	if err != nil {
		return err
	}
	defer conn.Close()
	if strings.HasPrefix(network, "udp") {
		_, err = conn.Write([]byte("?"))
	}
	return err
}

// tryProxy asks the proxy for a host without a grant.
func tryProxy(host string, environ []string) Point {
	p := Point{Name: "the proxy answers, and refuses a host that is not granted"}
	proxy, err := proxyIn(environ)
	if err != nil {
		p.Detail = err.Error()
		return p
	}
	conn, err := net.DialTimeout("tcp", proxy, atOnce)
	if err != nil {
		p.Detail = err.Error()
		return p
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(atOnce))
	_, err = fmt.Fprintf(conn, "GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host, host)
	var answer []byte
	if err == nil {
		answer, err = io.ReadAll(io.LimitReader(conn, 1<<10))
	}
	line, _, _ := strings.Cut(string(answer), "\r\n")
	p.OK = strings.Contains(line, strconv.Itoa(http.StatusForbidden))
	p.Detail = detail(err, line)
	return p
}

func (s ProbeSpec) calls() []Point {
	var ps []Point
	if !s.Sockets {
		_, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		ps = append(ps, refusal("no Unix sockets", err, "one was opened"))
	}
	var params [120]byte
	_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	ps = append(ps, refusedCall("no io_uring", errno))
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, false)
	ps = append(ps, refusal("no keyrings", err, "the user's keyring answered"))
	_, _, errno = unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0, 0, 0, 0)
	ps = append(ps, refusedCall("no ptrace", errno))
	ps = append(ps, refusal("no new namespaces", unix.Unshare(unix.CLONE_NEWUSER), "a user namespace was made"))
	letter := byte('x')
	_, _, errno = unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&letter)))
	return append(ps, Point{"no typing into terminals (TIOCSTI)", errno == unix.EPERM, errno.Error()})
}

func (s ProbeSpec) surroundings(environ []string) []Point {
	var ps []Point
	if s.PID > 0 {
		// A pid namespace numbers its processes from 1, and there are few processes inside.
		_, err := os.Stat("/proc/" + strconv.Itoa(s.PID))
		ps = append(ps, refusal("processes outside cannot be seen", err, "one is seen"))
	}
	for _, name := range s.Env {
		p := Point{"the variable " + name + " stays outside", true, "it is not in the environment"}
		if slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			p.OK, p.Detail = false, "it is in the environment"
		}
		ps = append(ps, p)
	}
	abi := LandlockABI()
	return append(ps, Point{"Landlock stands behind the rest", abi > 0, "version " + strconv.Itoa(abi)})
}

func detail(err error, otherwise string) string {
	if err != nil {
		return err.Error()
	}
	return otherwise
}

// refusal is a point that passes when the operation failed.
func refusal(name string, err error, succeeded string) Point {
	return Point{name, err != nil, detail(err, succeeded)}
}

func refusedCall(name string, errno unix.Errno) Point {
	var err error
	if errno != 0 {
		err = errno
	}
	return Point{name, errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS), detail(err, "the call was made")}
}
