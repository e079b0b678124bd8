package process

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"waggle/control"
	"waggle/internal/claude"
	"waggle/internal/fs/worktree"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/spawn/terminal"
	"waggle/team"
	"waggle/worker"
)

// BackendType returns a backend's name in the registry, which other programs read.
func BackendType(word string) string {
	if word == operator.BackendTmuxWindow {
		return operator.BackendTmux
	}
	return word
}

// own returns the backend of this program (Operator.Backends) with this name.
func (o Operator) own(word string) (spawn.Backend, bool) {
	for _, b := range o.Backends {
		if b.Name() == word {
			return b, true
		}
	}
	return nil, false
}

// OwnWords returns the names of the backends of this program.
func (o Operator) OwnWords() (words []string) {
	for _, b := range o.Backends {
		words = append(words, b.Name())
	}
	return words
}

// ResolveBackend chooses a backend for auto. For a person who runs inside tmux, panes, or windows when the person's own
// pane would become smaller than 80x20. For a person who runs inside iTerm2 that answers, splits. Else processes, which
// a person can attach to too. attended says that a person watches. A backend that is named and missing is an error,
// because the person who asked for panes expects them.
func (o Operator) ResolveBackend(ctx context.Context, word string, attended bool) (string, error) {
	if _, ok := o.own(word); ok {
		return word, nil
	}
	switch word {
	case "", operator.BackendProcess:
		return operator.BackendProcess, nil
	case operator.BackendInProcess, operator.BackendMCP:
		return word, nil
	case operator.BackendTmux, operator.BackendTmuxWindow:
		_, err := o.tmuxProgram()
		return word, err
	case operator.BackendITerm2:
		_, _, err := o.itermProgram()
		return operator.BackendITerm2, err
	case operator.BackendAuto:
		if !attended {
			return operator.BackendProcess, nil
		}
		if program, err := o.tmuxProgram(); err == nil && terminal.TmuxHere(ctx, program, o.Environ) == nil {
			if fits, err := terminal.TmuxFits(ctx, program, o.Environ); err != nil || !fits {
				return operator.BackendTmuxWindow, ctx.Err()
			}
			return operator.BackendTmux, nil
		}
		if program, _, err := o.itermProgram(); err == nil && terminal.ITermHere(ctx, program, o.Environ) == nil {
			return operator.BackendITerm2, nil
		}
		return operator.BackendProcess, ctx.Err()
	}
	return "", &operator.Error{Kind: operator.Usage, Op: "start", Msg: fmt.Sprintf("there is no backend %q", word), Near: append(operator.Backends(), o.OwnWords()...)}
}

// CheckClient refuses a member in a pane whose client cannot be one, before it joins.
func (o Operator) CheckClient(ctx context.Context, m teamfile.FileMember) error {
	if m.Agent != claude.Kind || !teamfile.InPane(m.Backend) {
		return nil
	}
	spec, err := claude.Read(m.Spec)
	if err != nil {
		return err
	}
	found, err := claude.Find(ctx, spec.Program, o.Environ)
	if err == nil {
		err = errors.Join(found.InPane(), claude.Unanswered(o.Environ, m.Cwd))
	}
	if err == nil {
		return nil
	}
	return &operator.Error{Kind: operator.Failed, Op: "start", Msg: fmt.Sprintf("member %s: %v", m.Name, err)}
}

func (o Operator) tmuxProgram() (string, error) {
	program, err := spawn.LookPath("tmux", o.Environ)
	if runtime.GOOS == "windows" {
		err = errors.ErrUnsupported
	}
	if err != nil {
		return "", &operator.Error{Kind: operator.Failed, Op: "start", Msg: "the backend tmux needs tmux: " + err.Error(), Advice: "install tmux, or say backend: process"}
	}
	return program, nil
}

