package fresh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/internal/claude"
	"waggle/internal/cut"
	"waggle/operator"
	"waggle/operator/draft"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// usualAtOnce is how many members that New made work at once in a team, where nobody said another number.
const usualAtOnce = 3

// maxAttempts is the most members that one task gets.
const maxAttempts = 9

// Want is one task for a new member.
type Want struct {
	Task    string              // with Source it may be "". Its first line is the subject; of agent exec without Command, a shell text
	Agent   string              // "": claude, when it is the only coding agent that is installed
	Command []string            // of agent exec
	Name    protocol.MemberName // "": derived from the task
	Model   string
	Mode    policy.Mode
	Backend string // "": process
	// Here lets the member work in the directory itself, without a worktree.
	Here bool
	// Source is what the task is about: its text is quoted to the agent, behind Task. nil: nothing.
	Source *Source
	// Begin is where its branch begins.
	Begin teamfile.Begin
	// Attempts is how many members do the whole task, each by itself; 0: one.
	Attempts int
	// Split makes a member that proposes the parts of the task as a plan, and does nothing else.
	Split bool
	// Check decides whether the task is done; nil: that of the file, else the agent.
	Check *record.Check
}

// Options are what New depends on beside the tasks.
type Options struct {
	Dir  string // where the members work
	Team string // "": the team of Dir, which is opened when none is up
	// Lead is the command line of a process that leads a team in the background, Begin of one that
	// starts a member that has joined (supervise.Begin).
	Lead  func(protocol.TeamName) []string
	Begin func(protocol.TeamName, protocol.MemberName) []string
	Env   []string      // of both
	Wait  time.Duration // until the members are ready; 0: one second
	// AtOnce is how many of the members that New made work at once in the team, from now on; the others are queued, and
	// the process that leads starts them. 0: as before, usualAtOnce at first.
	AtOnce int
	// File is a team file that the operator named: what its worktree: says is accepted. "": New finds
	// waggle.yaml, and asks Accept about it. NoSetup leaves both alone, and what the team's own file says.
	File    string
	NoSetup bool
	// Accept shows what new worktrees get by a file that was only found; an error ends New before
	// anything was made. nil: it is an *UnacceptedError. A face that cannot wait for a person in it
	// shows what that error has, and calls New again with AcceptShown.
	Accept func(context.Context, Found) error
	Note   func(operator.Note) // may be nil
}

// usualWait is how long New waits for members to be ready.
const usualWait = time.Second

// States of a Member.
const (
	StateStarted  = "started"  // it works
	StateStarting = "starting" // another process starts it
	StateQueued   = "queued"   // the process that leads starts it when one of those that work has ended its task
	StateBlocked  = "blocked"  // its worktree could not be prepared
	StateFailed   = "failed"   // its process could not be started
	StatePlanned  = "planned"  // New would make it
)

// Started is what New has started.
type Started struct {
	Team    protocol.TeamName `json:"team"`
	Opened  bool              `json:"opened"` // it opened the team
	Dir     string            `json:"dir"`
	Members []Member          `json:"members"`
}

// Member is a member that New has made.
type Member struct {
	Name     protocol.MemberName `json:"name"`
	Agent    string              `json:"agent"`
	Session  string              `json:"session"`
	Task     string              `json:"task"` // its id
	Subject  string              `json:"subject"`
	Branch   string              `json:"branch"` // "": it works in the directory itself
	Worktree string              `json:"worktree"`
	Copied   []string            `json:"copied"` // files that git ignores and that its worktree gets
	Setup    []string            `json:"setup"`  // shell texts that run in it before the member starts
	State    string              `json:"state"`
	Queue    int                 `json:"queue"`   // its place in the queue; 0: it is not in it
	Why      string              `json:"why"`     // of StateBlocked and StateFailed
	Split    bool                `json:"split"`   // it proposes the parts of its task
	Attempt  int                 `json:"attempt"` // of Attempts; 0: the only one
	Attempts int                 `json:"attempts"`
	instance record.Instance
	begins   *spawn.Process
	log      string
}

