package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waggle/control"
	"waggle/home"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// Mode is what a team is opened for: Read, Act, Brief, Seen, Command, Lead or Answer.
type Mode struct {
	read, brief bool
	command     string
	then        func(Operator, context.Context, *State) error
}

var (
	// Read opens the record of a team, present or past, whoever led it: that it has ended (Lead.Ended), is Foreign
	// or Damaged are facts of it and no errors. The name may be the id of a record, <team>-<8 hex digits> or those
	// digits alone; without a name it is the only team in STATE. Of a name it is the living team, else the newest.
	// The wire tree is not needed: STATE keeps the record of a team whose directory was deleted.
	Read = Mode{read: true}
	// Act opens the present team that waggle leads, whole. It fails with *UnledError where there is none, and with
	// a *journal.BrokenError (Broken) where the leader's journal is damaged.
	Act = Mode{}
	// Brief is Act with what is open only (control.NewBrief), for reading often. It takes no lock and writes nothing:
	// the snapshot that makes it quick is of KeepBrief.
	Brief = Mode{brief: true}
	// Seen is Act as a leader pass would find the team (Preview).
	Seen = Mode{then: func(o Operator, ctx context.Context, s *State) error { _, err := o.Preview(ctx, s); return err }}
)

// Command is Act for a command that only the operator may give: Guard refuses what an agent's process calls.
func Command(what string) Mode { return Mode{command: what} }

// Lead is Command that leads for one pass when no process leads (Pass).
func Lead(what string) Mode {
	return Mode{command: what, then: func(o Operator, ctx context.Context, s *State) error { _, err := o.Pass(ctx, s); return err }}
}

// Answer is Command that takes in what waits, to be answered (Hear).
func Answer(what string) Mode { return Mode{command: what, then: Operator.Hear} }

// ErrForeign and ErrEnded are why waggle leads no present team of a name that it knows.
var (
	ErrForeign = errors.New("another program leads the team")
	ErrEnded   = errors.New("the team has ended")
)

// UnledError reports that waggle leads no present team of a name.
type UnledError struct {
	Team protocol.TeamName
	Why  error // ErrForeign, ErrEnded; nil: there was none
	Err  error // what a person reads
}

// Error returns the message of Err.
func (e *UnledError) Error() string { return e.Err.Error() }

// Unwrap returns Err, and Why if there is one.
func (e *UnledError) Unwrap() []error {
	return slices.DeleteFunc([]error{e.Err, e.Why}, func(err error) bool { return err == nil })
}

// Unled reports an *UnledError.
func Unled(err error) bool { return is[*UnledError](err) }

// Open opens a team for a mode.
func (o Operator) Open(ctx context.Context, name protocol.TeamName, m Mode) (*State, error) {
	if m.read {
		return o.record(string(name))
	}
	s, err := o.present(name, m)
	switch {
	case Broken(err):
		return nil, Unreadable("open", name, err)
	case err != nil:
		return nil, err
	case s == nil:
		return nil, o.unled(ctx, name)
	}
	if m.command != "" {
		if err := o.Guard(ctx, s, m.command); err != nil {
			return nil, err
		}
	}
	if m.then != nil {
		err = m.then(o, ctx, s)
	}
	return s, err
}

// briefEvery is how many records KeepBrief leaves to be read by Brief at most.
const briefEvery = 50

// KeepBrief saves the snapshot that Brief reads, when it is more than briefEvery records old. The process that leads
// the team calls it, and a command that leads for one pass. An error is not reported: the snapshot is only a cache.
func (o Operator) KeepBrief(name protocol.TeamName) {
	_, _ = o.presentWith(name, Brief, journal.Options{SnapshotAfter: briefEvery})
}

// present opens the newest team of a name in STATE that has not ended. Nil without error: there is none.
func (o Operator) present(name protocol.TeamName, m Mode) (*State, error) {
	return o.presentWith(name, m, journal.Options{ReadOnly: m.brief})
}

