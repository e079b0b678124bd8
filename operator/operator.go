// Package operator is a person at one wire tree: what the packages below it share. What a
// person, or a face for one, does with teams lies in those: teamfile, decide, mail, board,
// process, inspect, teams, supervise. Every face (command line, MCP, TUI, web) calls them
// and holds no rules of its own.
//
//	op := operator.At(root, state, minter)
//	waiting, err := decide.Of(op).Pending(ctx, "api", false)
//	results, err := decide.Of(op).Decide(ctx, "api", []decide.Answer{{ID: id, Allow: true, Digest: d}})
//
// Methods work on files under locks; a running leader only makes them faster.
package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"waggle"
	"waggle/agent"
	"waggle/boxes"
	"waggle/control"
	"waggle/home"
	"waggle/journal"
	"waggle/leader"
	"waggle/machine"
	"waggle/mailbox"
	"waggle/poll"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// Operator is a person at one wire tree. Its methods may be called from several
// goroutines and processes.
type Operator struct {
	Root    team.Root
	RootURL string // file:///… of Root
	// ClaudeDir is the config directory of Claude Code, whose sessions are listed; "":
	// none are.
	ClaudeDir string
	Home      home.Home
	Token     string // for http addresses; "": that of Home's own endpoint
	RunDir    string // where sockets lie; "": in Home
	// Worktrees is the directory below which members' worktrees are made, outside of
	// STATE and of every repository; "": no member gets one.
	Worktrees string
	// Edits remembers for a moment what git says of worktrees; nil: git is asked each
	// time.
	Edits  *EditCache
	Minter poll.Minter
	// Self is the program that is started for a member, waggle's binary, or one of your own
	// that hands its arguments to worker.Invoked.
	Self string
	// Backends are places of this program's own to run members in, each known by its Name
	// in a team file and in the records: none of those of Backends().
	Backends []spawn.Backend
	Environ  []string // for members' processes
	Version  string
	PID      int
	Log      *slog.Logger // may be nil
	// Limits bound the words that are sent; the zero value: mailbox.DefaultLimits.
	Limits mailbox.Limits
	// Agent sits behind the lead while this program leads; nil: a person does (LedBy).
	Agent agent.Decider
	// Observe is told of the transitions of a team's machines whenever this
	// program leads it; nil: nobody is.
	Observe machine.Observer
	// Ceiling is the user's, as their file has it now; nil: there is no file, and a
	// team keeps the one that it has.
	Ceiling *record.Ceiling
	// Ancestors finds the processes above one, so that a call which a member's process makes
	// in the operator's name is refused; nil skips the guard, for programs that are no
	// command line.
	Ancestors func(pid int) ([]spawn.Identity, error)

	Patience time.Duration // with the lock of a leader's journal; 0: the journal's own
}

// Writer is the operator's hand in a leader's journal.
func (o Operator) Writer() journal.Writer { return journal.Writer{Operator: true, PID: o.PID} }

// State is an open team as its journals have it.
type State struct {
	Dir            home.Dir
	Team           waggle.TeamName
	Journal        journal.Journal
	Lead           *control.Leader
	JournalName    journal.Name // of Journal: the leader's, or the operator's own beside a team that another program leads
	JournalOptions journal.Options
	Tidied         bool // its worktrees were seen to, and what is kept was said
	Kept           []KeptWorktree
	Broken         error                    // of the leader's journal, where it is shown all the same (readable)
	Dropped        map[record.Instance]bool // their control groups are gone
	Found          []journal.Record         // what the last Preview folded into Lead and no journal holds
	Claim          *Claim                   // of its name, while it is being raised; nil: nobody raises it here

	Mu    sync.Mutex    // guards what follows: members are ended all at once
	Note  func(Note)    // of sweeps; nil: nobody is
	Noted map[Note]bool // by them
}

// State opens the present team of a name: the newest in STATE that has not
// ended. Nil without error: waggle does not lead a team of that name.
func (o Operator) State(ctx context.Context, name waggle.TeamName) (*State, error) {
	return o.state(name, control.NewLeader)
}

