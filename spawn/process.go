package spawn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"waggle/internal/fs/logfile"
)

// Process is a process that a backend started and this program watches. Its
// methods may be called from several goroutines. It holds one goroutine until
// the process has ended.
type Process struct {
	id     Identity
	place  Place
	done   chan struct{}
	exit   Exit               // written before done is closed
	cancel context.CancelFunc // of what runs in this program; nil: a process of its own
}

// Place is the terminal in which a process can be viewed: its holder, its socket, its pane. It is
// recorded beside the process's Identity. A process with the zero Place has only its log.
type Place struct {
	// Holder is the process that holds its terminal; it ends by itself when the
	// process has ended.
	Holder *Identity `json:"holder,omitempty"`
	// Socket is where viewers can attach to that terminal.
	Socket string `json:"socket,omitempty"`
	// Pane is the pane of a multiplexer that shows it.
	Pane *Pane `json:"pane,omitempty"`
}

// Pane is one pane of one run of a multiplexer. Ids are given again, so a pane is
// ours only while its server and the process in it are the recorded ones.
type Pane struct {
	Mux    Mux      `json:"mux,omitempty"`
	Server Identity `json:"server"` // process of the multiplexer; the zero Identity when unknown
	Socket string   `json:"socket"` // how that server is reached; "" in iTerm2
	ID     string   `json:"id"`     // "%3"; a session's id in iTerm2
	Window string   `json:"window,omitempty"`
}

// Mux is a multiplexer.
type Mux string

const (
	MuxTmux   Mux = "" // also in records that are older than the field
	MuxITerm2 Mux = "iterm2"
)

// NewProcess is for backends: it watches a process that was just started and
// identified. wait blocks until the process has ended, reaps it if it is a child
// of this program, and says how it ended; it is called once, in a goroutine that
// the Process owns.
func NewProcess(id Identity, place Place, wait func() Exit) *Process {
	p := &Process{id: id, place: place, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.exit = wait()
	}()
	return p
}

// Identity returns what was recorded right after the start. It stays valid when
// the process has ended.
func (p *Process) Identity() Identity { return p.id }

// Place returns the terminal in which the process can be viewed.
func (p *Process) Place() Place { return p.place }

// Done is closed when the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns how it ended. Before Done is closed, and when that is unknown, it is a Code of -1
// without a Signal.
func (p *Process) Exit() Exit {
	select {
	case <-p.done:
		return p.exit
	default:
		return Exit{Code: -1}
	}
}

// Stop ends it in the way of its kind. For a process that is StopTree of its Identity. A func in
// this program gets the end of its context, and has g.Term and g.Kill together: a goroutine cannot
// be killed, so the error matches ErrStillAlive when it has not ended by then. It is a RungTerm
// when it has.
func (p *Process) Stop(ctx context.Context, g Grace) (rung string, err error) {
	if p.cancel == nil {
		return StopTree(ctx, p.id, g)
	}
	rung, err = p.stopInside(ctx, g)
	return rung, failed(err, "stop")
}

// Ask ends the context of a member that runs in this program, and does not wait. For a process it
// does nothing; Stop ends that.
func (p *Process) Ask() {
	if p.cancel != nil {
		p.cancel()
	}
}

// Exit is how a process ended.
type Exit struct {
	Code   int    // exit status; -1 when a signal or a panic ended it, or when unknown
	Signal string // "killed", "terminated", …; "" when it exited
	Panic  string // InProcess: what it panicked with; the stack is in the log
}

// How says how a process has exited, or by which signal it was ended.
func (e Exit) How() string {
	if e.Signal != "" {
		return "signal " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// ExitOf reads the status from Wait; nil when another caller took it.
func ExitOf(ps *os.ProcessState) Exit {
	if ps == nil {
		return Exit{Code: -1}
	}
	e := Exit{Code: ps.ExitCode()}
	if ws, ok := ps.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e = Exit{Code: -1, Signal: ws.Signal().String()}
	}
	return e
}

// ProcessBackend is the backend "process": a child of this program in a process group of its own,
// with /dev/null for stdin and the log's descriptor itself for stdout and stderr, so that it keeps
// running without this program.
func ProcessBackend() Backend { return NewBackend("process", "", startProcess) }

func startProcess(ctx context.Context, spec Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := spec.Check(); err != nil {
		return nil, err
	}
	log, err := OpenLog(spec.Log)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	defer log.Close()
	cmd := &exec.Cmd{
		Path: spec.Argv[0], Args: spec.Argv, Dir: spec.Dir, Env: exactly(spec.Env),
		Stdout: log, Stderr: log, SysProcAttr: ownGroup(),
	}
	id, err := launch(cmd)
	if err != nil {
		return nil, err
	}
	return NewProcess(id, Place{}, func() Exit {
		_ = cmd.Wait() // its error repeats the state
		return ExitOf(cmd.ProcessState)
	}), nil
}

// OpenLog opens the log for appending, and makes it private. It refuses a link to another file or directory and a FIFO
// that blocks, which an agent may have put there, without touching them.
func OpenLog(path string) (*os.File, error) {
	f, err := logfile.OpenFile(filepath.Dir(path), filepath.Base(path), os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if info, err := f.Stat(); err != nil || info.Mode() != 0o600 {
		if err = cmp.Or(err, f.Chmod(0o600)); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// ErrNeverRan means that a new process was killed before it ran its program: nothing has been done.
var ErrNeverRan = errors.New("killed before it ran its program")

// launch starts cmd in a group of its own and identifies the child. Until it is waited for, the child keeps its pid even
// after its end, so that the identity is certainly its own.
func launch(cmd *exec.Cmd) (Identity, error) {
	if err := cmd.Start(); err != nil {
		return Identity{}, err
	}
	s, err := readStat(cmd.Process.Pid)
	if err == nil && s.pgid != s.pid {
		err = ErrNeverRan // it leads its group before it runs its program
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return Identity{}, fmt.Errorf("identify the new process %d: %w", cmd.Process.Pid, err)
	}
	return s.identity(), nil
}

// exactly returns a non-nil empty environment for an empty one; os/exec inherits ours for nil.
func exactly(env []string) []string { return append([]string{}, env...) }