func (o Operator) presentWith(name protocol.TeamName, m Mode, jo journal.Options) (*State, error) {
	if o.Reads != nil && o.Reads.Team == name {
		jo.ReadOnly = true
		return whole(o.open(*o.Reads, m, jo))
	}
	dirs, unknown := o.Home.Find(o.RootURL, name)
	for _, dir := range slices.Backward(dirs) {
		s, err := whole(o.open(home.Known{Dir: dir, Team: name}, m, jo))
		if err != nil {
			return nil, err
		}
		if s.Lead.Instance == "" && dir.Unmade() {
			continue // its maker was stopped in the middle of the first record
		}
		if s.Lead.Ended == nil {
			return s, nil
		}
	}
	if _, ok := errors.AsType[*home.BrokenError](unknown); ok {
		return nil, &Error{Kind: Failed, Op: "open", Err: unknown, Msg: fmt.Sprintf("team %s: %v", name, unknown),
			Next: Next{Step: NextDownForceOrPutBack, Team: name}}
	}
	return nil, unknown
}

// unled says why waggle leads no present team of a name.
func (o Operator) unled(ctx context.Context, name protocol.TeamName) error {
	e := &UnledError{Team: name}
	if _, e.Err = team.Open(o.Root, name, team.Options{}); e.Err != nil {
		if dirs, _ := o.Home.Find(o.RootURL, name); len(dirs) > 0 {
			e.Why = ErrEnded
		}
		return e
	}
	e.Why = ErrForeign
	e.Err = &Error{Kind: NotFound, Op: "open", Msg: fmt.Sprintf("team %s is not led by waggle: it has no journal here", name),
		Next: Next{Step: NextReadMessages, Team: name}}
	if !o.Home.Moved(name) {
		return e
	}
	if cfg, err := o.Listing(ctx, name); err == nil {
		e.Err = cmp.Or(o.Moved(cfg), e.Err)
	}
	return e
}

// OpenKnown opens the record of a team of home.Home, which home.Known.Foreign says to be another program's. What keeps
// its journal from being read to its end is in Damaged.
func (o Operator) OpenKnown(k home.Known) *State { return o.open(k, Read, journal.Options{}) }

func (o Operator) open(k home.Known, m Mode, jo journal.Options) *State {
	jo.Now, jo.Deadline = o.Minter.Now, o.Patience
	s := &State{Dir: k.Dir, Team: k.Team, Foreign: k.Foreign, Lead: control.NewLeader(nil), JournalName: journal.Leader, JournalOptions: jo, folds: o.Folds, opened: k.Opened}
	if m.brief {
		s.Lead = control.NewBrief(nil)
	}
	if k.Foreign {
		s.JournalName = OwnJournal
	}
	var j *journal.File
	if j, s.Damaged = k.Dir.OpenJournal(s.JournalName, s.Lead, jo); s.Damaged == nil {
		s.Journal = j
	}
	return s
}

// whole turns the damage of a team into an error.
func whole(s *State) (*State, error) {
	if s.Damaged != nil {
		return nil, s.Damaged
	}
	return s, nil
}

// ID names the record of the team: <team>-<8 hex digits>.
func (s *State) ID() string { return home.Known{Dir: s.Dir}.ID() }

// record is Open for Read. When a name belonged to a team of waggle and belongs to another program's team now, it opens
// the latter's.
func (o Operator) record(of string) (*State, error) {
	of = o.picked(of)
	s, err := o.led(of)
	if err == nil && (s.Lead.Ended == nil || of == s.ID()) || err != nil && KindOf(err) != NotFound {
		return s, err
	}
	f, ferr := o.foreign(of)
	switch {
	case ferr != nil && err != nil:
		return nil, ferr
	case f == nil || ferr != nil || err == nil && s.opened > f.Opened:
		return s, err
	}
	return o.OpenKnown(*f), nil
}