// state is State with another fold of the leader's journal.
func (o Operator) state(name waggle.TeamName, fold func(machine.Observer) *control.Leader) (*State, error) {
	dirs, unknown := o.Home.Find(o.RootURL, name)
	for i := len(dirs) - 1; i >= 0; i-- {
		s, err := o.openFold(dirs[i], name, journal.Leader, fold(nil))
		if err != nil {
			return nil, err
		}
		if s.Lead.Instance == "" && dirs[i].Begun() {
			return nil, &journal.BrokenError{Journal: journal.Leader, File: "00000001.jsonl", Line: 1, Seq: 1, Why: "nothing is in it, and the team's processes have run"}
		}
		if s.Lead.Instance == "" && dirs[i].Unmade() {
			continue // its maker was stopped in the middle of the first record
		}
		if s.Lead.Ended == nil {
			return s, nil
		}
	}
	var b *home.BrokenError
	if errors.As(unknown, &b) {
		return nil, &Error{Kind: Failed, Op: "open", Err: unknown, Msg: fmt.Sprintf("team %s: %v", name, unknown),
			Advice: "put back what is missing there, or, when none of its processes runs, move " + b.Path + " away"}
	}
	return nil, unknown
}

// OpenState opens the team of a directory in STATE by its leader's journal, ended or not.
func (o Operator) OpenState(dir home.Dir, name waggle.TeamName) (*State, error) {
	return o.OpenJournal(dir, name, journal.Leader)
}

// OpenJournal opens it by another journal that a leader's fold reads.
func (o Operator) OpenJournal(dir home.Dir, name waggle.TeamName, j journal.Name) (*State, error) {
	return o.openFold(dir, name, j, control.NewLeader(nil))
}

func (o Operator) openFold(dir home.Dir, name waggle.TeamName, j journal.Name, fold *control.Leader) (*State, error) {
	s := &State{Dir: dir, Team: name, Lead: fold, JournalName: j, JournalOptions: journal.Options{Now: o.Minter.Now, Deadline: o.Patience}}
	opened, err := dir.Journals().Open(j, s.Lead, s.JournalOptions)
	if err != nil {
		return nil, err
	}
	s.Journal = opened
	return s, nil
}

// Worker opens a member's journal, read only.
func (s *State) Worker(i record.Instance) (*control.Worker, error) {
	w := control.NewWorker(nil)
	_, err := s.Dir.Journals().Open(journal.Name(i), w, s.JournalOptions)
	return w, err
}

// Led opens the state of a team that must be waggle's.
func (o Operator) Led(ctx context.Context, name waggle.TeamName) (*State, error) {
	return o.LedAs(name, control.NewLeader)
}

// LedAs is led with another fold of the leader's journal.
func (o Operator) LedAs(name waggle.TeamName, fold func(machine.Observer) *control.Leader) (*State, error) {
	s, err := o.state(name, fold)
	if Broken(err) {
		return nil, Unreadable("open", name, err)
	}
	if err != nil {
		return nil, err
	}
	if s == nil {
		if _, err := team.Open(o.Root, name, team.Options{}); err != nil {
			return nil, err
		}
		return nil, &Error{Kind: NotFound, Op: "open", Msg: fmt.Sprintf("team %s is not led by waggle: it has no journal here", name),
			Next: Next{Step: NextReadMessages, Team: name}}
	}
	return s, nil
}

// Passing is how a command leads for a moment.
func (o Operator) Passing(s *State) leader.Options {
	return leader.Options{Root: o.Root, State: s.Dir, Team: s.Team, Minter: o.Minter, Writer: o.Writer(), Log: o.Log, Observe: o.Observe, Patience: o.Patience}
}

// Pass runs one leader pass when nobody leads (trust §5): it records, answers and sends. What
// only reads takes Preview. led reports that
// somebody does, and will do what is to be done.
func (o Operator) Pass(ctx context.Context, s *State) (led bool, err error) {
	l, err := leader.Open(ctx, o.Passing(s))
	if errors.Is(err, leader.ErrLeading) {
		return true, s.Journal.Refresh(ctx)
	}
	if err != nil {
		return false, err
	}
	err = l.Pass(ctx)
	return false, errors.Join(err, l.Close(), s.Journal.Refresh(ctx))
}

