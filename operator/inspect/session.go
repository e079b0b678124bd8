package inspect

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"waggle/control"
	"waggle/internal/claude/session"
	"waggle/internal/screen"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/spawn/terminal"
)

// SessionNamed returns by what a session is found that a person names where a member is expected: the process
// of an adopted member of the team, else the word, also behind an @, when a running session has it as its name, pid
// or id; "" for no session. The team may be "".
func (o Operator) SessionNamed(ctx context.Context, name protocol.TeamName, word string) string {
	if name != "" {
		if s, err := o.Open(ctx, name, operator.Act); err == nil {
			if m, ok := s.Lead.Member(protocol.MemberName(word)); ok && m.Left == nil {
				return adoptedPID(m)
			}
		}
	}
	if word = strings.TrimPrefix(word, "@"); mail.Of(o.Operator).HasSession(word) {
		return word
	}
	return ""
}

// adoptedPID is the process of an adopted member that runs, "" of another.
func adoptedPID(m *control.Member) string {
	if m.Backend != mail.BackendAdopted || m.Process == nil || operator.Gone(m.Process.ID) {
		return ""
	}
	return strconv.Itoa(m.Process.ID.PID)
}

// WhySession is Why for a session, by its name, pid or id.
func (o Operator) WhySession(what string) (*Why, error) {
	r, err := o.session("why", what)
	if err != nil {
		return nil, err
	}
	y := &Why{Standing: sessionStanding(r), Trust: record.Level(decide.LevelAnswers), Evidence: []Fact{}}
	if r.PID != 0 {
		y.add(fromProcess, time.Time{}, "process %d runs", r.PID)
	} else {
		y.add(fromProcess, time.Time{}, "its process runs other sessions, too")
	}
	y.fromSession(r)
	return y, nil
}

// fromSession adds what is known of a session.
func (y *Why) fromSession(r session.Row) {
	const from = "its session"
	y.add(from, r.Since, "%s is session %s of %s, in %s, and is %s", r.Name, r.ID, strings.TrimSpace(string(r.Client)+" "+r.Version), r.Cwd, r.State+operator.Suffix(r.Why))
	for _, q := range r.Open {
		y.add(from, q.At, "asks %s: %s", q.Handle, brief(decide.Brief(q.Kind, q.Ask)))
	}
	for _, q := range r.Left {
		y.add(from, q.At, "asks in its own terminal: %s", brief(decide.Brief(q.Kind, q.Ask)))
	}
	if !r.Hooked {
		y.add(from, time.Time{}, "no hook has reported of it: its questions are not seen")
	}
	if r.Socket == "" {
		y.add(from, time.Time{}, "it takes no words: its client has no socket")
	} else {
		y.add(from, time.Time{}, "it takes words at %s", r.Socket)
	}
}

// PeekSession is Peek for a session in a pane of tmux, by its name, pid or id: its screen, at most n lines from
// its end.
func (o Operator) PeekSession(ctx context.Context, what string, n int) (*Peek, error) {
	r, pane, err := o.sessionPane(ctx, "peek", what)
	if err != nil {
		return nil, err
	}
	program, err := spawn.LookPath("tmux", o.Environ)
	if err != nil {
		return nil, err
	}
	text, err := terminal.TmuxScreen(ctx, program, o.Environ, pane)
	if err != nil {
		return nil, &operator.Error{Kind: operator.Failed, Op: "peek", Err: err}
	}
	p := &Peek{Standing: sessionStanding(r), At: o.Minter.Now(), Shown: ShownScreen, Where: WhereTeam, Pane: &pane}
	p.Lines, p.Earlier = ScreenLines(text, n)
	return p, nil
}

// ScreenLines are the last lines of a screen, at most n, and whether there are more before them.
func ScreenLines(text string, n int) (lines []string, earlier bool) {
	lines = screen.Lines([]byte(strings.TrimRight(text, " \n")))
	over := max(0, len(lines)-n)
	return lines[over:], over > 0
}

// Follow follows the pane of a peek at a session.
func (o Operator) Follow(ctx context.Context, p spawn.Pane) (*terminal.PaneFollower, error) {
	program, err := spawn.LookPath("tmux", o.Environ)
	if err != nil {
		return nil, err
	}
	return terminal.FollowTmux(ctx, program, o.Environ, p)
}

// sessions are the sessions that run.
func (o Operator) sessions() session.View {
	return session.At(o.Home.Path, o.Minter.Now).List(o.ClaudeDir, session.Looking(o.Ancestors))
}

// session finds a running session by its name, pid or id, for an operation op.
func (o Operator) session(op, what string) (session.Row, error) {
	id, err := mail.Of(o.Operator).SessionID(op, what)
	if err != nil {
		return session.Row{}, err
	}
	r, ok := o.sessions().Of(session.ID(id))
	if !ok {
		return r, &operator.Error{Kind: operator.NotFound, Op: op, Msg: what + " has just ended"}
	}
	return r, nil
}

// SessionPane finds the pane of tmux that a session runs in, by the session's name, pid or id: on the server of this
// terminal, or the default one. The pane's process is the session's or above it.
func (o Operator) SessionPane(ctx context.Context, op, what string) (spawn.Pane, error) {
	_, p, err := o.sessionPane(ctx, op, what)
	return p, err
}

func (o Operator) sessionPane(ctx context.Context, op, what string) (session.Row, spawn.Pane, error) {
	r, err := o.session(op, what)
	if err != nil {
		return r, spawn.Pane{}, err
	}
	none := &operator.Error{Kind: operator.Refused, Op: op, Msg: fmt.Sprintf("session %s, process %d, is in no pane of tmux that is found here", r.Name, r.PID), Advice: "go to its own terminal"}
	if r.PID == 0 {
		none.Msg = fmt.Sprintf("session %s runs in a process that runs other sessions, too: its pane is not known", r.Name)
		return r, spawn.Pane{}, none
	}
	program, err := spawn.LookPath("tmux", o.Environ)
	if err != nil {
		return r, spawn.Pane{}, none
	}
	pids := []int{r.PID}
	above, _ := session.Looking(o.Ancestors).Ancestors(r.PID) // those that can be seen
	for _, id := range above {
		pids = append(pids, id.PID)
	}
	for _, socket := range tmuxSockets(o.Environ) {
		if pane, ok := terminal.TmuxPaneOf(ctx, program, o.Environ, socket, pids); ok {
			return r, pane, nil
		}
	}
	return r, spawn.Pane{}, none
}

// tmuxSockets are the sockets of the tmux server of an environment, and of the default one.
func tmuxSockets(env []string) (sockets []string) {
	if socket, _, ok := terminal.InTmux(env); ok {
		sockets = append(sockets, socket)
	}
	dir := cmp.Or(spawn.Getenv(env, "TMUX_TMPDIR"), "/tmp")
	return append(sockets, filepath.Join(dir, fmt.Sprintf("tmux-%d", os.Getuid()), "default"))
}
