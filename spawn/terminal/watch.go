package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/backoff"
	"waggle/internal/cut"
	"waggle/spawn"
)

// WatchOptions say which tmux is watched.
type WatchOptions struct {
	// Program is tmux, 3.2 or newer, an absolute path; Env is what it is run with.
	Program string
	Env     []string
	// Socket and Server are those of a Pane: this run of tmux and no other.
	// Required.
	Socket string
	Server spawn.Identity
}

// Event is something that happened in a server.
type Event struct {
	What Change
	// Pane is its id in that server, which is not given again; "" for Watching and
	// ServerGone.
	Pane string
}

// Change is what happened.
type Change string

const (
	PaneOpened Change = "opened" // it was there when the watch began, is new, or runs again
	PaneExited Change = "exited" // its process has ended; the pane stays, to be read
	PaneClosed Change = "closed" // the pane is gone, with its window or without, whoever closed it
	Watching   Change = "watching"
	ServerGone Change = "gone"
)

// lookFormat is how tmux writes a pane; lookMark begins each line of it.
const (
	lookMark   = "waggle-pane "
	lookFormat = lookMark + "#{pid} #{pane_id} #{pane_dead}"
)

// looks reads what tmux wrote of all panes of a server: whether the process of each has
// ended. A pane whose window is linked to several sessions comes several times.
func looks(text string) (pid int, ended map[string]bool, err error) {
	ended = map[string]bool{}
	for line := range strings.Lines(text) {
		f := strings.Fields(strings.TrimPrefix(line, lookMark))
		if len(f) != 3 || !paneID(f[1]) {
			return 0, nil, fmt.Errorf("tmux said %.200q of a pane", line)
		}
		if pid, err = strconv.Atoi(f[0]); err != nil {
			return 0, nil, fmt.Errorf("tmux said %.200q of a pane", line)
		}
		ended[f[1]] = f[2] == "1"
	}
	return pid, ended, nil
}

// changes are what happened between two looks, by pane.
func changes(before, after map[string]bool) (events []Event) {
	both := maps.Clone(after)
	maps.Copy(both, before)
	for _, id := range slices.SortedFunc(maps.Keys(both), byNumber) {
		ended, now := after[id]
		was, then := before[id]
		if !now {
			events = append(events, Event{PaneClosed, id})
			continue
		}
		if !then || was && !ended {
			events = append(events, Event{PaneOpened, id})
		}
		if ended && !was {
			events = append(events, Event{PaneExited, id})
		}
	}
	return events
}

func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

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
		if !backoff.Pause(ctx, watchPause) {
			return ctx.Err()
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
	panes map[string]bool // see looks
	told  bool            // Watching
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
	looked, err = w.follow(newControl(out), in)
	leave()
	_, _ = io.Copy(io.Discard, io.LimitReader(out, maxSaid)) // its farewell
	_ = out.Close()
	if werr := cmd.Wait(); err == nil && len(said.Kept) > 0 {
		err = fmt.Errorf("%s: %w", strings.TrimSpace(string(said.Kept)), werr)
	}
	return looked, err
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

// everyPane is the format that tmux evaluates once a second: it changes when a pane comes, goes
// or ends, in any session.
const everyPane = "waggle::#{S:#{W:#{P:#{pane_id}#{pane_dead}}}}"

// follow lists the panes, and again whenever tmux notifies of a change. The details of a
// notification are not used, so that unknown ones do no harm. looked reports whether it saw them.
func (w *watch) follow(c controlReader, in io.Writer) (looked bool, err error) {
	const list = "list-panes -a -F '" + lookFormat + "'\n"
	attached, asked, again := false, false, false
	for {
		_, r, err := c.next() // r is nil for a notification; a refused command is an error
		if r != nil {
			err = r.err()
		}
		switch {
		case err == io.EOF:
			return looked, nil
		case err != nil:
			return looked, err
		case r == nil:
			again = attached
		case !attached: // by its first answer it is a client
			attached, asked = true, true
			_, err = io.WriteString(in, "refresh-client -B '"+everyPane+"'\n"+list)
		case strings.HasPrefix(r.text, lookMark):
			asked, looked = false, true
			err = w.seen(r.text)
		}
		if err != nil {
			return looked, err
		}
		if again && !asked {
			asked, again = true, false
			if _, err := io.WriteString(in, list); err != nil {
				return looked, nil // it has left: the rest of its output is ignored
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
