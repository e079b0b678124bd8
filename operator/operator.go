// Package operator has the operator of a wire tree: configuration and state that the packages below it
// share. Those packages have the actions of a person: teamfile, decide, mail, board, process, inspect,
// teams, supervise, repair. Every face (command line, MCP, TUI, web) calls them and holds no rules of its own.
//
//	op := operator.At(root, state, minter)
//	waiting, err := decide.Of(op).Pending(ctx, "api", false)
//	results, err := decide.Of(op).Decide(ctx, "api", []decide.Answer{{ID: id, Allow: true, Digest: d}})
//
// Methods work on files under locks. A running leader is not needed; it makes them faster.
package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"waggle/agent"
	"waggle/boxes"
	"waggle/control"
	"waggle/home"
	"waggle/journal"
	"waggle/leader"
	"waggle/machine"
	"waggle/mailbox"
	"waggle/policy"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
	"waggle/worker"
)

// Operator acts for a person on one wire tree. Several goroutines and processes may call its
// methods.
type Operator struct {
	Root    team.Root
	RootURL string // file:///… of Root
	// ClaudeDir is the config directory of Claude Code, whose sessions are listed; "":
	// none are.
	ClaudeDir string
	Home      home.Home
	Token     string // for http addresses; "": the token of Home's own endpoint
	RunDir    string // the directory of sockets; "": in Home
	// Worktrees is the directory below which members' worktrees are made, outside of
	// STATE and of every repository; "": no member gets one.
	Worktrees string
	// WorkDir is the directory in which the command was given: Pick prefers the team whose
	// accepted file is there or above; "": no team is preferred.
	WorkDir string
	// Edits caches results of git; nil: git runs each time.
	Edits *EditCache
	// Folds keeps the folds of members' journals for one goroutine that reads teams often; nil: each is made anew.
	Folds  *WorkerFolds
	Minter poll.Minter
	// Self is the program that is started for a member: waggle's binary, or another one that passes
	// its arguments to worker.Invoked.
	Self string
	// Backends are spawn backends of this program, each known by its Name in team files and
	// records. A name of Backends() is not allowed.
	Backends []spawn.Backend
	Environ  []string // for members' processes
	Version  string
	PID      int
	Log      *slog.Logger // may be nil
	// Limits bound the messages that are sent; the zero value: mailbox.DefaultLimits.
	Limits mailbox.Limits
	// Agent decides for the lead while this program leads; nil: a person does (LedBy).
	Agent agent.Decider
	// Observe gets the transitions of a team's machines while this program leads it; nil: no
	// observer.
	Observe machine.Observer
	// Ceiling is the present ceiling of the user's file; nil: there is no file, and a team keeps
	// the ceiling that it has.
	Ceiling *record.Ceiling
	// Brake is recorded with each team that is made: what its agents may use before the team asks once,
	// while nobody sets a budget. The zero value: it does not ask.
	Brake record.Limit
	// Ancestors finds the processes above one: Guard refuses a call that a member's process makes
	// in the operator's name. nil skips the guard, for programs that are no command line.
	Ancestors func(pid int) ([]spawn.Identity, error)
	// Called is the environment in which the command was given: it may name the session that gave it.
	Called []string

	// Confine makes the sandboxes of members that run inside of this program; nil: it has none.
	Confine worker.Confine

	// Reads is the record of an ended team, which Open opens read only as if it were present (EndedTeam); nil: none is.
	Reads *home.Known

	// Leading is the process that leads, when it acts for the lead's agent; nil: the operator acts.
	Leading *journal.Writer

	Patience time.Duration // how long to wait for the lock of a leader's journal; 0: the journal's own limit
	Waits    Waits         // for other processes
}

// Writer is the operator as a writer of a leader's journal, or the process that leads when it acts
// for the lead's agent.
func (o Operator) Writer() journal.Writer {
	if o.Leading != nil {
		return *o.Leading
	}
	return journal.Writer{Operator: true, PID: o.PID}
}

