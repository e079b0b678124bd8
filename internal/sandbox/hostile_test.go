//go:build linux

package sandbox_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hostileWord makes the test binary the hostile program.
const hostileWord = "hostile"

// pwned is the text that a hostile program prints when it succeeds.
const pwned = "PWNED"

// hostileOps are the operations of the hostile program. Each returns an error when it did not succeed.
var hostileOps = map[string]func(a []string) error{
	"dial":     func(a []string) error { return dialAndRead(a[0], a[1]) },
	"udp":      func(a []string) error { return sendUDP(a[0]) },
	"fetch":    func(a []string) error { return fetch(a[0]) },
	"tunnel":   func(a []string) error { return tunnel("CONNECT " + a[0] + " HTTP/1.1\r\nHost: " + a[0] + "\r\n\r\n") },
	"raw":      func(a []string) error { return raw(a[0]) },
	"socks":    socks,
	"dgram":    dgram,
	"pair":     redirectPair,
	"family":   family,
	"ptrace":   attach,
	"readmem":  readMemory,
	"writemem": func(a []string) error { return os.WriteFile("/proc/"+a[0]+"/mem", nil, 0) },
	"stealfd":  stealFD,
	"iouring":  ioUring,
	"keyring":  keyring,
	"unshare":  func(a []string) error { return unix.Unshare(namespace(a[0])) },
	"setns":    setns,
	"mount":    func(a []string) error { return unix.Mount(a[0], a[1], "", unix.MS_BIND, "") },
	"umount":   func(a []string) error { return unix.Unmount(a[0], unix.MNT_DETACH) },
	"chroot":   func(a []string) error { return unix.Chroot(a[0]) },
	"handle":   byHandle,
	"bpf": func([]string) error {
		// An array of one entry: type, size of a key, size of a value, entries.
		attr := [32]uint32{2, 4, 4, 1}
		return errnoOf(unix.Syscall(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), 72))
	},
	"perf":     perf,
	"uffd":     func([]string) error { return errnoOf(unix.Syscall(unix.SYS_USERFAULTFD, 1, 0, 0)) },
	"tiocsti":  tiocsti,
	"kill":     func(a []string) error { return unix.Kill(number(a[0]), unix.SIGTERM) },
	"shm":      sharedMemory,
	"msgq":     messageQueue,
	"hostname": func([]string) error { return unix.Sethostname([]byte("pwned")) },
	"nodes":    func(a []string) error { return readNode(a[0]) },
	"fd":       readFD,
	"race":     renameRace,
	"tmpfile":  tmpFile,
	"forks":    forks,
	"eat":      eat,
	"spin":     spin,
	"link":     func(a []string) error { return os.Link(a[0], a[1]) },
	"exchange": func(a []string) error {
		return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
	},
	"xattr":      func(a []string) error { return unix.Setxattr(a[0], "user.pwned", []byte("1"), 0) },
	"utime":      func(a []string) error { return os.Chtimes(a[0], time.Unix(1, 0), time.Unix(1, 0)) },
	"cat":        cat,
	"listen-fds": listenFDs,
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

func errnoOf(_, _ uintptr, errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

func number(s string) int { n, _ := strconv.Atoi(s); return n }

func namespace(s string) int {
	return map[string]int{"user": unix.CLONE_NEWUSER, "net": unix.CLONE_NEWNET, "mnt": unix.CLONE_NEWNS, "pid": unix.CLONE_NEWPID}[s]
}

const soon = 5 * time.Second

// greeted reads the greeting of the other end: only a server of the test says pwned.
func greeted(r io.Reader) error {
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		return fmt.Errorf("connected, then %w", err)
	}
	if !strings.Contains(line, pwned) {
		return fmt.Errorf("somebody else answered: %s", line)
	}
	return nil
}

func dialAndRead(network, addr string) error {
	c, err := net.DialTimeout(network, addr, soon)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(soon))
	return greeted(c)
}

