package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/cut"
	"waggle/spawn"
)

// TmuxOptions say which tmux, and where in it.
type TmuxOptions struct {
	Options
	// Program is tmux, an absolute path.
	Program string
	// Env is what tmux itself is run with; a member gets what its Spec says, and its pane.
	Env []string
	// Socket is the server's socket, an absolute path. Without Home the server is
	// ours and made when it is not there.
	Socket string
	// Home is a pane ("%0"), ours when we run inside tmux: members get panes beside it if no other
	// pane is in its window, else a window of their own, in its session when the pane is gone. ""
	// puts them into a session of their own. When Env has the variable TMUX of that server, only
	// that run of it will do.
	Home string
	// Session names that session, and the window; required.
	Session string
	// Windows gives each member a window instead of a pane.
	Windows bool
}

// InTmux reads where a program runs from its environment: the server's socket and
// its own pane. ok is false outside tmux.
func InTmux(env []string) (socket, pane string, ok bool) {
	socket, _, _ = tmuxVar(env)
	pane = spawn.Getenv(env, "TMUX_PANE")
	return socket, pane, filepath.IsAbs(socket) && paneID(pane)
}

// tmuxVar reads the variable TMUX: SOCKET,PID,SESSION. A socket's path may have
// commas. The session is a number.
func tmuxVar(env []string) (socket, pid, session string) {
	v := spawn.Getenv(env, "TMUX")
	i := strings.LastIndexByte(v, ',')
	j := strings.LastIndexByte(v[:max(i, 0)], ',')
	if j <= 0 {
		return "", "", ""
	}
	return v[:j], v[j+1 : i], v[i+1:]
}

// paneID reports whether s is spelled like tmux spells the id of a pane.
func paneID(s string) bool {
	n, ok := strings.CutPrefix(s, "%")
	return ok && n != "" && strings.Trim(n, "0123456789") == ""
}

// Tmux is the backend "tmux": each process in a pane, started by tmux directly and
// never typed. A pane whose process has ended stays, for people to read, until
// ClosePane. The panes are titled with Spec.Title and coloured with its Color.
func Tmux(o TmuxOptions) spawn.Backend {
	return spawn.NewBackend("tmux", " in tmux", tmuxBackend{tmux{o.Program, o.Socket, o.Env}, o}.start)
}

type tmuxBackend struct {
	tmux
	o TmuxOptions
}

func (b tmuxBackend) start(ctx context.Context, spec spawn.Spec) (*spawn.Process, error) {
	p, err := b.o.name(ctx, spec)
	if err == nil {
		err = p.promise()
	}
	if err != nil {
		return nil, err
	}
	pane, holder, err := b.open(ctx, p, spec)
	if err != nil {
		p.clear()
		return nil, err
	}
	var h hold
	if err = p.lay(b.o.Options, spec, &pane); err == nil {
		h, err = p.wait(ctx, holder.Alive)
	}
	if err != nil {
		_, serr := spawn.StopTree(context.WithoutCancel(ctx), holder, spawn.Grace{})
		err = errors.Join(err, serr, closePane(context.WithoutCancel(ctx), b.tmux, pane, holder))
		p.clear()
		return nil, err
	}
	return spawn.NewProcess(h.Process, h.Place, func() spawn.Exit { return p.ended(h) }), nil
}

// open makes a pane in which a holder waits for its hand-over, and dresses it.
func (b tmuxBackend) open(ctx context.Context, p paths, spec spawn.Spec) (spawn.Pane, spawn.Identity, error) {
	over, err := b.o.turn(ctx, "tmux.lock")
	if err != nil {
		return spawn.Pane{}, spawn.Identity{}, err
	}
	defer over()
	argv := append(b.o.Holder[:len(b.o.Holder):len(b.o.Holder)], p.handover())
	made, err := b.split(ctx, spec, argv)
	if err != nil {
		return spawn.Pane{}, spawn.Identity{}, err
	}
	f := strings.Fields(made)
	if len(f) != 4 || !paneID(f[0]) {
		return spawn.Pane{}, spawn.Identity{}, fmt.Errorf("tmux said %q of its new pane", made)
	}
	holder, err := identify(f[1])
	if err != nil {
		return spawn.Pane{}, spawn.Identity{}, err
	}
	server, err := identify(f[3])
	if err != nil {
		return spawn.Pane{}, spawn.Identity{}, err
	}
	pane := spawn.Pane{Server: server, Socket: b.o.Socket, ID: f[0], Window: f[2]}
	if err := b.dress(ctx, pane, holder, spec); err != nil {
		_, serr := spawn.StopTree(context.WithoutCancel(ctx), holder, spawn.Grace{})
		return pane, holder, errors.Join(err, serr)
	}
	return pane, holder, nil
}