// New starts a member for each task. With an error it also returns those that it has started.
func (o Operator) New(ctx context.Context, wants []Want, opt Options) (*Started, error) {
	top, wants, alike, err := o.begun(ctx, wants, &opt, true)
	if err != nil {
		return nil, err
	}
	st := &Started{Dir: top}
	if st.Team, st.Opened, err = o.take(ctx, top, opt); err != nil {
		return nil, err
	}
	s, err := o.Open(ctx, st.Team, operator.Act)
	if err != nil {
		return nil, err
	}
	for _, w := range wants {
		if err := o.add(ctx, s, st, w, alike, opt); err != nil {
			return st, errors.Join(err, o.await(ctx, s, st, opt))
		}
	}
	return st, o.await(ctx, s, st, opt)
}

// begun is what New and Plan do before they look for the team: they check the tasks and the place, and find what worktrees
// get. fetch gets the branches of pull requests, too.
func (o Operator) begun(ctx context.Context, wants []Want, opt *Options, fetch bool) (top string, _ []Want, alike supervise.NewMember, err error) {
	if wants, err = o.whole(wants); err != nil {
		return "", nil, alike, err
	}
	if opt.AtOnce < 0 {
		return "", nil, alike, usage("--at-once: want 1 or more")
	}
	if opt.Note == nil {
		opt.Note = func(operator.Note) {}
	}
	top, commits, err := o.checkout(ctx, opt.Dir)
	if err != nil {
		return "", nil, alike, err
	}
	for _, w := range wants {
		if fetch && w.Source != nil && w.Source.Kind == SourcePull && commits && !w.Here {
			if err := o.fetch(ctx, top, w.Source); err != nil {
				return "", nil, alike, err
			}
		}
	}
	if err := o.placed(ctx, opt.Dir, commits, wants); err != nil {
		return "", nil, alike, err
	}
	if alike.Worktree = slices.ContainsFunc(wants, func(w Want) bool { return !w.Here }); alike.Worktree {
		alike.Prepare, alike.Check, alike.Included, err = o.preparation(ctx, top, *opt)
	}
	return top, wants, alike, err
}

// usage is the error of a task or an option that is wrong as it is given.
func usage(format string, args ...any) error {
	return &operator.Error{Kind: operator.Usage, Op: "new", Msg: fmt.Sprintf(format, args...)}
}

// whole checks the tasks and fills in the agent: an *AgentError where the person has to name one.
func (o Operator) whole(wants []Want) ([]Want, error) {
	wants = slices.Clone(wants)
	if len(wants) == 0 {
		return nil, usage("there is no task")
	}
	for i := range wants {
		w := &wants[i]
		if w.Task = strings.TrimSpace(w.Task); w.Task == "" && w.Source == nil {
			return nil, usage("the task is empty")
		}
		if w.Attempts < 0 || w.Attempts > maxAttempts {
			return nil, usage("%d attempts: want 1 to %d", w.Attempts, maxAttempts)
		}
		if w.Split && (w.Attempts > 1 || w.Agent == agentExec) {
			return nil, usage("a task is split by one agent that can plan: not with several attempts, and not by a command")
		}
		if len(w.Command) > 0 {
			w.Agent = cmp.Or(w.Agent, agentExec)
		}
		if w.Source != nil {
			if w.Agent == agentExec && len(w.Command) == 0 {
				return nil, usage("the text of %s is no shell command: name another agent, or the program that reads it with --command", w.Source.Name())
			}
			if w.Source.Kind == SourcePull {
				w.Begin.Branch = w.Source.Branch
			}
		}
		if w.Agent == "" {
			found := draft.Installed(o.Environ)
			if len(found) != 1 || found[0] != claude.Kind {
				return nil, &AgentError{Installed: found}
			}
			w.Agent = claude.Kind
		}
	}
	return wants, nil
}

// agentExec is the agent that runs a command.
const agentExec = "exec"

// AgentError: no agent is named for a task, and not exactly one is installed that can be a member as it is.
type AgentError struct {
	Installed []string // of draft.KnownAgents, in that order
}