func sendUDP(addr string) error {
	c, err := net.Dial("udp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(soon))
	if _, err := c.Write([]byte("?\n")); err != nil {
		return err
	}
	return greeted(c)
}

func proxyAddr() (string, error) {
	u, err := url.Parse(os.Getenv("HTTP_PROXY"))
	if err != nil || u.Host == "" {
		return "", errors.New("no proxy")
	}
	return u.Host, nil
}

// fetch gets a URL through the proxy that the environment names, and follows redirects.
func fetch(target string) error {
	p, err := proxyAddr()
	if err != nil {
		return err
	}
	c := http.Client{Timeout: soon, Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p})}}
	resp, err := c.Get(target)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), pwned) {
		return fmt.Errorf("%s %s %w", resp.Status, body, err)
	}
	return nil
}

func proxyConn() (net.Conn, error) {
	p, err := proxyAddr()
	if err != nil {
		return nil, err
	}
	c, err := net.DialTimeout("tcp", p, soon)
	if err == nil {
		_ = c.SetDeadline(time.Now().Add(soon))
	}
	return c, err
}

// tunnel asks the proxy for a tunnel and reads the greeting at its end.
func tunnel(head string) error {
	c, err := proxyConn()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, head); err != nil {
		return err
	}
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, &http.Request{Method: "CONNECT"})
	if err != nil {
		return err
	}
	if resp.StatusCode != 200 {
		body, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s: %s", resp.Status, body)
	}
	return greeted(r)
}

// raw sends text to the proxy and looks for the greeting in the reply.
func raw(text string) error {
	c, err := proxyConn()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, strings.NewReplacer(`\r`, "\r", `\n`, "\n").Replace(text)); err != nil {
		return err
	}
	all, err := io.ReadAll(c)
	if !strings.Contains(string(all), pwned) {
		return fmt.Errorf("%q %w", all, err)
	}
	return nil
}

// socks asks the proxy by SOCKS5: command, host, port.
func socks(a []string) error {
	c, err := proxyConn()
	if err != nil {
		return err
	}
	defer c.Close()
	port := number(a[2])
	msg := append([]byte{5, 1, 0, 5, byte(number(a[0])), 0, 3, byte(len(a[1]))}, a[1]...)
	if _, err := c.Write(append(msg, byte(port>>8), byte(port))); err != nil {
		return err
	}
	head := make([]byte, 12)
	if _, err := io.ReadFull(c, head); err != nil {
		return err
	}
	if head[3] != 0 {
		return fmt.Errorf("connection not allowed: SOCKS reply %d", head[3])
	}
	if a[0] != "1" {
		return nil
	}
	return greeted(c)
}

func dgram(a []string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fd, []byte(pwned), 0, &unix.SockaddrUnix{Name: a[0]})
}

// redirectPair sends through a datagram socket of a pair to another path.
func redirectPair(a []string) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(fds[0], []byte(pwned), 0, &unix.SockaddrUnix{Name: a[0]})
}

func family(a []string) error {
	_, err := unix.Socket(number(a[0]), number(a[1]), number(a[2]))
	return err
}

func attach(a []string) error { return unix.PtraceAttach(number(a[0])) }

func readMemory(a []string) error {
	buf := make([]byte, 8)
	addr, err := strconv.ParseUint(a[1], 0, 64)
	if err != nil {
		return err
	}
	n, err := unix.ProcessVMReadv(number(a[0]), []unix.Iovec{{Base: &buf[0], Len: 5}}, []unix.RemoteIovec{{Base: uintptr(addr), Len: 5}}, 0)
	if err == nil && string(buf[:n]) != pwned {
		err = fmt.Errorf("no such process: read %q", buf[:n])
	}
	return err
}

func stealFD(a []string) error {
	pidfd, err := unix.PidfdOpen(number(a[0]), 0)
	if err != nil {
		return err
	}
	_, err = unix.PidfdGetfd(pidfd, 0, 0)
	return err
}

func ioUring([]string) error {
	var params [120]byte
	return errnoOf(unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0))
}

func keyring(a []string) error {
	switch a[0] {
	case "add":
		_, err := unix.AddKey("user", "waggle-test", []byte(pwned), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	case "request":
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
		return err
	}
	_, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", "waggle-test", 0)
	return err
}

func setns(a []string) error {
	f, err := os.Open(a[0])
	if err != nil {
		return err
	}
	return unix.Setns(int(f.Fd()), 0)
}

func byHandle(a []string) error {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, a[0], 0)
	if err != nil {
		return err
	}
	dir, err := unix.Open(filepath.Dir(a[0]), unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	_, err = unix.OpenByHandleAt(dir, h, unix.O_RDONLY)
	return err
}

func perf([]string) error {
	_, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}, 0, -1, -1, 0)
	return err
}