func identify(pid string) (spawn.Identity, error) {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return spawn.Identity{}, fmt.Errorf("tmux said %q for a pid", pid)
	}
	return spawn.Identify(n)
}

// paneFormat is what a command that makes a pane prints.
const paneFormat = "#{pane_id} #{pane_pid} #{window_id} #{pid}"

// split makes the pane where the options want it.
func (b tmuxBackend) split(ctx context.Context, spec spawn.Spec, argv []string) (string, error) {
	made := append([]string{"-d", "-P", "-F", paneFormat, "--"}, argv...)
	at, err := b.room(ctx)
	if err != nil {
		return "", err
	}
	if at.window == "" {
		// The session is for people to attach to, so that it stays without them. The server is for its panes: it ends
		// with the last.
		made = append(made, ";", "set-option", "-t", "="+b.o.Session+":", "destroy-unattached", "off", ";", "set-option", "-s", "exit-unattached", "off", ";", "set-option", "-s", "exit-empty", "on")
		return b.run(ctx, append([]string{"new-session", "-s", b.o.Session, "-n", plain(b.o.Session), "-x", "200", "-y", "50"}, made...)...)
	}
	window := func(name string) (string, error) {
		return b.run(ctx, append([]string{"new-window", "-a", "-t", at.window, "-n", plain(name)}, made...)...)
	}
	if b.o.Windows {
		return window(spec.Title)
	}
	if at.pane == "" {
		return window(b.o.Session)
	}
	split := []string{"split-window", "-t", at.pane}
	if at.pane == b.o.Home { // it has its later width at once
		h, err := b.home(ctx, at.pane)
		if err != nil {
			return "", err
		}
		split = append(split, "-h", "-l", strconv.Itoa(max(1, h.windowW-h.keeps()-1)))
	}
	out, err := b.run(ctx, append(split, made...)...)
	if err != nil && strings.Contains(err.Error(), "no space") {
		return window(b.o.Session)
	}
	return out, err
}

// TmuxHere says why members cannot be shown beside a program with this environment: it
// does not run in tmux, or that server has ended since. nil: they can.
func TmuxHere(ctx context.Context, program string, env []string) error {
	socket, _, ok := InTmux(env)
	if !ok {
		return errors.New("this is no pane of tmux")
	}
	_, pid, _ := tmuxVar(env)
	now, err := tmux{program, socket, env}.run(ctx, "display-message", "-p", "#{pid}")
	if err == nil && strings.TrimSpace(now) != pid {
		err = fmt.Errorf("another tmux server runs at %s", socket)
	}
	return err
}

// room is the place for the next member: after a pane, or after a window; a session stands for its
// current window.
type room struct{ window, pane string }

