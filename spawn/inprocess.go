package spawn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"waggle/internal/caught"
)

// InProcess is the backend "in-process": run is called in a goroutine of this program that the
// Process owns. run should use spec.Env and spec.Dir: the program's own environment and directory
// are shared by all. spec.Argv may be empty. out is the log, appended, an *os.File while run runs.
//
// Its Identity is this program's own with Inside set, so no Stop of an Identity ends it, here or
// elsewhere: Process.Stop ends its context. It ends with this program, in whatever way the program
// ends.
//
// A panic of run ends run and not the program: it is written to the log with its stack and is in
// Exit.Panic. The same holds for runtime.Goexit. A panic in a goroutine that run has started cannot
// be recovered here and ends the program, like a fatal error of the Go runtime.
func InProcess(run func(ctx context.Context, spec Spec, out io.Writer) Exit) Backend {
	return NewBackend("in-process", " in this process", inProcess(run).start)
}

type inProcess func(context.Context, Spec, io.Writer) Exit

// Inside is the identity of a member inside this program: the program's own, with Inside set, and
// without a group or a session, so that nothing can be signalled.
func Inside() (Identity, error) {
	id, err := Identify(os.Getpid())
	return Identity{PID: id.PID, Start: id.Start, Boot: id.Boot, Inside: true}, err
}

func (run inProcess) start(ctx context.Context, spec Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if spec.Log == "" {
		return nil, errNoLog
	}
	if err := checkDir(spec.Dir); err != nil {
		return nil, err
	}
	id, err := Inside()
	if err != nil {
		return nil, err
	}
	log, err := OpenLog(spec.Log)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &Process{id: id, done: make(chan struct{}), cancel: cancel}
	go func() {
		// Deferred, so that it also happens when run ends its goroutine.
		p.exit = Exit{Code: -1, Panic: "it ended its goroutine"}
		defer close(p.done)
		defer log.Close()
		defer cancel()
		err := caught.Do(func() error {
			p.exit = run(own, spec, log)
			return nil
		})
		if c := caught.Of(err); c != nil {
			p.exit = Exit{Code: -1, Panic: c.Error()}
			fmt.Fprintf(log, "%v\n%s", c, c.Stack)
		}
	}()
	return p, nil
}

// stopInside ends what runs in this program.
func (p *Process) stopInside(ctx context.Context, g Grace) (rung string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	select {
	case <-p.done:
		return RungGone, nil
	default:
	}
	p.cancel()
	g = g.filled()
	late := time.NewTimer(g.Term + g.Kill)
	defer late.Stop()
	select {
	case <-p.done:
		return RungTerm, nil
	case <-ctx.Done():
		return "", ctx.Err()
	case <-late.C:
		return "", fmt.Errorf("%w: it runs in this process and has not ended when its context did; it ends with this process at the latest", ErrStillAlive)
	}
}

var errNoLog = errors.New("no log named")