// Error implements error.
func (e *AgentError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error of a command that lacks a word.
func (e *AgentError) Unwrap() error {
	switch n := len(e.Installed); n {
	case 0:
		return &operator.Error{Kind: operator.Usage, Op: "new", Msg: "no coding agent is installed", Next: operator.NextInstallAgent.With()}
	case 1:
		return usage("the only coding agent that is installed is %s, whose calls nobody asks about: say that you want it", e.Installed[0])
	default:
		return usage("%d coding agents are installed (%s): say which", n, strings.Join(e.Installed, ", "))
	}
}

// placed refuses a task that wants a worktree where none can be made, or where it cannot begin: only who says Here
// works in the directory itself.
func (o Operator) placed(ctx context.Context, dir string, commits bool, wants []Want) error {
	for _, w := range wants {
		switch {
		case w.Here && w.Begin != (teamfile.Begin{}):
			return usage("--here works in the directory as it is: not with --base or --branch")
		case w.Here:
		case !commits:
			return &operator.Error{Kind: operator.Usage, Op: "new", Msg: dir + " is in no git checkout with a commit, so a member has no worktree and no branch there", Next: operator.NextHere.With()}
		case w.Begin.Branch != "" && (len(wants) > 1 || w.Attempts > 1):
			return usage("--branch is for one member: two cannot be on one branch")
		}
		if err := process.Of(o.Operator).Begins(ctx, dir, w.Begin); err != nil {
			return err
		}
	}
	return nil
}

// add makes the members of one task. alike is what all of them have: whether the directory's members
// can have worktrees, and what those get.
func (o Operator) add(ctx context.Context, s *operator.State, st *Started, w Want, alike supervise.NewMember, opt Options) error {
	m, err := w.member(opt.Dir, alike)
	if err != nil {
		return err
	}
	if _, own, err := o.ownFile(ctx, s.Team); err != nil {
		return err
	} else if own == nil && !m.Worktree && m.Mode == "" && s.Lead.Policy.Policy.Mode == policy.ModeAcceptEdits {
		m.Mode = policy.ModeDefault // nobody looks at its edits before they are in the person's directory
	}
	m.AtOnce = atOnce(s, opt)
	base := ""
	for attempt := range max(1, w.Attempts) {
		made := w.made(m, attempt, StateStarting)
		sp, err := o.recruit(ctx, s, m, base, w)
		if err != nil {
			return err
		}
		base = cmp.Or(base, sp.Name) // the next attempts are numbered after the first
		made.Name, made.Session, made.Task, made.instance = protocol.MemberName(sp.Name), sp.Session, sp.Task, record.Instance(sp.Session)
		if sp.Worktree != nil {
			made.Branch, made.Worktree = sp.Worktree.Branch, sp.Worktree.Path
			made.Copied, made.Setup = sp.Prepare.Copy, sp.Prepare.Setup
		}
		if made.Queue = sp.Queue; made.Queue > 0 {
			made.State = StateQueued
			st.Members = append(st.Members, made)
			continue
		}
		st.Members = append(st.Members, made)
		if err := o.begin(ctx, s, &st.Members[len(st.Members)-1], opt); err != nil {
			return err
		}
	}
	return nil
}

// atOnce is how many of the members that New made work at once. s is nil for a team that is not open.
func atOnce(s *operator.State, opt Options) int {
	if s == nil {
		return cmp.Or(opt.AtOnce, usualAtOnce)
	}
	return cmp.Or(opt.AtOnce, s.Lead.AtOnce(), usualAtOnce)
}

// member is the member that a task gets, without its name.
func (w Want) member(dir string, alike supervise.NewMember) (supervise.NewMember, error) {
	m := supervise.NewMember{FileMember: teamfile.FileMember{Agent: w.Agent, Backend: cmp.Or(w.Backend, operator.BackendProcess), Cwd: dir,
		Worktree: alike.Worktree && !w.Here, Begin: w.Begin, Prepare: alike.Prepare, Included: alike.Included, Model: w.Model, Mode: w.Mode, PlanRequired: w.Split}, Prompt: w.Task, Unchecked: w.Split}
	switch {
	case w.Check != nil:
		own := *w.Check
		own.Dir = dir
		m.Check = &own
	case m.Checks() && !w.Split:
		m.Check = alike.Check
	}
	m.Subject = subject(w.titled())
	if w.Source != nil {
		m.Prompt, m.Quoted = w.Source.task(w.Task), true
	}
	if w.Split {
		m.Prompt, m.Subject = fmt.Sprintf(splitTask, m.Prompt), "Split: "+m.Subject
	}
	err := m.Fit()
	if err == nil {
		m.Restart, err = teamfile.ParseRestart(teamfile.RestartOnFailure)
	}
	if err == nil {
		m.Spec, err = m.SpecOf(w.Command)
	}
	if err != nil {
		return m, &operator.Error{Kind: operator.Usage, Op: "new", Err: err}
	}
	return m, nil
}

// made is a member that does the task, as one of its attempts, without a name.
func (w Want) made(m supervise.NewMember, attempt int, state string) Member {
	made := Member{Agent: m.Agent, Subject: m.Subject, State: state, Split: w.Split}
	if w.Attempts > 1 {
		made.Attempt, made.Attempts = attempt+1, w.Attempts
	}
	return made
}

// named is the name of a member that does the task. base is the name of the first attempt, "" for that itself.
func (w Want) named(base string, taken func(string) bool) protocol.MemberName {
	if base != "" {
		return numbered(base, taken)
	}
	if w.Name != "" {
		return w.Name
	}
	return NameOf(w.titled(), taken)
}

// titled is the task, or the title of what it is about: its name and its subject are taken from it.
func (w Want) titled() string {
	if w.Task == "" && w.Source != nil {
		return operator.Visible(w.Source.Title)
	}
	return w.Task
}

// maxSubject is the most characters of a task's first line that are its subject.
const maxSubject = 80

func subject(task string) string {
	line, _, _ := strings.Cut(task, "\n")
	return cut.Runes(strings.TrimSpace(line), maxSubject)
}

// recruit joins a member. A derived name is free in this moment; when another process takes it
// first, the next one is tried. base is the name of the first attempt.
func (o Operator) recruit(ctx context.Context, s *operator.State, m supervise.NewMember, base string, w Want) (*supervise.Spawned, error) {
	tried := map[string]bool{}
	taken := func(name string) bool { return tried[strings.ToLower(name)] || had(s, name) }
	for {
		if err := s.Journal.Refresh(ctx); err != nil {
			return nil, err
		}
		m.Name = w.named(base, taken)
		sp, err := supervise.Of(o.Operator).Spawn(ctx, s.Team, m, nil)
		if !errors.Is(err, team.ErrTaken) || m.Name == w.Name || tried[strings.ToLower(string(m.Name))] {
			return sp, err
		}
		tried[strings.ToLower(string(m.Name))] = true
	}
}

// had reports a name that a member has or had: what it made is found by it.
func had(s *operator.State, name string) bool {
	return slices.ContainsFunc(s.Lead.Members, func(m *control.Member) bool { return protocol.SameName(m.Name, protocol.MemberName(name)) })
}

// begin starts the process that starts a member.
func (o Operator) begin(ctx context.Context, s *operator.State, m *Member, opt Options) (err error) {
	m.log = filepath.Join(s.Dir.Path, "begin-"+string(m.Name)+".log")
	m.begins, err = spawn.ProcessBackend().Start(ctx, spawn.Spec{Argv: opt.Begin(s.Team, m.Name), Env: opt.Env, Log: m.log})
	return err
}

// await waits until every member is ready, could not be started, or the time is over.
func (o Operator) await(ctx context.Context, s *operator.State, st *Started, opt Options) error {
	var err error
	process.Of(o.Operator).Await(ctx, cmp.Or(opt.Wait, usualWait), func() bool {
		if err = s.Journal.Refresh(ctx); err != nil {
			return true
		}
		for i := range st.Members {
			o.look(s, &st.Members[i])
		}
		return !slices.ContainsFunc(st.Members, func(m Member) bool { return m.State == StateStarting })
	})
	return errors.Join(err, ctx.Err())
}

// look reads how the start of a member has ended: the process that starts it ends when the member is
// ready and what was asked for.
func (o Operator) look(s *operator.State, m *Member) {
	if m.State != StateStarting || m.begins == nil {
		return
	}
	select {
	case <-m.begins.Done():
	default:
		return
	}
	if m.begins.Exit().Code == 0 {
		m.State = StateStarted
		return
	}
	m.State, m.Why = StateFailed, supervise.LastLines(m.log, 3)
	if jm, ok := s.Lead.ByInstance(m.instance); ok {
		if why, _, failed := process.Of(o.Operator).SetupOf(s, jm); failed {
			m.State, m.Why = StateBlocked, why
		}
	}
}