// room finds it: after the last pane of the newest window that has one of ours, after Home when
// Home is alone in its window, else after that window, else in a session. The zero room is a server
// of ours that does not run.
func (b tmuxBackend) room(ctx context.Context) (room, error) {
	out, err := b.run(ctx, "list-panes", "-a", "-F", "#{window_id} #{pane_id} #{window_panes} #{session_id} #{session_attached} #{pid} #{@waggle-session}")
	switch {
	case err != nil && isNoServer(err) && b.o.Home == "":
		return room{}, nil
	case err != nil && isNoServer(err):
		return room{}, b.serverGone()
	case err != nil:
		return room{}, err
	}
	socket, pid, session := tmuxVar(b.env)
	var ours, home, other room
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 6 {
			return room{}, fmt.Errorf("tmux said %.200q of a pane", line)
		}
		if b.o.Home != "" && socket == b.o.Socket && f[5] != pid {
			return room{}, b.serverGone()
		}
		if len(f) == 7 && f[6] == b.o.Session {
			ours = room{f[0], f[1]}
		}
		if f[1] == b.o.Home {
			if home = (room{window: f[0]}); f[2] == "1" {
				home.pane = f[1]
			}
		}
		// Of several sessions Home's, else one with an attached client.
		if ofHome := f[3] == "$"+session; other == (room{}) || ofHome || f[4] != "0" && other.window != "$"+session+":" {
			other = room{window: f[3] + ":"}
		}
	}
	for _, r := range []room{ours, home, other} {
		if r != (room{}) {
			return r, nil
		}
	}
	return room{}, nil
}

func (b tmuxBackend) serverGone() error {
	return fmt.Errorf("the tmux server at %s that this was started in has ended: start again from a tmux that runs, or outside of tmux", b.o.Socket)
}

// dress titles and colours a pane, keeps it when its process ends, and evens out the layout of its
// window.
func (b tmuxBackend) dress(ctx context.Context, p spawn.Pane, holder spawn.Identity, spec spawn.Spec) error {
	title, color := plain(spec.Title), plain(spec.Color)
	if color == "" {
		color = "default"
	}
	var cmd []string
	for _, s := range [][2]string{
		{"remain-on-exit", "on"},
		{"@waggle-session", b.o.Session},
		{"@waggle-holder", mark(holder)},
		{"@waggle-name", title},
		{"@waggle-color", color},
	} {
		cmd = append(cmd, "set-option", "-p", "-t", p.ID, s[0], s[1], ";")
	}
	if _, err := b.run(ctx, append(cmd, "select-pane", "-t", p.ID, "-T", title)...); err != nil {
		return err
	}
	if b.o.Windows {
		return nil
	}
	first := b.firstWidth(ctx, p.Window)
	for _, o := range windowOptions {
		value := o[1]
		if o[0] == mainWidth {
			value = first
		}
		if err := b.change(ctx, p.Window, o[0], value); err != nil {
			return err
		}
	}
	_, err := b.run(ctx, "select-layout", "-t", p.Window, "main-vertical")
	return err
}

// TmuxState shows the state of who is in a pane of ours beside its name, by one command of tmux. It does nothing where
// the pane or its server has ended. program is tmux.
func TmuxState(ctx context.Context, program string, env []string, p spawn.Pane, state string) error {
	if !p.Server.Alive() || !paneID(p.ID) {
		return nil
	}
	_, err := tmux{program, p.Socket, env}.run(ctx, "set-option", "-p", "-t", p.ID, "@waggle-state", plain(state))
	if err != nil && !isNoServer(err) && !isClosed(err) {
		return fmt.Errorf("spawn: name pane: %w", err)
	}
	return nil
}

// windowOptions are what a window with our panes has: the panes' names and states, in their
// colours, above them, and the first pane on the left. A pane that is not ours keeps
// its title.
var windowOptions = [][2]string{
	{"pane-border-status", "top"},
	{"pane-border-format", "#{?@waggle-name,#[fg=#{@waggle-color}] #{@waggle-name}#{?@waggle-state,: #{@waggle-state},} #[default], #{pane_title} }"},
	{mainWidth, "30%"},
}

const mainWidth = "main-pane-width"

// firstWidth is how wide the first pane of a window is: a third, or what Home keeps.
func (b tmuxBackend) firstWidth(ctx context.Context, window string) string {
	if b.o.Home != "" {
		if h, err := b.home(ctx, b.o.Home); err == nil && h.window == window {
			return strconv.Itoa(h.keeps())
		}
	}
	return "30%"
}

// was names the option in which a window remembers what one of its own options was.
func was(option string) string { return "@waggle-was-" + option }

