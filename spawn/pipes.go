package spawn

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"waggle/internal/caught"
)

// pipes feed a command and carry its output. They are ours and not those of
// os/exec, whose Wait waits for everybody who holds an end, and for a Read of
// stdin that never returns.
type pipes struct {
	in, out *os.File   // our ends; nil where the command has the file itself
	theirs  []*os.File // the ends that the command gets

	fed     chan struct{} // closed when stdin is copied
	feedErr error         // before fed is closed
	drained chan struct{} // closed when the output is copied
	copyErr error         // before drained is closed
}

// connect gives the command its ends.
func (p *pipes) connect(cmd *exec.Cmd, stdin io.Reader, output io.Writer, errs *os.File) error {
	p.fed, p.drained = make(chan struct{}), make(chan struct{})
	if _, isFile := stdin.(*os.File); !isFile && stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		p.in, p.theirs, stdin = w, append(p.theirs, r), r
	}
	if _, isFile := output.(*os.File); !isFile && output != nil {
		r, w, err := os.Pipe()
		if err != nil {
			p.handedOver()
			p.close()
			return err
		}
		p.out, p.theirs, output = r, append(p.theirs, w), w
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, output, output
	if errs != nil {
		cmd.Stderr = errs
	}
	return nil
}

// handedOver closes the ends that the command has, or will never have.
func (p *pipes) handedOver() {
	for _, f := range p.theirs {
		f.Close()
	}
	p.theirs = nil
}

// close closes our ends, when no process was started.
func (p *pipes) close() {
	for _, f := range []*os.File{p.in, p.out} {
		if f != nil {
			f.Close()
		}
	}
}

func (p *pipes) start(stdin io.Reader, output io.Writer) {
	if p.in == nil {
		close(p.fed)
	} else {
		go p.feed(stdin)
	}
	if p.out == nil {
		close(p.drained)
	} else {
		go p.drain(output)
	}
}

// feed copies stdin until it ends or the command does not read any more.
func (p *pipes) feed(stdin io.Reader) {
	defer close(p.fed)
	defer p.in.Close()
	err := copied(p.in, stdin)
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
		p.feedErr = err
	}
}

// copied copies until the end. A panic of a reader or a writer that is not ours is its
// error.
func copied(to io.Writer, from io.Reader) error {
	return caught.Do(func() error {
		_, err := io.Copy(to, from)
		return err
	})
}

// drain copies the output until the last process that writes it has ended. When a Write fails our
// end is closed, so that the next write of the command fails too.
func (p *pipes) drain(output io.Writer) {
	defer close(p.drained)
	defer p.out.Close()
	err := copied(output, p.out)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		p.copyErr = err
	}
}

// cutOff leaves a second for what is still in the pipe.
func (p *pipes) cutOff() {
	const drainDelay = time.Second
	if p.out != nil {
		_ = p.out.SetReadDeadline(time.Now().Add(drainDelay)) // fails when closed: drained
	}
}

// finish waits for the output, not for a Read of stdin that may never return.
func (p *pipes) finish() error {
	<-p.drained
	if p.in != nil {
		p.in.Close()
	}
	select {
	case <-p.fed:
		return errors.Join(p.feedErr, p.copyErr)
	default:
		return p.copyErr
	}
}
