package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/commands"
	"waggle/internal/fs/gitdir"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
)

// Confine makes the sandbox of one member and runs its self-test. An error means that the member
// must not run.
type Confine func(ctx context.Context, c Confining) (Confinement, error)

// Confinement is the sandbox of one member.
type Confinement interface {
	agent.Exec
	// Enforcer permits connections with a grant only. It is used only at level enforced.
	Enforcer
	// Held is the level of the sandbox and its gaps, as the self-test found them.
	Held() record.Held
	// Writable returns why waggle must not write a file for the member; nil: the member's commands
	// could write it too. The path has no links.
	Writable(path string) error
	// Box is the sandbox as the program of a resident agent has it; nil: that program cannot run in
	// it.
	Box() *agent.Box
	// Shell is the sandbox of the shell commands of a resident agent whose program runs outside; nil:
	// there is no such program.
	Shell() *agent.Shell
	// Close ends everything. No command runs any more.
	Close() error
}

// Confining has the settings of a Confinement.
type Confining struct {
	Want    record.Sandbox
	Name    protocol.MemberName
	Tree    string   // the directory that is the member's own: its worktree, else its working directory
	Real    string   // Tree without links, when the member joined; "": that is not on record
	Own     string   // its directory in the wire tree, with its log and status
	Dir     string   // a private directory for runtime files: a copy of the program, temporary files
	Sockets string   // another for the sockets of its commands, below RUN, which may be small and in memory; "": Dir
	Hidden  []string // waggle's state and sockets, mailboxes, other members' trees
	Lent    []string // directories of others that its commands read: the repository of its checkout
	// Existing leaves out caches that are not there, which a member's start makes.
	Existing bool
	Guarded  []string // files that rule the team: they stay as they are
	// Denied are the member's deny rules at this moment; nil: it has none.
	Denied  func() []policy.Rule
	Needs   *agent.Needs // of a resident agent; nil: commands alone run in it
	Outside string       // why the program of such an agent runs outside; "": it runs inside if it starts there
	Environ []string
	Now     func() time.Time
	Log     *slog.Logger
	// Ask makes a request for a host, and returns the answer when the grants contain it.
	Ask func(ctx context.Context, host, reason string) (agent.Decision, error)
	// Connected records a connection that has ended.
	Connected func(record.Connection)
}

// ErrUnconfined means that the member requires a sandbox and has none. It takes no work then.
var ErrUnconfined = errors.New("this member requires a sandbox and has none")

// confined has the sandbox of a member, as its membership requires it.
type confined struct {
	exec    agent.Exec
	network Enforcer // nil: grants are not enforced
	held    *record.Held
	files   func(path string) error
	box     *agent.Box   // of a resident agent's program; nil: it runs outside
	shell   *agent.Shell // of that program's shell commands; nil: it has none, or runs inside
	close   func() error
}

// confine makes the sandbox that a membership requires. late returns the worker, which does not
// exist yet.
func confine(ctx context.Context, o Options, lead *control.Leader, late func() *Worker) (c confined, err error) {
	c = confined{close: func() error { return nil }}
	m, ok := lead.ByInstance(o.Instance)
	if !ok || m.Left != nil || lead.Ended != nil || !m.Joined.Sandbox.Asked() {
		return c, nil
	}
	want := *m.Joined.Sandbox
	if o.Confine == nil {
		if want.Mode == record.SandboxRequired {
			return c, unfit(o, m, ErrUnconfined, errors.New("this program starts no sandbox: run the member with waggle, or write sandbox: {mode: auto}"))
		}
		c.held = &record.Held{Level: record.HeldOff, Why: "this program starts no sandbox"}
		return c, nil
	}
	ask := func(ctx context.Context, host, reason string) (agent.Decision, error) {
		return late().connect(ctx, host, reason)
	}
	box := ConfiningOf(o, lead, m)
	box.Ask, box.Connected = ask, func(conn record.Connection) { late().connections.Add(conn) }
	atStart := box.Denied
	box.Denied = func() []policy.Rule {
		if w := late(); w != nil {
			return w.denied()
		}
		return atStart()
	}
	s, err := o.Confine(ctx, box)
	if err != nil {
		return c, unfit(o, m, ErrUnconfined, err)
	}
	held := s.Held()
	c.held, c.close = &held, s.Close
	if held.Level == record.HeldOff {
		return c, nil
	}
	c.exec, c.files, c.box, c.shell = s, s.Writable, s.Box(), s.Shell()
	if held.Enforces() {
		c.network = s
	}
	return c, nil
}

// ConfiningOf makes the settings of a member's sandbox from its membership, without Ask and
// Connected.
func ConfiningOf(o Options, lead *control.Leader, m *control.Member) Confining {
	c := Confining{Name: m.Name, Tree: treeOf(m), Real: m.RealCwd, Own: o.Root.MemberDir(o.Team, m.Name), Dir: boxDir(o), Sockets: doorsDir(o), Hidden: hidden(o, lead, m), Lent: lent(m),
		Guarded: guarded(lead, m), Environ: o.Environ, Now: o.Minter.Now, Log: o.Log}
	c.Denied = func() []policy.Rule { return lead.Policy.For(m.Instance, o.Minter.Now()).Deny }
	if m.Worktree != nil {
		c.Real = m.Worktree.Path
	}
	if m.Joined.Sandbox != nil {
		c.Want = *m.Joined.Sandbox
	}
	a, err := o.agent(m.Agent, m.Spec) // the error is one elsewhere
	if r, ok := a.(agent.Resident); ok && err == nil {
		needs := r.Needs(o.Environ, c.Tree)
		c.Needs = &needs
		if _, shown := r.(agent.Displayed); shown && o.Display != nil {
			c.Outside = "it is shown in a pane, and takes its words by a socket"
		}
	}
	return c
}