// itermProgram returns it2 and the session of iTerm2 in which this program runs.
func (o Operator) itermProgram() (program, session string, err error) {
	session, inside := terminal.InITerm(o.Environ)
	program, err = spawn.LookPath("it2", o.Environ)
	hint := "install it2 and switch on the Python API in iTerm2's settings, or say backend: process"
	switch {
	case runtime.GOOS == "windows":
		err = errors.ErrUnsupported
	case !inside:
		err, hint = errors.New("this is none"), "start waggle in a window of iTerm2, or say backend: process"
	}
	if err != nil {
		return "", "", &operator.Error{Kind: operator.Failed, Op: "start", Msg: "the backend iterm2 needs a session of iTerm2, and it2: " + err.Error(), Advice: hint}
	}
	return program, session, nil
}

// muxProgram returns the program that controls the multiplexer of a pane.
func (o Operator) muxProgram(p spawn.Pane) (string, error) {
	if p.Mux != spawn.MuxITerm2 {
		return o.tmuxProgram()
	}
	program, err := spawn.LookPath("it2", o.Environ)
	if err != nil {
		err = &operator.Error{Kind: operator.Failed, Op: "pane", Msg: "a split of iTerm2 needs it2: " + err.Error(), Advice: "install it2"}
	}
	return program, err
}

// backend opens the backend of a name.
func (o Operator) backend(s *operator.State, word string) (spawn.Backend, error) {
	if runtime.GOOS == "windows" {
		return spawn.ProcessBackend(), nil // it has no terminals of this kind
	}
	opts := terminal.Options{Holder: []string{o.Self, "hold"}, Dir: s.Dir.Processes(), Rand: o.Minter.Rand,
		Socket: func(id string) string { return s.Dir.Sockets(o.RunPath()).Path("tty-" + id) }}
	switch word {
	case operator.BackendTmux, operator.BackendTmuxWindow:
	case operator.BackendITerm2:
		it2, home, err := o.itermProgram()
		return terminal.ITerm2(terminal.ITerm2Options{Options: opts, Program: it2, Env: o.Environ, Home: home}), err
	default:
		return terminal.Process(opts), nil
	}
	program, err := o.tmuxProgram()
	if err != nil {
		return nil, err
	}
	t := terminal.TmuxOptions{Options: opts, Program: program, Env: o.Environ, Session: "waggle-" + string(s.Team), Windows: word == operator.BackendTmuxWindow}
	var inside bool
	if t.Socket, t.Home, inside = terminal.InTmux(o.Environ); !inside {
		t.Socket, t.Home = s.Dir.Sockets(o.RunPath()).Path("tmux"), ""
	}
	return terminal.Tmux(t), nil
}

// Worker returns how a member's process runs it: a backend starts its Argv, and worker.Join runs it
// in this process.
func (o Operator) Worker(s *operator.State, i record.Instance) worker.Options {
	return worker.Options{Root: team.Root{Path: o.Root.Path}, Team: s.Team, State: s.Dir, Instance: i, Sockets: s.Dir.Sockets(o.RunPath()),
		Who: mail.SessionsOf(o.ClaudeDir), Minter: o.Minter, Environ: o.Environ, Version: o.Version, Log: o.Log, Confine: o.Confine}
}

// StartWorker starts the hidden worker program for an instance that has joined, in the backend that
// it joined with. l watches the process; with nil this program does not lead, and the process that
// leads finds it by its record.
func (o Operator) StartWorker(ctx context.Context, l *leader.Leader, s *operator.State, i record.Instance, name protocol.MemberName, cwd, log string) (p *spawn.Process, err error) {
	word, color := operator.BackendProcess, ""
	var tree *record.Worktree
	if m, ok := s.Lead.ByInstance(i); ok {
		word, color = m.Backend, m.Color
		if tree = m.Worktree; tree != nil {
			cwd = m.Cwd
		}
	}
	if tree != nil {
		if err := o.worktrees(s).Restore(ctx, worktree.Tree(*tree)); err != nil {
			return nil, worktreeError(name, err)
		}
	}
	b, own := o.own(word)
	switch {
	case own:
	case word == operator.BackendInProcess:
		b = o.inside(s, i)
	default:
		if b, err = o.backend(s, word); err != nil {
			return nil, err
		}
	}
	run := o.Worker(s, i)
	if m, ok := s.Lead.ByInstance(i); ok && m.Agent == claude.Kind && teamfile.InPane(word) {
		run.Pane = filepath.Join(o.Root.MemberDir(s.Team, name), "worker.log")
	}
	spec := spawn.Spec{Argv: run.Argv(o.Self), Dir: cwd, Env: o.memberEnviron(s, i), Log: log, Title: string(name), Color: tmuxColors[color]}
	if l == nil {
		p, err = b.Start(ctx, spec)
	} else {
		p, err = l.Start(ctx, i, b, spec)
	}
	if err == nil && p.Place().Pane != nil {
		err = o.placed(ctx, s, name, *p.Place().Pane)
	}
	return p, err
}