// unset stands for an option that a window does not set itself.
const unset = "-"

// change sets an option of a window, the first time remembering what it was.
func (t tmux) change(ctx context.Context, window, option, value string) error {
	known, err := t.option(ctx, window, was(option))
	if err != nil || known != "" {
		return err
	}
	own, err := t.option(ctx, window, option)
	if err != nil {
		return err
	}
	if own == "" {
		own = unset
	}
	_, err = t.run(ctx, "set-option", "-w", "-t", window, was(option), own, ";", "set-option", "-w", "-t", window, option, value)
	return err
}

// restore undoes change.
func (t tmux) restore(ctx context.Context, window, option string) error {
	own, err := t.option(ctx, window, was(option))
	if err != nil || own == "" {
		return err
	}
	set := []string{"set-option", "-w", "-t", window, option, own}
	if own == unset {
		set = []string{"set-option", "-wu", "-t", window, option}
	}
	_, err = t.run(ctx, append(set, ";", "set-option", "-wu", "-t", window, was(option))...)
	return err
}

// option is a window's own option, "" when it has none.
func (t tmux) option(ctx context.Context, window, name string) (string, error) {
	out, err := t.run(ctx, "show-options", "-wqv", "-t", window, name)
	return strings.TrimSuffix(out, "\n"), err
}

// mark is how a pane says which holder it was made for.
func mark(id spawn.Identity) string { return strconv.Itoa(id.PID) + "." + id.Start }

// plain is a name without what tmux expands in formats and without what a terminal
// obeys.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '#' || r == ';' {
			return '_'
		}
		return r
	}, s)
}

// tmux runs the client of one server.
type tmux struct {
	program, socket string
	env             []string
}

// apart is a command in a process group of its own: a Ctrl-C on this program's terminal is for this
// program, which closes what it has opened.
func apart(ctx context.Context, env []string, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.SysProcAttr, cmd.WaitDelay = append([]string{}, env...), ownGroup(), leaveWait
	return cmd
}

// leaveWait is how long the output of a program that has ended may stay open: the server of tmux has its client's too.
const leaveWait = 500 * time.Millisecond

// runApart runs a program apart, and returns what it printed and said. One that has ended well has, though its output stays
// open.
func runApart(ctx context.Context, env []string, program string, args ...string) (out, said cut.Head, err error) {
	cmd := apart(ctx, env, program, args...)
	out.Max, said.Max = maxSaid, maxSaid
	cmd.Stdout, cmd.Stderr = &out, &said
	if err = cmd.Run(); errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return out, said, err
}

// run runs one command, or several with ";" between them. When ctx ends, the client is killed; a server that is stopped
// does not hold run.
func (t tmux) run(ctx context.Context, args ...string) (string, error) {
	out, said, err := runApart(ctx, t.env, t.program, append([]string{"-u", "-S", t.socket}, args...)...)
	text := strings.TrimSpace(string(said.Kept))
	switch {
	case out.Over:
		return "", fmt.Errorf("%s: tmux printed more than %d bytes", args[0], maxSaid)
	case err == nil:
		return string(out.Kept), nil
	case text != "":
		return "", fmt.Errorf("%s: %s", args[0], text)
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: tmux did not answer in time: %w", args[0], ctx.Err())
	}
	return "", err
}

// isNoServer reports that there is no server at the socket.
func isNoServer(err error) bool {
	s := err.Error()
	return strings.Contains(s, "no server running") || strings.Contains(s, "server exited") || strings.Contains(s, "lost server") || strings.Contains(s, "error connecting") || strings.Contains(s, "no sessions")
}

// isClosed reports that a pane or its window went while it was being closed: several
// programs may close the panes of one team.
func isClosed(err error) bool {
	return strings.Contains(err.Error(), "can't find pane") || strings.Contains(err.Error(), "can't find window") || strings.Contains(err.Error(), "no such window")
}