// picked is the name that is asked for, or that of the team which Pick takes without one.
func (o Operator) picked(of string) string {
	if of != "" {
		return of
	}
	name, _ := o.Pick("") // without one it is the only record there is
	return string(name)
}

// led opens the record of a present or past team of waggle: the living one of a name or else the newest, the one of an
// id, without either the only one.
func (o Operator) led(of string) (*State, error) {
	known, err := o.Home.List()
	if err != nil {
		return nil, err
	}
	unreadable := slices.IndexFunc(known, func(k home.Known) bool {
		return k.Broken != nil && (k.ID() == of || protocol.SameName(protocol.MemberName(k.Team), protocol.MemberName(of)))
	})
	readable := slices.DeleteFunc(slices.Clone(known), func(k home.Known) bool { return k.Broken != nil })
	k, here := o.among(readable, of)
	switch names := teamNames(here); {
	case k != nil:
		return o.OpenKnown(*k), nil
	case len(names) == 1:
		return o.newest(here), nil
	case len(names) > 1:
		return nil, &Error{Kind: Usage, Op: "record", Msg: "there are records of several teams: name one, or the id of one", Near: names}
	case of == "":
		return nil, &Error{Kind: NotFound, Op: "record", Msg: "there is no record of any team of " + o.RootURL, Next: NextState.With()}
	case unreadable >= 0:
		return nil, known[unreadable].Broken
	}
	e := &team.NotFoundError{What: "record of a team", Name: of}
	for _, k := range readable {
		e.Near = append(e.Near, k.ID())
	}
	return nil, e
}

// foreign finds the operator's own journal beside a present or past team of another program, as led finds a record; nil
// when there is none. That journal, and those of guests, record what was done there, and outlive the team.
func (o Operator) foreign(of string) (*home.Known, error) {
	ks, err := o.Home.Foreign()
	if err != nil {
		return nil, err
	}
	k, here := o.among(ks, of)
	switch names := teamNames(here); {
	case k != nil || len(here) == 0:
		return k, nil
	case len(names) > 1:
		return nil, &Error{Kind: Usage, Op: "record", Msg: "there are records of what was done in several teams: name one, or the id of one", Near: names}
	}
	return &here[len(here)-1], nil
}

// among returns the team with an id, else those of this wire tree with a name; "" has every name.
func (o Operator) among(ks []home.Known, of string) (*home.Known, []home.Known) {
	var here []home.Known
	for _, k := range ks {
		if id := k.ID(); of != "" && (id == of || strings.TrimPrefix(id, string(k.Team)+"-") == of) {
			return &k, nil
		}
		if k.Root == o.RootURL && (of == "" || protocol.SameName(protocol.MemberName(k.Team), protocol.MemberName(of))) {
			here = append(here, k)
		}
	}
	return nil, here
}

// newest opens the team that has not ended, else the last one.
func (o Operator) newest(ks []home.Known) *State {
	for _, k := range slices.Backward(ks) {
		if s := o.OpenKnown(k); s.Damaged == nil && s.Lead.Ended == nil {
			return s
		}
	}
	return o.OpenKnown(ks[len(ks)-1])
}

func teamNames(ks []home.Known) []string {
	var names []string
	for _, k := range ks {
		if !slices.Contains(names, string(k.Team)) {
			names = append(names, string(k.Team))
		}
	}
	return names
}

// Owner returns the owner of a journal: leader, or a member's name.
func (s *State) Owner(n journal.Name) string {
	if n == journal.Leader || n == OwnJournal {
		return string(n)
	}
	if m, ok := s.Lead.ByInstance(record.Instance(n)); ok {
		return string(m.Name)
	}
	return fmt.Sprintf("instance %.8s", string(n))
}

// OwnJournal is the journal that holds the operator's messages to a team that another program
// leads.
const OwnJournal = home.Operator