// memberEnviron is the environment of a member's process: this program's, without what is true of this program only, and
// with the member's ports and mark. A backend adds the terminal.
func (o Operator) memberEnviron(s *operator.State, i record.Instance) []string {
	env := spawn.Without(o.Environ, spawn.ScopeRepository, spawn.ScopeSession, spawn.ScopeTerminal, spawn.ScopeMember)
	return append(env, PortBase(s, i), spawn.MemberMark(owner(s, i)))
}

// owner returns the mark of an instance, <team>-<id8>/<instance>, for the environment of its
// process and the processes below. Leftover processes are found by it.
func owner(s *operator.State, i record.Instance) string {
	return filepath.Base(s.Dir.Path) + "/" + string(i)
}

// placed writes the pane into the registry, for other programs.
func (o Operator) placed(ctx context.Context, s *operator.State, name protocol.MemberName, pane spawn.Pane) error {
	reg, err := team.Open(o.Root, s.Team, team.Options{})
	if err != nil {
		return err
	}
	word := operator.BackendTmux
	if pane.Mux == spawn.MuxITerm2 {
		word = operator.BackendITerm2
	}
	return reg.Place(ctx, name, word, pane.ID)
}

// held returns the terminal of a member's running process, or of its last one while its pane is
// open. nil without an error: it has only its log.
func (o Operator) held(s *operator.State, name protocol.MemberName) (*terminal.Held, error) {
	m, ok := s.Lead.Member(name)
	if !ok || m.Process == nil {
		return nil, nil
	}
	list, err := o.Terminals(s)
	for _, h := range list {
		if h.Process == m.Process.ID {
			return &h, nil
		}
	}
	return nil, err
}

// holderWait is how long a holder may take to end after its process.
const holderWait = 3 * time.Second

// CloseTerminals closes the panes of members that have left, and removes the records of their
// holders. The pane of a member that died stays, unless read returns true, because it shows the
// last output.
func (o Operator) CloseTerminals(ctx context.Context, s *operator.State, read func(*control.Member) bool) error {
	list, err := o.Terminals(s)
	errs := []error{err}
	list = slices.DeleteFunc(list, func(h terminal.Held) bool { return o.stays(s, h.Process, read) })
	o.Await(ctx, holderWait, func() bool { return !slices.ContainsFunc(list, lingers) })
	for _, h := range list {
		errs = append(errs, o.closeTerminal(ctx, h))
	}
	return errors.Join(errs...)
}

// Unread keeps the panes of members that died.
func Unread(*control.Member) bool { return false }

// AllRead keeps no pane.
func AllRead(*control.Member) bool { return true }

// lingers reports a holder that has not ended after its process.
func lingers(h terminal.Held) bool { return !h.Gone() && !h.Process.Alive() }

func (o Operator) closeTerminal(ctx context.Context, h terminal.Held) error {
	if lingers(h) {
		if _, err := spawn.StopTree(ctx, *h.Place.Holder, leftovers); err != nil {
			return fmt.Errorf("the holder of a terminal: %w", err)
		}
	}
	if !h.Gone() {
		return nil // its process runs, and its holder ends with it
	}
	program := ""
	if h.Place.Pane != nil {
		var err error
		if program, err = o.muxProgram(*h.Place.Pane); err != nil {
			return err
		}
	}
	return h.Close(ctx, program, o.Environ)
}