// Role is in whose name Writer writes.
func (o Operator) Role() policy.Role {
	if o.Leading != nil {
		return policy.RoleLeader
	}
	return policy.RoleOperator
}

// State is an open team as its journals have it.
type State struct {
	Dir            home.Dir
	Team           protocol.TeamName
	Journal        journal.Journal
	Lead           *control.Leader
	JournalName    journal.Name // of Journal: the leader's, or the operator's own beside a team that another program leads
	JournalOptions journal.Options
	Tidied         bool // TidyWorktrees has run, and has noted what it kept
	Kept           []KeptWorktree
	Foreign        bool                     // another program leads or led it: Lead is the operator's own journal, with what the operator did there
	Damaged        error                    // of the journal, in a state that was opened although it cannot be read to its end
	Dropped        map[record.Instance]bool // members whose control groups were removed
	Found          []journal.Record         // the records that the last Preview folded into Lead; no journal holds them
	Claim          *Claim                   // the lock on the name while this process creates the team; nil: it does not
	folds          *WorkerFolds             // nil: Worker folds a journal anew
	opened         string                   // when its first record was written (home.Known), of Read

	Mu    sync.Mutex    // guards the fields below: members are ended at the same time
	Note  func(Note)    // gets the notes of sweeps; nil: they are dropped
	Noted map[Note]bool // the notes that Note got
}

// Worker opens a member's journal, read only.
func (s *State) Worker(i record.Instance) (*control.Worker, error) {
	if s.folds != nil {
		return s.folds.Worker(s, i)
	}
	w := control.NewWorker(nil)
	_, err := s.Dir.OpenJournal(journal.Name(i), w, s.JournalOptions)
	return w, err
}

// Put appends one record, whatever the others are.
func (s *State) Put(ctx context.Context, w journal.Writer, kind string, body any) error {
	_, err := s.Journal.Append(ctx, w, func() ([]journal.Draft, error) { return []journal.Draft{{Kind: kind, Must: true, Body: body}}, nil })
	return err
}

// Passing returns the options of a command that leads for one pass.
func (o Operator) Passing(s *State) leader.Options {
	return leader.Options{Root: o.Root, State: s.Dir, Team: s.Team, Minter: o.Minter, Writer: o.Writer(), Log: o.Log, Observe: o.Observe, Patience: o.Patience}
}

// Pass runs one leader pass when no process leads (trust §5): it records, answers and sends. A
// command that only reads calls Preview. led reports that another process leads, and does the pass
// itself.
func (o Operator) Pass(ctx context.Context, s *State) (led bool, err error) {
	l, err := leader.Open(ctx, o.Passing(s))
	if errors.Is(err, leader.ErrLeading) {
		return true, s.Journal.Refresh(ctx)
	}
	if err != nil {
		return false, err
	}
	err = errors.Join(l.Pass(ctx), l.Close(), s.Journal.Refresh(ctx))
	if err == nil {
		o.KeepBrief(s.Team)
	}
	return false, err
}

// Hear is Pass for a command that answers requests: beside a process that leads it records those that no pass of that
// process has recorded (leader.TakeIn), as it may be stopped.
func (o Operator) Hear(ctx context.Context, s *State) error {
	led, err := o.Pass(ctx, s)
	if err != nil || !led {
		return err
	}
	if due, err := o.due(ctx, s); err != nil || !due {
		return err
	}
	return errors.Join(leader.TakeIn(ctx, o.Passing(s), s.Journal, s.Lead), s.Journal.Refresh(ctx))
}

// due reports whether a pass would find something beside a process that leads: that is stopped, or has not taken in
// what lies in the lead's mailbox.
func (o Operator) due(ctx context.Context, s *State) (bool, error) {
	if s.LeaderStopped() != "" {
		return true, nil
	}
	return leader.Waits(ctx, o.Passing(s), s.Lead)
}

