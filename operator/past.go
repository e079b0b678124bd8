package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"waggle"
	"waggle/control"
	"waggle/home"
	"waggle/journal"
	"waggle/record"
	"waggle/team"
)

// Past finds the record of a present or past team: by its name the living one or else the newest,
// or by its id, <team>-<8 hex digits> or those digits alone. Without a name it finds the only team
// in STATE. It changes nothing and does not need the wire tree: STATE keeps the record of a team
// whose directory was deleted.
func (o Operator) Past(ctx context.Context, of string) (*home.Known, error) {
	known, err := o.Home.List()
	if err != nil {
		return nil, err
	}
	broken := slices.IndexFunc(known, func(k home.Known) bool {
		return k.Broken != nil && (k.ID() == of || waggle.SameName(waggle.MemberName(k.Team), waggle.MemberName(of)))
	})
	var unreadable error
	if broken >= 0 {
		unreadable = known[broken].Broken
	}
	known = slices.DeleteFunc(known, func(k home.Known) bool { return k.Broken != nil })
	if of == "" {
		return o.onlyPast(ctx, known)
	}
	var hits []home.Known
	for _, k := range known {
		id := k.ID()
		if id == of || strings.TrimPrefix(id, string(k.Team)+"-") == of {
			return &k, nil
		}
		if k.Root == o.RootURL && waggle.SameName(waggle.MemberName(k.Team), waggle.MemberName(of)) {
			hits = append(hits, k)
		}
	}
	if len(hits) > 0 {
		return o.newest(hits), nil
	}
	if unreadable != nil {
		return nil, unreadable
	}
	e := &team.NotFoundError{What: "record of a team", Name: of}
	for _, k := range known {
		e.Near = append(e.Near, k.ID())
	}
	return nil, e
}

// newest returns the team that has not ended, else the last one.
func (o Operator) newest(ks []home.Known) *home.Known {
	for _, k := range slices.Backward(ks) {
		if s := o.OpenPast(k); s.Broken == nil && s.Lead.Ended == nil {
			return &k
		}
	}
	return &ks[len(ks)-1]
}

func (o Operator) onlyPast(ctx context.Context, known []home.Known) (*home.Known, error) {
	if name, err := o.Pick(""); err == nil {
		return o.Past(ctx, string(name))
	}
	here := slices.DeleteFunc(slices.Clone(known), func(k home.Known) bool { return k.Root != o.RootURL })
	switch names := teamNames(here); {
	case len(here) == 0:
		return nil, &Error{Kind: NotFound, Op: "record", Msg: "there is no record of any team of " + o.RootURL, Next: NextState.With()}
	case len(names) == 1:
		return o.newest(here), nil
	default:
		return nil, &Error{Kind: Usage, Op: "record", Msg: "there are records of several teams: name one, or the id of one", Near: names}
	}
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

// Record is a team's journals, opened for reading. Where a journal is broken, Lead and the workers
// have the records before the break.
type Record struct {
	Known home.Known
	State
	Broken error // of the leader's journal, nil when it is whole
	Abroad bool  // another program led it: the record has what the operator did there
}

// OpenRecord opens the record of a present or past team.
func (o Operator) OpenRecord(ctx context.Context, of string) (*Record, error) {
	k, err := o.Past(ctx, of)
	if err != nil {
		return nil, err
	}
	return o.OpenPast(*k), nil
}

// OpenPast opens the record of a present or past team of waggle. When a journal is broken,
// Record.Broken has the error.
func (o Operator) OpenPast(k home.Known) *Record {
	r := &Record{Known: k, State: State{Dir: k.Dir, Team: k.Team, Lead: control.NewLeader(nil), JournalName: journal.Leader, JournalOptions: journal.Options{Now: o.Minter.Now}}}
	r.Journal, r.Broken = k.Dir.OpenJournal(journal.Leader, r.Lead, r.JournalOptions)
	return r
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