// stays reports a process of a present member, or of one that died.
func (o Operator) stays(s *operator.State, id spawn.Identity, read func(*control.Member) bool) bool {
	for _, m := range s.Lead.Members {
		if m.Process != nil && m.Process.ID == id {
			return m.Left == nil || m.Left.How == record.LeftDied && !read(m)
		}
	}
	return id.Alive() // its record is not written yet
}

// Await waits until cond holds, and reports whether it did in time.
func (o Operator) Await(ctx context.Context, limit time.Duration, cond func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := o.Minter.Now().Add(limit); !cond(); {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if o.Minter.Now().After(until) {
			return cond()
		}
	}
	return true
}

// tmuxColors are the colours of members as tmux names them.
var tmuxColors = map[string]string{"red": "red", "green": "green", "yellow": "yellow", "blue": "blue", "magenta": "magenta", "cyan": "cyan",
	"purple": "magenta", "orange": "colour208", "pink": "colour213"}

// recordWait is how long a started process may take to write its record.
const recordWait = 5 * time.Second

// Terminal returns the terminal of a member, for viewing.
func (o Operator) Terminal(ctx context.Context, name protocol.TeamName, member protocol.MemberName) (*terminal.Held, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return nil, err
	}
	member = operator.LeadOf(s, protocol.Address{Scheme: protocol.SchemeMember, Member: member}).Member
	m, ok := s.Lead.Member(member)
	if !ok {
		var known []string
		for _, m := range s.Lead.Members {
			known = append(known, string(m.Name))
		}
		return nil, &team.NotFoundError{What: "member", Name: string(member), Near: team.Near(string(member), known)}
	}
	o.Await(ctx, recordWait, func() bool {
		err = s.Journal.Refresh(ctx)
		m, _ = s.Lead.Member(member)
		return err != nil || m.Left != nil || m.Process != nil
	})
	if err != nil {
		return nil, err
	}
	h, err := o.held(s, member)
	if err != nil {
		return nil, err
	}
	log := "its log is " + filepath.Join(o.Root.MemberDir(name, member), "output.log")
	if m.Backend == operator.BackendInProcess {
		return nil, &operator.Error{Kind: operator.NotFound, Op: "attach", Msg: fmt.Sprintf("%s lives in the leader's process and has no terminal", member), Advice: log}
	}
	if h == nil || h.Place.Socket == "" && h.Place.Pane == nil || h.Place.Pane == nil && !h.Process.Alive() {
		return nil, &operator.Error{Kind: operator.NotFound, Op: "attach", Msg: fmt.Sprintf("%s has no terminal that can be attached to", member),
			Advice: log}
	}
	return h, nil
}

// ShowPane returns the command that shows a pane, to type into it: tmux switches to it when the caller's
// terminal is in the same server, else attaches to it; iTerm2 shows it in its own window. With look no key reaches it,
// which inside the same server cannot be.
func (o Operator) ShowPane(p spawn.Pane, look bool) (argv []string, err error) {
	program, err := o.muxProgram(p)
	if err != nil {
		return nil, err
	}
	if p.Mux == spawn.MuxITerm2 {
		return []string{program, "session", "focus", p.ID}, nil
	}
	argv = []string{program, "-S", p.Socket, "select-window", "-t", p.ID, ";", "select-pane", "-t", p.ID}
	socket, _, inside := terminal.InTmux(o.Environ)
	switch same := inside && socket == p.Socket; {
	case same && look:
		return nil, &operator.Error{Kind: operator.Refused, Op: "attach", Msg: "pane " + p.ID + " is in the tmux of this terminal, where your keys reach it", Next: operator.NextTypeThere.With()}
	case same:
		return append(argv, ";", "switch-client", "-t", p.ID), nil
	case look:
		return append(argv, ";", "attach-session", "-r", "-t", p.ID), nil
	}
	return append(argv, ";", "attach-session", "-t", p.ID), nil
}