// Preview is for what only reads: when nobody leads, it folds into s what a leader pass
// would find now, in memory (leader.Preview). Nothing is recorded, marked or sent, and no
// lease is taken; what is overdue stays open. The next use of s.Journal forgets it. led
// reports that somebody leads: then s is what is on record.
func (o Operator) Preview(ctx context.Context, s *State) (led bool, err error) {
	led, err = s.Dir.Led()
	if err == nil {
		err = s.Journal.Refresh(ctx)
	}
	s.Found = nil
	j, ok := s.Journal.(*journal.File)
	if !ok || led || err != nil {
		return led, err
	}
	p := j.Preview()
	if err = leader.Preview(ctx, o.Passing(s), p, s.Lead); err != nil {
		return led, errors.Join(err, j.Refresh(ctx)) // it may have stopped in the middle
	}
	s.Found = p.Records()
	return led, nil
}

// Guard refuses a command that a member's process runs in the operator's name,
// and records it (trust §8). What has the place of one of STATE's directories is set aside
// first: the command is going to write there. It keeps accidents and injected text out; it is not
// a wall.
func (o Operator) Guard(ctx context.Context, s *State, what string) error {
	s.Dir.Mend(o.Minter.Now())
	ms, err := o.Callers(s)
	if len(ms) == 0 || err != nil {
		return err
	}
	why := fmt.Sprintf("%s was called from inside %s", what, Names(ms))
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindUnverified, Must: true, Body: record.Unverified{
			Entry: fmt.Sprintf("command#%d-%d", o.PID, o.Minter.Now().UnixNano()), Box: "operator", From: string(ms[0].Name), Why: why}}}, nil
	})
	return errors.Join(&Error{Kind: Refused, Op: what, Msg: why + ": only the operator may do that",
		Advice: "run it from your own terminal"}, err)
}

// Box opens a member's mailbox.
func (o Operator) Box(cfg *team.Config, name waggle.MemberName, report func(mailbox.Report)) (*mailbox.Located, error) {
	return o.Boxes(cfg.Name).Open(name, mailbox.Options{Report: report, Limits: o.limits()})
}

func (o Operator) limits() mailbox.Limits {
	if o.Limits == (mailbox.Limits{}) {
		return mailbox.DefaultLimits
	}
	return o.Limits
}

// ReadBox is Box for what only reads: a file that is broken is not mended by reading it.
func (o Operator) ReadBox(cfg *team.Config, name waggle.MemberName, report func(mailbox.Report)) (*mailbox.Located, error) {
	return o.Boxes(cfg.Name).Open(name, mailbox.Options{Report: report, Limits: o.limits(), Unmended: true})
}

// Boxes are the mailboxes of a team.
func (o Operator) Boxes(name waggle.TeamName) mailbox.Boxes { return boxes.Of(o.Root, name) }

// Guarded is State for a command that only the operator may give, also in a team
// that waggle does not lead: there nobody is a member's process.
func (o Operator) Guarded(ctx context.Context, name waggle.TeamName, what string) (*State, error) {
	s, err := o.State(ctx, name)
	if s == nil || err != nil {
		return nil, err
	}
	return s, o.Guard(ctx, s, what)
}

// Pick chooses the team: the named one, or the only one there is.
func (o Operator) Pick(name string) (waggle.TeamName, error) {
	names, err := o.Root.Names()
	if err != nil {
		return "", err
	}
	if name != "" {
		t, err := waggle.ParseTeam(name)
		if err != nil {
			return "", &Error{Kind: Usage, Op: "team", Err: err}
		}
		_, err = team.Open(o.Root, t, team.Options{})
		if err != nil { // its directory may be gone, or unusable, while it is at work
			if s, serr := o.State(context.Background(), t); serr == nil && s != nil {
				return t, nil
			}
		}
		return t, err
	}
	names = append(names, o.unlisted(context.Background())...)
	switch len(names) {
	case 0:
		return "", &Error{Kind: NotFound, Op: "team", Msg: "there is no team here", Next: NextDemoOrInit.With()}
	case 1:
		return names[0], nil
	}
	near := make([]string, len(names))
	for i, n := range names {
		near[i] = string(n)
	}
	return "", &Error{Kind: Usage, Op: "team", Msg: "there are several teams: name one with --team", Near: near}
}

// Self returns the path of the running binary.
func Self() (string, error) {
	p, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own binary: %w", err)
	}
	return p, nil
}
