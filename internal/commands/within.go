package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"waggle/agent"
	"waggle/internal/fs/logfile"
	"waggle/record"
	"waggle/spawn"
)

// Within enforces the limits of a sandbox block that apply at every level: time, and output.
// Output beyond the limit goes to a file in the member's directory.
func Within(inner agent.Exec, s *record.Sandbox, dir string) agent.Exec {
	if !s.Asked() || s.Limits == nil || s.Limits.Time == 0 && s.Limits.Output == 0 {
		return inner
	}
	return &limited{inner: inner, time: time.Duration(s.Limits.Time) * time.Millisecond, output: s.Limits.Output, dir: dir}
}

type limited struct {
	inner  agent.Exec
	time   time.Duration // 0: no limit
	output int64         // 0: no limit
	dir    string
	n      atomic.Uint64
}

func (l *limited) Run(ctx context.Context, c spawn.Command) (spawn.Exit, error) {
	over := fmt.Errorf("the limit of %s for one command: `sandbox: {limits: {time: …}}` in the team file changes it", l.time)
	if l.time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, l.time, over)
		defer cancel()
	}
	var out *cut
	if l.output > 0 && c.Output != nil {
		out = &cut{to: c.Output, left: l.output, open: l.spill}
		c.Output = out
	}
	exit, err := l.inner.Run(ctx, c)
	if out != nil {
		err = errors.Join(err, out.finish())
	}
	if errors.Is(context.Cause(ctx), over) {
		err = fmt.Errorf("ended by %w", over)
	}
	return exit, err
}

// spill creates the file for the rest of one command's output, relative to the directory's
// descriptor, so that no link is followed.
func (l *limited) spill() (*os.File, error) {
	root, err := logfile.OpenDir(l.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for {
		name := fmt.Sprintf("output-%d-%d.log", os.Getpid(), l.n.Add(1))
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
	}
}

// Sizes of the kept parts of output beyond the limit.
const (
	cutTail  = 2 << 10 // the end that is shown
	cutSpill = 1 << 30 // the part that is written to the file
)

// cut is a writer that forwards output up to a limit. It writes the rest to a file, and forwards
// the end of the rest.
type cut struct {
	to   io.Writer
	left int64
	open func() (*os.File, error)

	file    *os.File
	failed  error
	rest    int64 // bytes beyond the limit
	written int64 // of rest, in the file
	tail    []byte
}

func (c *cut) Write(p []byte) (int, error) {
	n := min(int64(len(p)), c.left)
	if n > 0 {
		if k, err := c.to.Write(p[:n]); err != nil {
			return k, err
		}
		c.left -= n
	}
	if rest := p[n:]; len(rest) > 0 {
		c.keep(rest)
	}
	return len(p), nil
}

// keep writes to the file, and counts the bytes that it cannot write.
func (c *cut) keep(p []byte) {
	c.rest += int64(len(p))
	c.tail = append(c.tail, p...)
	if n := len(c.tail) - cutTail; n > 0 {
		c.tail = append(c.tail[:0], c.tail[n:]...)
	}
	if c.file == nil && c.failed == nil {
		c.file, c.failed = c.open()
	}
	if c.failed == nil && c.written < cutSpill {
		n, err := c.file.Write(p[:min(int64(len(p)), cutSpill-c.written)])
		c.written += int64(n)
		c.failed = err
	}
}

// finish forwards a note with the size of the rest and the path of its file.
func (c *cut) finish() error {
	if c.rest == 0 {
		return nil
	}
	where := "nothing of it is kept"
	if c.file != nil {
		where = fmt.Sprintf("%d of them are in %s", c.written, filepath.Base(c.file.Name()))
		if err := c.file.Close(); c.failed == nil {
			c.failed = err
		}
	}
	if c.failed != nil {
		where += fmt.Sprintf(" (%v)", c.failed)
	}
	_, err := fmt.Fprintf(c.to, "\n[waggle: %d bytes more, beyond the limit for output (`sandbox: {limits: {output: …}}` in the team file): %s. The end of them:]\n%s", c.rest, where, c.tail)
	return err
}
