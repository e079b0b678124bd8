package claude

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"waggle/internal/backoff"
	"waggle/internal/json/jsonobj"
	"waggle/internal/peer"
)

// Second is how the hooks of a client in a pane reach the member's worker. The hook before a tool can
// only deny, or have the client ask, and blocks the call when it gets no answer; the others tell the
// other events.
type Second struct {
	listener
	dir    string
	refuse func(context.Context, Event) (reason string)
	heed   func(context.Context, Event) (print []byte)
}

// HookWait is how long a hook waits for its answer. It is shorter than the time limit of the client
// (hookSeconds), because the client runs the call when its hook times out. secondWait is the time
// limit of the answer.
const (
	HookWait   = 20 * time.Second
	secondWait = 15 * time.Second
)

// Listen serves a Second in a new private directory below temp. refuse returns why a call is denied, ""
// when it is not; heed returns what the hook of another event prints. The context of a PermissionRequest
// or an Elicitation ends when its hook does, that of another event also when its time is over.
func Listen(temp string, refuse func(context.Context, Event) (reason string), heed func(context.Context, Event) (print []byte)) (*Second, error) {
	dir, err := os.MkdirTemp(temp, "wcl") // a short name, because the path of a socket is limited
	if err != nil {
		return nil, err
	}
	s := &Second{dir: dir, refuse: refuse, heed: heed}
	if err := s.serve(s.Path(), s.one); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// Path is where hooks ask.
func (s *Second) Path() string { return filepath.Join(s.dir, "s") }

// Dir is the private directory, which is removed by Close.
func (s *Second) Dir() string { return s.dir }

// Close ends the Second: hooks that still run block their calls.
func (s *Second) Close() error { return errors.Join(s.close(), os.RemoveAll(s.dir)) }

// listener is a Unix socket that serves each caller of this user in a goroutine of its own.
type listener struct {
	l    *net.UnixListener
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// serve listens at a path, until close: one's context and connection end then.
func (s *listener) serve(path string, one func(context.Context, net.Conn)) (err error) {
	if s.l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.wg.Go(func() { s.accept(ctx, one) })
	return nil
}

// close ends it, and waits for what serves.
func (s *listener) close() error {
	s.stop()
	err := s.l.Close()
	s.wg.Wait()
	return err
}

func (s *listener) accept(ctx context.Context, one func(context.Context, net.Conn)) {
	for {
		c, err := s.l.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			if !backoff.Pause(ctx, 50*time.Millisecond) { // for example no descriptors: hooks block their calls meanwhile, and commands fail
				return
			}
			continue
		}
		s.wg.Go(func() {
			defer c.Close()
			defer context.AfterFunc(ctx, func() { c.Close() })()
			if peer.Ours(c) {
				one(ctx, c)
			}
		})
	}
}

// one answers one hook.
func (s *Second) one(ctx context.Context, c net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	late := time.AfterFunc(secondWait, cancel)
	defer late.Stop()
	line, err := bufio.NewReader(io.LimitReader(c, maxEvent+(2<<10))).ReadBytes('\n')
	if err != nil {
		return
	}
	o, err := jsonobj.Parse(line) // encoding/json would take another case of the names, too
	if err != nil || o.Text("hook_event_name") == "" {
		return
	}
	e := Event{Name: o.Text("hook_event_name"), Session: o.Text("session_id"), Tool: o.Text("tool_name"), Cwd: o.Text("cwd"), UseID: o.Text("tool_use_id"),
		Agent: o.Text("agent_id"), Mode: o.Text("permission_mode"), Model: o.Text("model"), Kind: o.Text("kind"), Text: o.Text("text")}
	e.Input, _ = o.Get("tool_input")
	var answer map[string]any
	if e.Name == preToolUse {
		reason := s.refuse(ctx, e)
		answer = map[string]any{"denied": reason != "", "reason": reason}
	} else {
		if AsksPerson(e.Name) {
			late.Stop()
			s.wg.Go(func() { // it says nothing more: a read ends with the hook
				_, _ = c.Read(make([]byte, 1))
				cancel()
			})
		}
		answer = map[string]any{"print": string(s.heed(ctx, e))}
	}
	if ctx.Err() == nil {
		_ = send(c, answer) // its hook may be gone
	}
}

// send writes a value as one line.
func send(w io.Writer, v any) error {
	line, err := jsonobj.Marshal(v)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}

// dial connects to a socket of this user's.
func dial(ctx context.Context, path string) (*net.UnixConn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if u := c.(*net.UnixConn); peer.Ours(u) {
		return u, nil
	}
	return nil, errors.Join(errors.New("another user listens there"), c.Close())
}

// AskSecond asks the worker of a member about a call, and returns what the hook prints: nothing, a
// denial, or that the client must ask. It never allows. After an error the hook must block the call.
func AskSecond(ctx context.Context, path string, in io.Reader) ([]byte, error) {
	e, err := readEvent(in, preToolUse)
	if err != nil {
		return nil, err
	}
	o, err := tell(ctx, path, e)
	if err != nil {
		return nil, err
	}
	raw, _ := o.Get("denied")
	switch {
	case string(raw) == "true":
		return decision("deny", o.Text("reason")), nil
	case string(raw) != "false":
		return nil, errors.New("the answer of the worker of this member says neither yes nor no")
	case strings.HasPrefix(e.Tool, "mcp__"):
		// The ask rule mcp__* of the private settings has no effect in older clients (2.1.150).
		return decision("ask", "the team decides about tools of servers"), nil
	}
	return nil, nil
}

// decision is what a PreToolUse hook prints.
func decision(behavior, reason string) []byte {
	out := []byte(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"` + behavior + `","permissionDecisionReason":`)
	return append(jsonobj.AppendString(out, reason), "}}\n"...)
}

// Report tells the worker of a member in a pane of another event, and returns what the hook prints:
// for a PermissionRequest or an Elicitation the answer, once there is one, for others nothing.
func Report(ctx context.Context, path, event string, in io.Reader) ([]byte, error) {
	if event == preToolUse || !slices.Contains(events, event) {
		return nil, fmt.Errorf("the event %q is not reported", clipped(event))
	}
	e, err := readEvent(in, event)
	if err != nil {
		return nil, err
	}
	o, err := tell(ctx, path, e)
	if err != nil {
		return nil, err
	}
	return []byte(o.Text("print")), nil
}

// tell sends an event to the worker of a member and reads its answer.
func tell(ctx context.Context, path string, e Event) (*jsonobj.Object, error) {
	line, err := exchange(ctx, path, e)
	if err != nil {
		return nil, fmt.Errorf("the worker of this member does not answer: %w", err)
	}
	o, err := jsonobj.Parse(line)
	if err != nil {
		return nil, fmt.Errorf("the answer of the worker of this member: %w", err)
	}
	return o, nil
}

// exchange sends an event and returns the line that answers it.
func exchange(ctx context.Context, path string, e Event) ([]byte, error) {
	c, err := dial(ctx, path)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := send(c, e); err != nil {
		return nil, err
	}
	const longest = 64 << 10
	return bufio.NewReader(io.LimitReader(c, longest)).ReadBytes('\n')
}