// place is where the program of a resident agent runs. run runs what is not confined.
func (c confined) place(run commands.Exec, want *record.Sandbox) agent.Place {
	p := agent.Place{Exec: run, Box: c.box, Shell: c.shell, Limits: callLimits(want)}
	if c.shell != nil {
		p.Exec, p.Limits.CPU = run.Outside(), 0 // its commands are held to it inside
	}
	return p
}

// holds reports whether a call would run wholly inside: a command does, every call of a program that
// is inside as a whole, and the shell commands of one that is outside.
func (c confined) holds(call agent.Call) bool {
	return c.held.Enforces() && (len(call.Argv) > 0 || c.box != nil || c.shell != nil && call.Tool == "Bash")
}

// unfit is the error of a member that does not start. task-status.json shows it, because the process ends.
func unfit(o Options, m *control.Member, what, err error) error {
	err = fmt.Errorf("worker %s: %w: %w", m.Name, what, err)
	now := protocol.FormatTime(o.Minter.Now())
	return errors.Join(err, task.WriteState(o.Root.MemberDir(o.Team, m.Name), task.State{AgentID: protocol.NewAgentID(m.Name, o.Team),
		Status: task.MemberError, StartedAt: now, LastActiveAt: now, ErrorMessage: tidy(err.Error())}))
}

// treeOf is the directory that a member may change.
func treeOf(m *control.Member) string {
	if m.Worktree != nil {
		return m.Worktree.Path
	}
	return m.Cwd
}

// hidden lists the paths that a member's commands must not see: waggle's state and sockets, the
// mailboxes and tasks of all teams, the worktrees of other members.
func hidden(o Options, lead *control.Leader, m *control.Member) []string {
	dirs := []string{o.State.Path, filepath.Dir(o.Root.TeamDir(o.Team)), filepath.Dir(o.Root.TasksDir(o.Team))}
	if teams := filepath.Dir(o.State.Path); filepath.Base(teams) == "teams" {
		dirs = append(dirs, filepath.Dir(teams)) // STATE, of every team
	}
	if o.Sockets.Dir != "" {
		dirs = append(dirs, filepath.Dir(o.Sockets.Dir))
	}
	for _, other := range lead.Members {
		if t := other.Worktree; t != nil && (m.Worktree == nil || t.Path != m.Worktree.Path) {
			dirs = append(dirs, filepath.Dir(t.Path)) // also worktrees that will be made there
		}
	}
	return dirs
}

// guardedNames are entries of a member's own tree that decide what other programs run: git's, and
// the settings and hooks of agents.
var guardedNames = []string{".git", ".claude", ".codex", ".gemini", ".mcp.json"}

// lent are the git directory whose objects a checkout with its own git directory uses, and those that it has from others.
func lent(m *control.Member) []string {
	if m.Worktree == nil || m.Worktree.Mirror == "" {
		return nil
	}
	return append([]string{m.Worktree.Common}, gitdir.Alternates(m.Worktree.Common)...)
}

// ownGit are the entries of a git directory of the member's own that name programs to run, or another
// directory with such entries.
var ownGit = []string{".git/config", ".git/hooks", ".git/commondir"}

func guarded(lead *control.Leader, m *control.Member) (paths []string) {
	names := guardedNames
	if m.Worktree != nil && m.Worktree.Mirror != "" { // its own git directory is writable, except for the programs that git runs
		names = append(ownGit, names[1:]...)
	}
	for _, name := range names {
		paths = append(paths, filepath.Join(treeOf(m), filepath.FromSlash(name)))
	}
	if file := lead.Policy.Path; file != "" {
		paths = append(paths, file)
	}
	return paths
}

// denied are the deny rules that hold for the member now.
func (w *Worker) denied() []policy.Rule {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.p.Fold.Effective(w.p.Lead, w.p.Minter.Now()).Deny
}

// errIdle means that a command asks for the network while no turn runs.
var errIdle = errors.New("no turn runs")

// connect requests a host in the present turn.
func (w *Worker) connect(ctx context.Context, hostport, reason string) (agent.Decision, error) {
	if w == nil {
		return agent.Decision{}, errIdle
	}
	w.mu.Lock()
	t := w.turn
	w.mu.Unlock()
	if t == nil {
		return agent.Decision{}, errIdle
	}
	return host{w, t}.Network(ctx, hostport, reason)
}

// outside refuses a call for which waggle would write a file that the member's commands could not
// write.
func (h host) outside(c agent.Call) error {
	if h.w.p.Writable == nil {
		return nil
	}
	for _, f := range c.Files {
		path := f.Real
		if path == "" {
			continue // a path that cannot be resolved makes the call fail later
		}
		if err := h.w.p.Writable(path); err != nil {
			return err
		}
	}
	return nil
}

// settle gives an agent.Resident the agent.Exec that runs its program.
func (w *Worker) settle() {
	if r, ok := w.p.Agent.(agent.Resident); ok {
		p := w.p.Place
		if p.Exec == nil {
			p.Exec = w.p.Exec
		}
		p.Leads = w.leads
		r.Settle(p)
	}
}

// callLimits are the limits of one tool call, for a program that runs its calls itself: those of one
// command would end the program.
func callLimits(s *record.Sandbox) agent.CallLimits {
	if !s.Asked() || s.Limits == nil {
		return agent.CallLimits{}
	}
	return agent.CallLimits{Time: time.Duration(s.Limits.Time) * time.Millisecond, CPU: time.Duration(s.Limits.CPU) * time.Millisecond, Output: s.Limits.Output}
}