// tiocsti types into a terminal that it makes its own.
func tiocsti([]string) error {
	m, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(int(m.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetUint32(int(m.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}
	s, err := os.OpenFile("/dev/pts/"+strconv.Itoa(int(n)), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	_, _ = unix.Setsid()
	if err := unix.IoctlSetInt(int(s.Fd()), unix.TIOCSCTTY, 0); err != nil {
		return err
	}
	c := byte('x')
	return errnoOf(unix.Syscall(unix.SYS_IOCTL, s.Fd(), unix.TIOCSTI, uintptr(unsafe.Pointer(&c))))
}

func sharedMemory(a []string) error {
	_, _, errno := unix.Syscall(unix.SYS_SHMGET, uintptr(number(a[0])), 0, 0)
	return errnoOf(0, 0, errno)
}

func messageQueue(a []string) error {
	_, _, errno := unix.Syscall(unix.SYS_MSGGET, uintptr(number(a[0])), 0, 0)
	return errnoOf(0, 0, errno)
}

// readNode makes a node of the disk that a file lies on, and reads it.
func readNode(dir string) error {
	path := filepath.Join(dir, "node")
	if err := unix.Mknod(path, unix.S_IFBLK|0o600, int(unix.Mkdev(253, 0))); err != nil {
		return err
	}
	return os.Remove(path)
}

// readFD reads a descriptor that it was not given.
func readFD(a []string) error {
	buf := make([]byte, 16)
	n, err := unix.Pread(number(a[0]), buf, 0)
	if err == nil && !strings.HasPrefix(string(buf[:max(n, 0)]), pwned) {
		err = fmt.Errorf("bad file descriptor: another file, %q", buf[:max(n, 0)])
	}
	return err
}

func listenFDs([]string) error {
	for fd := 3; fd < 256; fd++ {
		if v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err == nil && v == 1 {
			var st unix.Stat_t
			if unix.Fstat(fd, &st) == nil {
				return nil
			}
		}
	}
	return errors.New("bad file descriptor: none listens")
}

// renameRace swaps a directory and a link to outside while it writes.
func renameRace(a []string) error {
	work, target := a[0], a[1]
	dir, link := filepath.Join(work, "r"), filepath.Join(work, "l")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Dir(target), link); err != nil {
		return err
	}
	var last error
	for range 2000 {
		_ = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(target)), []byte(pwned), 0o600); err != nil {
			last = err
		}
	}
	if data, err := os.ReadFile(target); err == nil && string(data) == pwned {
		return nil
	}
	return fmt.Errorf("nothing came of it: %w", last)
}

func tmpFile(a []string) error {
	fd, err := unix.Open(a[0], unix.O_TMPFILE|unix.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, filepath.Join(a[0], "pwned"), unix.AT_SYMLINK_FOLLOW)
}

// forks starts processes that wait, and counts those that run.
func forks(a []string) error {
	var all []*exec.Cmd
	defer func() {
		for _, c := range all {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}()
	for range number(a[0]) {
		c := exec.Command("sleep", "60")
		if err := c.Start(); err != nil {
			return err
		}
		all = append(all, c)
	}
	return nil
}

// eat takes memory and touches it.
// eat takes so many MiB, and writes to so many of them.
func eat(a []string) error {
	data, err := unix.Mmap(-1, 0, number(a[0])<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	for i := 0; i < number(a[1])<<20; i += 4096 {
		data[i] = 1
	}
	return nil
}

// spin uses so many milliseconds of the processor.
func spin(a []string) error {
	var used unix.Rusage
	for time.Duration(used.Utime.Nano()+used.Stime.Nano()) < time.Duration(number(a[0]))*time.Millisecond {
		for range 1 << 20 { // of its own, not of the kernel's
		}
		if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
			return err
		}
	}
	return nil
}

// cat reads a file of which the first word is known.
func cat(a []string) error {
	data, err := os.ReadFile(a[0])
	if err == nil && !strings.Contains(string(data), a[1]) {
		err = fmt.Errorf("no such content: %q", data)
	}
	return err
}
