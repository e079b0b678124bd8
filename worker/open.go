package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waggle/agent"
	"waggle/boxes"
	"waggle/control"
	"waggle/home"
	"waggle/internal/commands"
	"waggle/internal/fs/logfile"
	"waggle/internal/fs/realpath"
	"waggle/internal/fs/worktree"
	"waggle/journal"
	"waggle/machine"
	"waggle/mailbox"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/task"
	"waggle/team"
	"waggle/transport"
)

// Options say which member to run. Those up to Environ, and Version, are required.
type Options struct {
	Root     team.Root
	State    home.Dir
	Team     protocol.TeamName
	Instance record.Instance
	Minter   poll.Minter
	Environ  []string
	// Output gets a copy of what is written to output.log, unless it is that file; nil: no copy.
	Output io.Writer
	// Terminal says that Output is a terminal whose holder writes output.log.
	Terminal bool
	Version  string

	// Sockets is where the member's socket is served; zero: nowhere.
	Sockets transport.SocketDirs
	// Who names the sessions whose messages come to the socket (transport.SocketOptions).
	Who     func(transport.Peer) string
	Backend string // how this process was started, for the record
	// Inside says that the worker shares this process with others, for example the leader: the
	// process must not be ended to end this worker (spawn.Inside).
	Inside   bool
	GateWait time.Duration
	Log      *slog.Logger
	Observe  machine.Observer
	// Dir is the working directory of this process; "": the member shares the process with others
	// and has no directory in it.
	Dir string
	// Guest: another program leads the team; nil: waggle does.
	Guest *Guest
	// Agent is the agent of the member; nil: a new one of the kind that its membership names.
	Agent agent.Agent
	// Display is the pane of this process, for an agent whose program is shown there (agent.Displayed);
	// nil: there is none.
	Display agent.Display
	// Pane is the log of a member whose program has the pane of its process for itself: Argv passes
	// it on; "": the pane shows what the process writes.
	Pane string
	// Join calls Begun after it has taken the lease, before the member runs; may be nil.
	Begun func(protocol.MemberName)

	// Confine makes the sandbox of a member; nil: this program has no sandboxes, and a member that
	// requires one does not run.
	Confine Confine

	alone bool // this process belongs to the member alone (Invoked)
}

// record is the journal that has the membership.
func (o Options) record() journal.Name {
	if o.Guest != nil {
		return o.Guest.Journal
	}
	return journal.Leader
}

// agent is the agent of the member: Agent, or a new one.
func (o Options) agent(kind string, spec []byte) (agent.Agent, error) {
	if o.Agent != nil {
		return o.Agent, nil
	}
	return agent.New(kind, spec)
}

// Exit codes of the program that Options.Argv starts, when it does not become the member.
const (
	ExitFailed  = 1
	ExitRunning = 8 // ErrRunning: the starter waits for the process that runs
	// ExitUnconfined: ErrUnconfined, which another start does not change.
	ExitUnconfined = record.ExitUnconfined
)

// ErrRunning means that another process runs this instance. An instance has at most one process.
var ErrRunning = errors.New("another process runs this member")

