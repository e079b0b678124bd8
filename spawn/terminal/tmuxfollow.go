package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"waggle/spawn"
)

// PaneFollower is a client of a tmux server in control mode, which is told when a pane has output and asks what it shows.
// It sizes, selects and types nothing, and leaves the environment of the session as it is. It ends with this process,
// however that ends.
type PaneFollower struct {
	pane    string
	in      io.WriteCloser
	out     controlReader
	changed chan struct{}
	replies chan paneReply
	stop    context.CancelFunc
	ended   chan struct{}
	asking  sync.Mutex // one command at a time
}

// Limits of a PaneFollower: for the server to accept it, and for a reply.
const (
	followBegins = 4 * time.Second
	followReply  = 5 * time.Second
)

// FollowTmux follows a pane until ctx ends or Close is called.
func FollowTmux(ctx context.Context, program string, env []string, p spawn.Pane) (*PaneFollower, error) {
	f, err := followTmux(ctx, tmux{program, p.Socket, env}, p.ID)
	if err != nil {
		return nil, fmt.Errorf("follow pane %s: %w", p.ID, err)
	}
	return f, nil
}

func followTmux(ctx context.Context, t tmux, pane string) (*PaneFollower, error) {
	if !paneID(pane) {
		return nil, errors.New("it is no pane of tmux")
	}
	begins, cancel := context.WithTimeout(ctx, followBegins)
	defer cancel()
	session, err := t.sessionOf(begins, pane)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	// The target is the session alone: with a pane, attach-session would select it.
	cmd := apart(ctx, t.env, t.program, "-u", "-S", t.socket, "-C", "attach-session", "-E", "-r", "-f", "ignore-size", "-t", session)
	f := &PaneFollower{pane: pane, changed: make(chan struct{}, 1), replies: make(chan paneReply, 1), stop: stop, ended: make(chan struct{})}
	if f.in, err = cmd.StdinPipe(); err != nil {
		stop()
		return nil, err
	}
	out, w := io.Pipe()
	cmd.Stdout, f.out = w, newControl(out)
	if err := cmd.Start(); err != nil {
		stop()
		return nil, err
	}
	waited := make(chan struct{})
	go func() { // until the client has ended
		defer close(waited)
		_ = w.CloseWithError(cmp.Or(cmd.Wait(), io.EOF))
	}()
	go func() { // the same
		defer close(f.ended)
		defer close(f.changed)
		f.read()
		stop()
		_ = out.Close()
		<-waited
	}()
	if r, err := f.reply(begins, followBegins); err != nil || r.failed {
		f.Close()
		return nil, errors.Join(err, r.err())
	}
	return f, nil
}

// sessionOf is the id of a session that has a pane.
func (t tmux) sessionOf(ctx context.Context, pane string) (string, error) {
	out, err := t.run(ctx, "list-panes", "-a", "-F", "#{pane_id} #{session_id}")
	for line := range strings.Lines(out) {
		if id, session, _ := strings.Cut(strings.TrimSpace(line), " "); id == pane {
			return session, nil
		}
	}
	return "", cmp.Or(err, errors.New("it is not there"))
}

// Changed gets a value soon after the pane has had output. It is closed when the client has ended.
func (f *PaneFollower) Changed() <-chan struct{} { return f.changed }

// Screen is what the pane shows now.
func (f *PaneFollower) Screen(ctx context.Context) (string, error) {
	f.asking.Lock()
	defer f.asking.Unlock()
	if _, err := io.WriteString(f.in, "capture-pane -p -t "+f.pane+"\n"); err != nil {
		return "", fmt.Errorf("follow pane %s: %w", f.pane, err)
	}
	r, err := f.reply(ctx, followReply)
	if err = errors.Join(err, r.err()); err != nil {
		f.stop() // a late reply would be taken for the next one's
		return "", fmt.Errorf("follow pane %s: %w", f.pane, err)
	}
	return r.text, nil
}

// Close ends the client.
func (f *PaneFollower) Close() {
	f.stop()
	<-f.ended
}

func (f *PaneFollower) reply(ctx context.Context, limit time.Duration) (paneReply, error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case r := <-f.replies:
		return r, nil
	case <-f.ended:
		return paneReply{}, errors.New("tmux has ended its client")
	case <-ctx.Done():
		return paneReply{}, ctx.Err()
	case <-late.C:
		return paneReply{}, errors.New("tmux did not answer in time")
	}
}

// read takes what the server writes. The first reply is to the attach, of the others those to this client's commands have
// the flag 1.
func (f *PaneFollower) read() {
	for first := true; ; {
		l, r, err := f.out.next()
		switch {
		case err != nil, r == nil && (l == "%exit" || strings.HasPrefix(l, "%exit ")):
			return
		case r != nil && (first || strings.HasSuffix(l, " 1")):
			select {
			case f.replies <- *r:
			default: // nobody asked
			}
		case r == nil && strings.HasPrefix(l, "%output "+f.pane+" "):
			select {
			case f.changed <- struct{}{}:
			default:
			}
		}
		first = first && r == nil
	}
}