// LeaderStopped says that the process on record as leading is stopped, and how it goes on; "" when it is not.
func (s *State) LeaderStopped() string {
	if s.Lead.Led == nil {
		return ""
	}
	if state, _ := s.Lead.Led.ID.State(); state != spawn.Stopped { // what cannot be read is not known as stopped
		return ""
	}
	return fmt.Sprintf("process %d leads and is stopped (SIGSTOP, or a debugger); kill -CONT %[1]d lets it go on", s.Lead.Led.ID.PID)
}

// Untaken are the open requests that the last Preview found and no process has recorded.
func (s *State) Untaken() []*control.Request {
	if len(s.Found) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Lead.Pending()), func(r *control.Request) bool { return r.Seq < s.Found[0].Seq })
}

// Previews reports whether Preview would fold something into s, which needs a whole fold: no process leads, or the one
// that leads has something to take in.
func (o Operator) Previews(ctx context.Context, s *State) (bool, error) {
	led, err := s.Dir.Led()
	if err != nil || !led {
		return err == nil, err
	}
	return o.due(ctx, s)
}

// Preview serves commands that only read. It folds into s what a leader pass would find now, in memory
// (leader.Preview), also beside a process that leads, which may be stopped. It records, marks and sends nothing and
// takes no lease; what is overdue stays open. The next use of s.Journal drops the result. led reports that a process
// leads.
func (o Operator) Preview(ctx context.Context, s *State) (led bool, err error) {
	led, err = s.Dir.Led()
	if err == nil {
		err = s.Journal.Refresh(ctx)
	}
	s.Found = nil
	j, ok := s.Journal.(*journal.File)
	if !ok || err != nil || s.Lead.Ended != nil {
		return led, err
	}
	if led {
		if due, err := o.due(ctx, s); err != nil || !due {
			return led, err
		}
	}
	lo := o.Passing(s)
	lo.Supervise = led
	p := j.Preview()
	if err = leader.Preview(ctx, lo, p, s.Lead); err != nil {
		return led, errors.Join(err, j.Refresh(ctx)) // a cancelled preview may have folded a part
	}
	s.Found = p.Records()
	return led, nil
}

// Box opens a member's mailbox.
func (o Operator) Box(cfg *team.Config, name protocol.MemberName, report func(mailbox.Report)) (*mailbox.Located, error) {
	return o.Boxes(cfg.Name).Open(name, mailbox.Options{Report: report, Limits: cmp.Or(o.Limits, mailbox.DefaultLimits)})
}

// ReadBox is Box for commands that only read: it does not repair a broken file.
func (o Operator) ReadBox(cfg *team.Config, name protocol.MemberName, report func(mailbox.Report)) (*mailbox.Located, error) {
	return o.Boxes(cfg.Name).Open(name, mailbox.Options{Report: report, Limits: cmp.Or(o.Limits, mailbox.DefaultLimits), Unmended: true})
}

// Boxes returns the mailboxes of a team.
func (o Operator) Boxes(name protocol.TeamName) mailbox.Boxes { return boxes.Of(o.Root, name) }

// At returns an Operator for a wire tree and a STATE, two absolute paths, with the identity of this
// process. A program that starts members also sets Environ, and Self when members are processes.
func At(root, state string, m poll.Minter) Operator {
	return Operator{Root: team.Root{Path: root}, RootURL: (&url.URL{Scheme: "file", Path: root}).String(), Home: home.Home{Path: state}, Minter: m, PID: os.Getpid()}
}

// Live returns the members of a team whose processes run, and whether a process leads the team. It
// takes no lease.
func (o Operator) Live(s *State) (members []protocol.MemberName, led bool, err error) {
	for _, m := range s.Lead.Live() {
		if m.Process != nil && m.Process.ID.Alive() {
			members = append(members, m.Name)
		}
	}
	led, err = s.Dir.Led()
	return members, led, err
}

// RunPath returns RUN, the directory of sockets.
func (o Operator) RunPath() string {
	return cmp.Or(o.RunDir, o.Home.Run())
}