// Open takes the instance's lease and its next epoch, and opens its journal.
func Open(ctx context.Context, o Options) (_ *Worker, err error) {
	o.State.Mend(o.Minter.Now())
	release, held, err := o.State.TakeProcess(ctx, o.Instance)
	if err != nil {
		return nil, fmt.Errorf("worker: lease: %w", err)
	}
	if !held {
		return nil, fmt.Errorf("worker: instance %s: %w", o.Instance, ErrRunning)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, release())
		}
	}()
	lead := control.NewLeader(nil)
	leader, err := o.State.OpenJournal(o.record(), lead, journal.Options{Now: o.Minter.Now, Whole: true})
	if err != nil {
		return nil, err
	}
	fold := control.NewWorker(o.Observe)
	own, err := o.State.OpenJournal(journal.Name(o.Instance), fold, journal.Options{Now: o.Minter.Now, Whole: true, FlushWait: -1})
	if err != nil {
		return nil, err
	}
	top, err := isolated(ctx, o, lead, fold.Epoch > 0)
	if err != nil {
		return nil, err
	}
	var w *Worker
	box, err := confine(ctx, o, lead, func() *Worker { return w })
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, box.close())
		}
	}()
	m, epoch, died, err := takeEpoch(ctx, o, leader, lead, fold.Epoch)
	if err != nil {
		return nil, err
	}
	// A copy of the record, by which this process can be ended when the journal cannot be read.
	if err := o.State.NoteStarted(home.Started{Team: o.Team, Root: lead.Root, Instance: o.Instance, Name: m.Name, ID: m.Process.ID}); err != nil {
		return nil, err
	}
	writer := journal.Writer{Instance: string(o.Instance), Epoch: epoch, PID: os.Getpid()}
	if _, err := own.Append(ctx, writer, func() ([]journal.Draft, error) {
		return fold.Open(record.Opened{Team: o.Team, UID: lead.UID, Instance: o.Instance, Name: m.Name, Epoch: epoch, Version: o.Version, Guest: o.Guest != nil, Ended: died})
	}); err != nil {
		return nil, err
	}
	p := Parts{Journal: own, Fold: fold, Leader: leader, Lead: lead, Output: o.Output, Environ: worktree.Explicit(inherited(o.Environ)), Links: realpath.Disk{}, Cwd: m.Cwd, Worktree: m.Worktree,
		Held: box.held, Network: box.network, Writable: box.files, Backend: o.Backend, Minter: o.Minter, Writer: writer, GateWait: o.GateWait, Log: o.Log}
	run := commands.New(o.State, o.Instance, o.Log, box.exec)
	p.Exec = commands.Within(run, m.Joined.Sandbox, o.Root.MemberDir(o.Team, m.Name))
	p.Place, p.Confined = box.place(run, m.Joined.Sandbox), box.holds
	p.Bring, p.Follow = bringer(o, m.Worktree), follower(o, m.Worktree)
	p.Where = func(context.Context) (Location, error) {
		cwd, err := resolved(cmp.Or(o.Dir, m.Cwd))
		return Location{Cwd: cwd, Top: top}, err
	}
	files := p.files
	if o.Guest != nil {
		files = p.guestFiles
	}
	watch, err := files(o, m)
	if err != nil {
		return nil, err
	}
	w = New(p)
	w.close = []func() error{release, func() error { watch(); return nil }, box.close}
	if o.Guest == nil {
		w.listen(o)
	}
	return w, nil
}

// inherited is what commands of a member inherit of the environment of its process: nothing of a worker, of an
// agent's session or of a git above it. The terminal is that of its process.
func inherited(env []string) []string {
	return spawn.Without(env, spawn.ScopeRepository, spawn.ScopeSession, spawn.ScopeMember)
}

// takeEpoch numbers this start by compare-and-set in the leader's journal, above
// every start that is on record there or, as after, in the member's own: an older
// process of this instance can append no more. died is when the process before died, if that is known.
func takeEpoch(ctx context.Context, o Options, leader journal.Journal, lead *control.Leader, after uint64) (m *control.Member, epoch uint64, died *time.Time, err error) {
	id, err := spawn.Identify(os.Getpid())
	if o.Inside {
		id, err = spawn.Inside()
	}
	if err != nil {
		return nil, 0, nil, fmt.Errorf("worker: %w", err)
	}
	_, err = leader.Append(ctx, journal.Writer{Instance: string(o.Instance), PID: os.Getpid()}, func() ([]journal.Draft, error) {
		member, ok := lead.ByInstance(o.Instance)
		switch {
		case !ok:
			return nil, fmt.Errorf("worker: instance %s is not a member of %s", o.Instance, o.Team)
		case member.Left != nil || lead.Ended != nil:
			return nil, fmt.Errorf("worker: instance %s: %w", o.Instance, ErrLeft)
		}
		m, epoch, died = member, after+1, nil
		if at, ok := lead.Lost(member); ok {
			died = &at
		}
		if m.Process != nil {
			epoch = max(epoch, m.Process.Epoch+1)
		}
		return []journal.Draft{{Kind: record.KindProcess, Must: true, Body: record.Process{Instance: o.Instance, Epoch: epoch, ID: id}}}, nil
	})
	return m, epoch, died, err
}

