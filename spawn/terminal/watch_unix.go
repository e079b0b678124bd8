//go:build unix

package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"waggle/internal/cut"
)

// Watch calls on with the events of the panes of a tmux server, in order, until ctx ends (its
// error), or the server does (nil, after ServerGone). It begins with PaneOpened for every pane that
// is there, and then Watching: a pane that was not reported by then is gone. An end that tmux does
// not notify is reported within about a second.
//
// It is a client in control mode that changes nothing: it has no size, gets no output, changes no
// session's environment and is gone when Watch returns. It attaches to a session with other
// clients, or to one that does not end when the last client leaves. The goroutine that called Watch
// calls on, and waits for it.
func Watch(ctx context.Context, o WatchOptions, on func(Event)) error {
	w := &watch{tmux: tmux{o.Program, o.Socket, unnested(o.Env)}, on: on, pid: o.Server.PID}
	for failed := 0; ; {
		looked, err := w.attach(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errOtherServer) || !o.Server.Alive():
			on(Event{What: ServerGone})
			return nil
		case errors.Is(err, errStrange):
			return fmt.Errorf("spawn: watch tmux: %w", err)
		case looked:
			failed = 0 // the session that it was in has ended
		default:
			failed++
		}
		if failed == watchTries {
			return fmt.Errorf("spawn: watch tmux: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchPause):
		}
	}
}

const (
	watchTries = 5
	watchPause = 100 * time.Millisecond
	// watchLeave is how long the client may take to leave.
	watchLeave = 2 * time.Second
)

// unnested is an environment in which tmux does not see itself run inside tmux.
func unnested(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, "TMUX=") })
}

var errOtherServer = errors.New("there is another server at its socket")

// watch is one watch, over as many clients as it takes.
type watch struct {
	tmux
	on    func(Event)
	pid   int
	panes map[string]look
	told  bool // Watching
}

// attach runs one client. looked reports whether it saw the panes at least once.
func (w *watch) attach(ctx context.Context) (looked bool, err error) {
	session, err := w.session(ctx)
	if err != nil {
		return false, err
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	cmd := apart(ctx, w.env, w.program, "-u", "-N", "-S", w.socket, "-C",
		"attach-session", "-E", "-f", "read-only,no-output,ignore-size", "-t", session)
	said := cut.Head{Max: maxSaid}
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return false, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	// A client without input leaves.
	cmd.Cancel, cmd.WaitDelay = in.Close, watchLeave
	if err := cmd.Start(); err != nil {
		return false, err
	}
	c := &client{out: newControl(out), w: in}
	err = w.follow(c)
	leave()
	_, _ = io.Copy(io.Discard, io.LimitReader(out, maxSaid)) // its farewell
	_ = out.Close()
	if werr := cmd.Wait(); err == nil && len(said.Kept) > 0 {
		err = fmt.Errorf("%s: %w", strings.TrimSpace(string(said.Kept)), werr)
	}
	return c.looked, err
}

// session finds one to attach to.
func (w *watch) session(ctx context.Context) (string, error) {
	out, err := w.run(ctx, "list-sessions", "-F", "#{session_id} #{session_attached} #{destroy-unattached} #{pid}")
	if err != nil {
		return "", err
	}
	quiet := ""
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(f) != 4 {
			return "", fmt.Errorf("tmux said %.200q of a session", line)
		}
		if f[3] != fmt.Sprint(w.pid) {
			return "", errOtherServer
		}
		if f[1] != "0" {
			return f[0], nil
		}
		if stays := f[2] == "" || f[2] == "0" || f[2] == "off"; stays && quiet == "" {
			quiet = f[0]
		}
	}
	if quiet == "" {
		return "", errors.New("every session ends when its last client leaves, and none has a client")
	}
	return quiet, nil
}

// everyPane is the format that tmux evaluates once a second: it changes when a pane comes, goes,
// ends or moves, in any session.
const everyPane = "waggle::#{S:#{session_id}#{W:#{window_index}#{window_id}#{P:#{pane_id}#{pane_dead}}}}"

// follow lists the panes, and again whenever tmux notifies of a change. The details of a
// notification are not used, so that unknown ones do no harm.
func (w *watch) follow(c *client) error {
	// Its first answer says that it is attached; before that it is not a client.
	for r, err := c.next(); r == nil; r, err = c.next() {
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if err := c.command("refresh-client -B '" + everyPane + "'"); err != nil {
		return err
	}
	const list = "list-panes -a -F '" + lookFormat + "'"
	asked, again := true, false
	if err := c.command(list); err != nil {
		return err
	}
	for {
		r, err := c.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case r == nil: // a notification
			again = true
		case strings.HasPrefix(r.text, lookMark):
			asked, c.looked = false, true
			if err := w.seen(r.text); err != nil {
				return err
			}
		}
		if again && !asked {
			asked, again = true, false
			if err := c.command(list); err != nil {
				return nil // it has left: the rest of its output is ignored
			}
		}
	}
}

// seen reports what has changed.
func (w *watch) seen(text string) error {
	pid, panes, err := looks(text)
	if err != nil {
		return errors.Join(errStrange, err)
	}
	if pid != w.pid {
		return errOtherServer
	}
	for _, e := range changes(w.panes, panes) {
		w.on(e)
	}
	if w.panes = panes; !w.told {
		w.told = true
		w.on(Event{What: Watching})
	}
	return nil
}

// client is a client in control mode.
type client struct {
	out    controlReader
	w      io.Writer
	looked bool
}

func (c *client) command(text string) error {
	_, err := io.WriteString(c.w, text+"\n")
	return err
}

// next is an answer, or nil for a notification. A refused command is an error.
func (c *client) next() (*paneReply, error) {
	_, r, err := c.out.next()
	if r != nil {
		err = r.err()
	}
	return r, err
}
