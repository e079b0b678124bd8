package operator

import (
	"context"
	"strings"

	"waggle"
	"waggle/control"
	"waggle/home"
	"waggle/journal"
)

// The operator's own journal, beside a team that another program leads, records what the operator
// did in that team; the journals of guests record what they did. Both outlive the team.

// Abroad finds the operator's own journal beside a present or past team of another program: the
// newest of a team's name, or the one of an id. It returns nil when there is none.
func (o Operator) Abroad(of string) (*home.Known, error) {
	ks, err := o.Home.Abroad()
	if err != nil {
		return nil, err
	}
	var here []home.Known
	for _, k := range ks {
		id := k.ID()
		if of != "" && (id == of || strings.TrimPrefix(id, string(k.Team)+"-") == of) {
			return &k, nil
		}
		if k.Root == o.RootURL && (of == "" || waggle.SameName(waggle.MemberName(k.Team), waggle.MemberName(of))) {
			here = append(here, k)
		}
	}
	switch names := teamNames(here); {
	case len(here) == 0:
		return nil, nil
	case len(names) > 1:
		return nil, &Error{Kind: Usage, Op: "record", Msg: "there are records of what was done in several teams: name one, or the id of one", Near: names}
	}
	return &here[len(here)-1], nil
}

// OpenAny opens the record of a present or past team, whoever led it. When a name belonged to a
// team of waggle and belongs to another program's team now, it opens the latter's.
func (o Operator) OpenAny(ctx context.Context, of string) (*Record, error) {
	name, perr := o.Pick(of)
	if perr == nil && of == "" {
		of = string(name)
	}
	r, err := o.OpenRecord(ctx, of)
	if err == nil && (r.Lead.Ended == nil || of == r.Known.ID()) || err != nil && KindOf(err) != NotFound {
		return r, err
	}
	k, aerr := o.Abroad(of)
	if aerr != nil && err != nil {
		return nil, aerr
	}
	if k == nil || aerr != nil {
		return r, err
	}
	if err == nil && r.Known.Opened > k.Opened {
		return r, nil
	}
	return o.OpenAbroad(*k), nil
}

// OpenAbroad opens the operator's own journal beside a team that another program leads. When the
// journal is broken, Record.Broken has the error.
func (o Operator) OpenAbroad(k home.Known) *Record {
	r := &Record{Known: k, Abroad: true, State: State{Dir: k.Dir, Team: k.Team, Lead: control.NewLeader(nil), JournalName: OwnJournal, JournalOptions: journal.Options{Now: o.Minter.Now}}}
	r.Journal, r.Broken = k.Dir.OpenJournal(OwnJournal, r.Lead, r.JournalOptions)
	return r
}