// files opens the member's files in the wire tree and starts watching them.
func (p *Parts) files(o Options, m *control.Member) (stop func(), err error) {
	mail := boxes.Of(o.Root, o.Team)
	// A mailbox that cannot be locked within this time is changed by a later pass: it must not delay what comes from the
	// leader's journal.
	own, err := mail.Open(m.Name, mailbox.Options{Report: poll.LogReports(o.Log), Archive: boxes.Kept(o.Team, o.State.Archive(), m.Name), Deadline: time.Second})
	if err != nil {
		return nil, err
	}
	if err := p.mailboxes(o, mail, m, own, o.State.Quarantine(), m.Agent, m.Spec); err != nil {
		return nil, err
	}
	p.LeadPrunes = team.DialectOf(o.Team) == team.DialectSession
	p.Peer = func(name protocol.MemberName) (mailbox.Store, error) {
		if _, ok := p.Lead.Member(name); !ok {
			return nil, &team.NotFoundError{What: "member", Name: string(name)}
		}
		return mail.Open(name, mailbox.Options{Report: poll.LogReports(o.Log), Deadline: time.Second, Limits: mailbox.DefaultLimits})
	}
	if p.Board, err = task.Open(o.Root.TasksDir(o.Team), o.Team, task.Options{}); err != nil {
		return nil, err
	}
	if d, ok := p.Agent.(agent.Displayed); ok && o.Display != nil {
		d.Display(o.Display)
	}
	p.Shown = func(ctx context.Context) control.Shown { return shownAt(ctx, o, m.Name) }
	return p.watch(p.place(o, o.Root.MemberDir(o.Team, m.Name)), append(mail.Dirs(), o.State.LeaderJournal(), o.Root.TasksDir(o.Team))...)
}

// mailboxes has the member's own mailbox watched, opens the lead's, and makes the agent. aside is where a file goes that
// blocks the mailbox; "": it stays.
func (p *Parts) mailboxes(o Options, mail mailbox.Boxes, m *control.Member, own mailbox.Store, aside, kind string, spec []byte) (err error) {
	watched := poll.Watch(own, boxes.WatchOptions{Dir: o.Root.TeamDir(o.Team), Archive: o.State.Archive(), Name: m.Name,
		Now: o.Minter.Now, Gone: p.Fold.Noticed.Missing(), Boxes: mail, Aside: aside}, o.Log)
	p.Box, p.CheckDirectory = watched, watched.Check
	// A message that cannot be sent within this time is sent by a later pass: a locked mailbox must
	// not delay reading.
	if p.LeadBox, err = mail.Open(protocol.Lead, mailbox.Options{Report: poll.LogReports(o.Log), Deadline: time.Second}); err != nil {
		return err
	}
	p.Agent, err = o.agent(kind, spec)
	return err
}

// watch makes the nudges: when one of the directories changes, and every second. stop, or an error, calls shut at the end.
func (p *Parts) watch(shut func(), dirs ...string) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	fell := make(chan error, 1) // one watcher, which fails at most once
	p.Fell = fell
	p.Nudges, err = mailbox.Watch(ctx, mailbox.WatchOptions{Interval: time.Second, Fell: func(err error) { fell <- err }}, dirs...)
	if err != nil {
		cancel()
		shut()
		return nil, err
	}
	return func() {
		cancel()
		for range p.Nudges { // until the watcher has ended
		}
		shut()
	}, nil
}

// place opens the member's directory: its log, its status, its artifacts. They are for people, so
// that the member also works without them.
func (p *Parts) place(o Options, dir string) (shut func()) {
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	made := filepath.Join(dir, task.ArtifactsName)
	if root, err := logfile.MakeDir(dir, task.ArtifactsName, 0o700); err != nil {
		log.Warn("no directory for artifacts", "err", err)
	} else {
		root.Close()
	}
	p.Added = []string{"WAGGLE_ARTIFACTS=" + made}
	p.Environ = append(slices.Clone(p.Environ), p.Added...)
	p.Status = func(s task.State) error { return task.WriteState(dir, s) }
	p.KeepPlan = func(plan string) (string, error) { return keepPlan(dir, plan) }
	p.Files = func() ([]task.Artifact, error) { return task.Files(dir) }
	if o.Terminal {
		return func() {}
	}
	trouble := poll.Troubles{Log: log}
	out, err := task.OpenLog(dir, task.LogOptions{Report: func(err error) { trouble.Note("log", err, "output.log is not whole") }})
	if err != nil {
		log.Warn("no output.log", "err", err)
		return func() {}
	}
	p.Output = out
	if f, ok := o.Output.(*os.File); o.Output != nil && !(ok && out.Is(f)) {
		p.Output = both{out, o.Output}
	}
	return func() {
		if err := out.Close(); err != nil {
			log.Warn("output.log", "err", err)
		}
	}
}

// both writes to the log and copies to shown, whose errors are ignored.
type both struct{ log, shown io.Writer }

func (b both) Write(p []byte) (int, error) {
	_, _ = b.shown.Write(p)
	return b.log.Write(p)
}
