package relay

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"waggle/spawn"
)

// run completes the sandbox of this process, then runs the command in it.
func run(c Config, environ []string) (code int, err error) {
	apart(func() { code, err = runApart(c, environ) })
	return code, err
}

// apart calls f on a thread of its own that is not the first of this process. The first thread has
// the number of the process: a Landlock domain that f enters does not hold it, so that a command in that
// domain cannot signal the process by its number.
func apart(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // see supervise
		if unix.Gettid() == unix.Getpid() {
			apart(f) // on another thread, because this one is kept until f returns
			return
		}
		f()
	}()
	<-done
}

func runApart(c Config, environ []string) (int, error) {
	if unix.Getpid() == 1 {
		if err := defaultSignals(); err != nil {
			return CodeFailed, fmt.Errorf("make the relay deaf to signals: %w", err)
		}
	}
	// No other process may read this one's memory or take its descriptors; exec resets this for the
	// command.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return CodeFailed, fmt.Errorf("make the relay unreadable: %w", err)
	}
	d, err := knock(c)
	if err != nil {
		return CodeFailed, err
	}
	if err := checkMounts(c.Mounts); err != nil {
		return CodeChanged, d.unstarted(CodeChanged, err)
	}
	path, err := spawn.LookPath(c.Argv[0], environ)
	if err != nil {
		return CodeNotFound, d.unstarted(CodeNotFound, err)
	}
	if err := closeInherited(); err != nil {
		return CodeFailed, d.failed(err)
	}
	if err := c.Limits.apply(); err != nil {
		return CodeFailed, d.failed(err)
	}
	if err := confine(c); err != nil {
		return CodeFailed, d.failed(err)
	}
	return d.supervise(path, c.Argv, environ)
}

// closeInherited marks every descriptor except the first three close-on-exec.
func closeInherited() error {
	err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) {
		err = closeListed()
	}
	if err != nil {
		return fmt.Errorf("keep inherited descriptors from the command: %w", err)
	}
	return nil
}

// closeListed is closeInherited on kernels before 5.11.
func closeListed() error {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return err
	}
	for fd := 3; uint64(fd) < min(lim.Max, 1<<20); fd++ {
		unix.CloseOnExec(fd)
	}
	return nil
}

// door is this end of the connection to the program outside.
type door struct{ conn *net.UnixConn }

// knock connects to the door, sends the listening socket for the proxy and waits for the note Go.
func knock(c Config) (*door, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: c.Door, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("reach the program outside: %w", err)
	}
	d := &door{conn}
	if err := d.handOver(c.Proxy); err != nil {
		return nil, d.failed(err)
	}
	note, err := ReadNote(conn)
	if err != nil {
		return nil, fmt.Errorf("the program outside closed the door: %w", err)
	}
	if !note.Go {
		return nil, errors.New("the program outside refused")
	}
	return d, nil
}

// handOver listens on the port of the proxy, and sends the socket outside.
func (d *door) handOver(port int) error {
	if port == 0 {
		return WriteNote(d.conn, Note{}, nil)
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("listen for the proxy: %w", err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return fmt.Errorf("listen for the proxy: %w", err)
	}
	defer f.Close()
	return WriteNote(d.conn, Note{Listening: true}, f)
}

// failed tells the program outside that the sandbox could not be completed.
func (d *door) failed(err error) error { return d.unstarted(CodeFailed, err) }

// unstarted tells the program outside why the command was not started.
func (d *door) unstarted(code int, err error) error {
	_ = WriteNote(d.conn, Note{Err: err.Error(), Code: code}, nil) // the program outside may have ended
	d.conn.Close()
	return err
}

// supervise runs the command, forwards signals to its process group, and reports how it ended. The
// calling goroutine is locked to its thread: the kernel signals a child when the thread that
// started it ends, and only this thread is in the command's Landlock domain.
func (d *door) supervise(path string, argv, environ []string) (int, error) {
	defer d.conn.Close()
	p, err := os.StartProcess(path, argv, &os.ProcAttr{Env: environ, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}})
	if err != nil {
		code := CodeUnstartable
		if errors.Is(err, fs.ErrNotExist) {
			code = CodeNotFound
		}
		return code, d.unstarted(code, err)
	}
	for _, f := range []*os.File{os.Stdin, os.Stdout} {
		f.Close() // the command's alone: its readers see when it ends
	}
	signals := make(chan unix.Signal)
	go d.signals(signals)
	type result struct {
		status unix.WaitStatus
		err    error
	}
	ended := make(chan result, 1)
	go func() {
		status, err := reap(p.Pid)
		ended <- result{status, err}
	}()
	for {
		select {
		case s := <-signals:
			_ = unix.Kill(-p.Pid, s) // a group that has ended needs none
		case r := <-ended:
			if r.err != nil {
				return CodeFailed, d.failed(r.err)
			}
			return d.report(r.status), nil
		}
	}
}

// reap waits for the command, and meanwhile for every process whose parent has ended: as process 1 the
// relay is the parent of those.
func reap(command int) (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for the command: %w", err)
		case pid == command:
			return status, nil
		}
	}
}

// signals reads the signals for the command until the door closes. It ends with the process.
func (d *door) signals(to chan<- unix.Signal) {
	for {
		note, err := ReadNote(d.conn)
		if err != nil {
			return
		}
		if note.Signal > 0 {
			to <- unix.Signal(note.Signal)
		}
	}
}

// report tells the program outside how the command ended, and returns the relay's exit status: the
// same, or 128 plus the signal, as shells do.
func (d *door) report(status unix.WaitStatus) int {
	note, code := Note{Ended: true, Code: status.ExitStatus()}, status.ExitStatus()
	if status.Signaled() {
		note.Code, note.Signal, code = -1, int(status.Signal()), 128+int(status.Signal())
	}
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &used); err == nil {
		note.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	_ = WriteNote(d.conn, note, nil) // the exit status carries nearly the same information
	return code
}
