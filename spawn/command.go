package spawn

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"
)

// Command is a run of a child command by an agent: argv started directly in its
// own process group, output streamed, the whole group ended when ctx is.
type Command struct {
	// Argv is the program and its arguments, run without a shell. A bare name
	// is looked up in the PATH of Env, see LookPath; a relative path with a
	// slash is relative to Dir.
	Argv []string
	// Dir is the working directory, which must exist; "" is ours.
	Dir string
	// Env is the whole environment; nothing is inherited, nil is empty.
	Env []string
	// Stdin is the command's input; nil is /dev/null. A Read that blocks after the command has
	// ended holds one goroutine until it returns; Run does not wait for it.
	Stdin io.Reader
	// Output gets stdout and stderr together, from one goroutine that has ended
	// when Run returns; nil drops it. An *os.File is given to the command
	// itself. When a Write fails the command gets SIGPIPE and Run the error.
	Output io.Writer
	// Errors gets stderr apart from stdout; nil: Output gets both.
	Errors *os.File
	// Terminal is all three of them instead, and the controlling terminal of a session that the
	// command leads; nil: none. It needs Unix, and goes without Stdin, Output and Errors.
	Terminal *os.File
	// Grace has the time limits of the steps by which the group is ended.
	Grace Grace
	// Linger is how long the group may run, or its output stay open, after the first process has
	// exited; then it is ended as by ctx, but without an error. 0 means until ctx ends.
	Linger time.Duration
	// Started gets the identity of the first process right after its start; nil: not called.
	Started func(Identity)
	// Reap also ends the descendants that left the group, by setsid for instance, once the group is
	// gone. This program should be a Subreaper, because orphans are looked for below it. On Linux
	// they are found by the variable WAGGLE_COMMAND, which Reap adds to Env; a program that removes
	// it escapes once its parents are dead. Elsewhere only those are ended that still had living
	// parents when the ending began.
	Reap bool
}

// Run runs the command and waits for the whole output and until no process of the group is left,
// background jobs included. The error is about starting or waiting; a non-zero status is in Exit,
// which is that of the first process.
//
// When ctx ends, the group gets SIGTERM, then SIGKILL as Grace says, and the error matches
// ctx.Err(); Exit is valid then too. Processes outside the group that keep the output open are
// waited for until ctx ends or Linger is over, and for one second after that; their later output is
// lost.
//
// Run may be called from several goroutines, as far as Stdin and Output allow it.
func (c Command) Run(ctx context.Context) (Exit, error) {
	r, err := c.start(ctx)
	if err != nil {
		return Exit{Code: -1}, failed(err, "run")
	}
	if c.Started != nil {
		c.Started(r.id)
	}
	exit, err := r.finish(ctx)
	return exit, failed(err, "run %s", c.Argv[0])
}

// run is a Command that was started.
type run struct {
	Command
	id   Identity
	mark string
	tree tree // the descendants that were seen, for Reap

	exited  chan struct{} // closed when the first process was reaped
	exit    Exit          // before exited is closed
	waitErr error         // before exited is closed

	pipes pipes
}

func (c Command) start(ctx context.Context) (*run, error) {
	switch err := ctx.Err(); {
	case err != nil:
		return nil, err
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return nil, errors.New("no program named")
	}
	path, err := LookPath(c.Argv[0], c.Env)
	if err != nil {
		return nil, err
	}
	if err := checkDir(c.Dir); err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: path, Args: c.Argv, Dir: c.Dir, Env: exactly(c.Env), SysProcAttr: ownGroup()}
	if c.Terminal != nil {
		if cmd.SysProcAttr, err = ownTerminal(); err != nil {
			return nil, err
		}
	}
	r := &run{Command: c, exited: make(chan struct{})}
	if c.Reap {
		r.mark = newMark()
		cmd.Env = withMark(cmd.Env, r.mark)
	}
	if err := r.pipes.connect(cmd, c.Stdin, c.Output, c.Errors); err != nil {
		return nil, err
	}
	if c.Terminal != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Terminal, c.Terminal, c.Terminal
	}
	r.id, err = launch(cmd)
	r.pipes.handedOver()
	if err != nil {
		r.pipes.close()
		return nil, err
	}
	r.tree.root = r.id
	go r.wait(cmd)
	r.pipes.start(c.Stdin, c.Output)
	return r, nil
}

func (r *run) wait(cmd *exec.Cmd) {
	defer close(r.exited)
	err := cmd.Wait()
	r.exit = ExitOf(cmd.ProcessState)
	if !errors.As(err, new(*exec.ExitError)) {
		r.waitErr = err
	}
}

// finish waits for the command to end, or ends it.
func (r *run) finish(ctx context.Context) (Exit, error) {
	var err error
	quiet := closed(ctx, r.exited)
	lctx, cancel := r.lingering(ctx)
	defer cancel()
	if quiet {
		quiet, err = until(lctx, r.groupGone)
	}
	if e := r.end(context.WithoutCancel(ctx)); e != nil {
		err = errors.Join(err, e)
	}
	if quiet {
		quiet = closed(lctx, r.pipes.drained)
	}
	if !quiet {
		if e := ctx.Err(); e != nil {
			err = errors.Join(e, err)
		}
		r.pipes.cutOff()
	}
	err = errors.Join(err, r.pipes.finish())
	if errors.Is(err, ErrStillAlive) && !closed(lctx, r.exited) {
		return Exit{Code: -1}, err
	}
	<-r.exited
	return r.exit, errors.Join(err, r.waitErr)
}

// lingering is ctx for the time after the first process has exited.
func (r *run) lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.Linger > 0 {
		return context.WithTimeout(ctx, r.Linger)
	}
	return context.WithCancel(ctx)
}

func (r *run) groupGone() (bool, error) {
	live, err := group{r.id}.liveAt(allStats)
	return len(live) == 0, err
}

// end ends what is left, the group first.
func (r *run) end(ctx context.Context) error {
	if !r.Reap {
		_, err := stop(ctx, r.id, group{r.id}, r.Grace.filled())
		return err
	}
	_, err := stop(ctx, r.id, watched{group{r.id}, &r.tree}, r.Grace.filled())
	_, err2 := ladder(ctx, each{r.strays}, r.Grace.filled())
	_, err3 := ReapOrphans()
	if errors.Is(err3, errors.ErrUnsupported) {
		err3 = nil
	}
	return errors.Join(err, err2, err3)
}

// strays returns the descendants that left the group. A process that once had the mark is
// remembered, since the environment of an ending process cannot be read; the search for marks comes
// last, to find the children of those that ended since.
func (r *run) strays() ([]stat, error) {
	left, err := r.tree.live()
	if err != nil {
		return nil, err
	}
	marked, err := markedBelow(r.mark)
	if err != nil {
		return nil, err
	}
	for _, s := range marked {
		if r.tree.add(s) {
			left = append(left, s)
		}
	}
	return left, nil
}

// closed waits for c, and says no when ctx ended first.
func closed(ctx context.Context, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
	}
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}