// ClosePane closes the pane of a process that has ended, if its server and the pane have the
// recorded identity. Otherwise it does nothing and returns no error, also for the pane in which, by
// env, this program runs. program is that of the pane's multiplexer, tmux or it2, and env the
// environment that it is run with.
func ClosePane(ctx context.Context, program string, env []string, p spawn.Place) error {
	if p.Pane == nil || p.Holder == nil {
		return nil
	}
	if p.Pane.Mux == spawn.MuxITerm2 {
		return closeSession(ctx, it2{program, env}, *p.Pane)
	}
	return closePane(ctx, tmux{program, p.Pane.Socket, env}, *p.Pane, *p.Holder)
}

func closePane(ctx context.Context, t tmux, p spawn.Pane, holder spawn.Identity) error {
	if !p.Server.Alive() || !paneID(p.ID) {
		return nil
	}
	if socket, own, ok := InTmux(t.env); ok && socket == p.Socket && own == p.ID {
		return nil
	}
	out, err := t.run(ctx, "list-panes", "-a", "-F", "#{pane_id} #{@waggle-holder} #{window_id} #{pid}")
	if err != nil {
		if isNoServer(err) {
			return nil
		}
		return fmt.Errorf("spawn: close pane: %w", err)
	}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 4 || f[0] != p.ID || f[1] != mark(holder) || f[3] != strconv.Itoa(p.Server.PID) {
			continue
		}
		if err := t.undress(ctx, f[2], p.ID, out); err != nil && !isNoServer(err) && !isClosed(err) {
			return fmt.Errorf("spawn: close pane: %w", err)
		}
		if _, err := t.run(ctx, "kill-pane", "-t", p.ID); err != nil && !isNoServer(err) && !isClosed(err) {
			return fmt.Errorf("spawn: close pane: %w", err)
		}
		return nil
	}
	return nil
}

// closeOwn closes the pane of tmux that this holder was marked in: whoever dressed it, so that it stays, died before anybody
// else knew of it.
func closeOwn(ctx context.Context, env []string) error {
	socket, pane, ok := InTmux(env)
	program, err := spawn.LookPath("tmux", env)
	if !ok || err != nil {
		return nil
	}
	_, pid, _ := tmuxVar(env)
	server, err := identify(pid)
	if err != nil {
		return nil // it has ended
	}
	self, err := spawn.Identify(os.Getpid())
	if err != nil {
		return err
	}
	outside := slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, "TMUX_PANE=") })
	return closePane(ctx, tmux{program, socket, outside}, spawn.Pane{Server: server, Socket: socket, ID: pane}, self)
}

// undress gives a window back what it showed, when its last pane of ours closes.
func (t tmux) undress(ctx context.Context, window, pane, panes string) error {
	for line := range strings.Lines(panes) {
		if f := strings.Fields(line); len(f) == 4 && f[2] == window && f[0] != pane {
			return nil // another one of ours is there
		}
	}
	for _, o := range windowOptions {
		if err := t.restore(ctx, window, o[0]); err != nil {
			return err
		}
	}
	return nil
}

// TmuxPaneOf finds the pane of a server, by its socket, whose own process is one of these, the first of them
// that has one; false where there is none, or no server.
func TmuxPaneOf(ctx context.Context, program string, env []string, socket string, pids []int) (spawn.Pane, bool) {
	out, err := tmux{program, socket, env}.run(ctx, "list-panes", "-a", "-F", paneFormat)
	if err != nil {
		return spawn.Pane{}, false
	}
	for _, pid := range pids {
		for line := range strings.Lines(out) {
			f := strings.Fields(line)
			if len(f) != 4 || f[1] != strconv.Itoa(pid) || !paneID(f[0]) {
				continue
			}
			if server, err := identify(f[3]); err == nil {
				return spawn.Pane{Server: server, Socket: socket, ID: f[0], Window: f[2]}, true
			}
		}
	}
	return spawn.Pane{}, false
}

// TmuxScreen returns what a pane shows now.
func TmuxScreen(ctx context.Context, program string, env []string, p spawn.Pane) (string, error) {
	return tmux{program, p.Socket, env}.run(ctx, "capture-pane", "-p", "-t", p.ID)
}
