package operator

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sort"
	"strings"
	"time"

	"waggle"
	"waggle/control"
	"waggle/home"
	"waggle/journal"
	"waggle/policy"
	"waggle/team"
)

// What was done from here in a team that another program leads is on record in the
// operator's own journal beside it and in those of its guests. The record outlives the team.

// abroad finds the record of what was done in another program's team that is or was: by
// the team's name the newest, or by its id. Nil: there is none.
func (o Operator) abroad(of string) (*home.Known, error) {
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
		return nil, &Error{Code: CodeUsage, Op: "record", Msg: "there are records of what was done in several teams: name one, or the id of one", Near: names}
	}
	return &here[len(here)-1], nil
}

// openAny opens the record of a team that is or was, whoever led it. Of a name that
// waggle's own team had and another program's has now it is the other's.
func (o Operator) openAny(ctx context.Context, of string) (*Record, error) {
	name, perr := o.Pick(of)
	if perr == nil && of == "" {
		of = string(name)
	}
	r, err := o.OpenRecord(ctx, of)
	if err == nil && (r.Lead.Ended == nil || of == r.Known.ID()) || err != nil && Code(err) != CodeNotFound {
		return r, err
	}
	k, aerr := o.abroad(of)
	if aerr != nil && err != nil {
		return nil, aerr
	}
	if k == nil || aerr != nil {
		return r, err
	}
	if err == nil && r.Known.Opened > k.Opened {
		return r, nil
	}
	return o.openAbroad(*k), nil
}

func (o Operator) openAbroad(k home.Known) *Record {
	r := &Record{Known: k, Abroad: true, State: State{Dir: k.Dir, Team: k.Team, Lead: control.NewLeader(nil), journal: ownJournal, jopts: journal.Options{Now: o.Minter.Now}}}
	r.Journal, r.Broken = k.Dir.Journals().Open(ownJournal, r.Lead, r.jopts)
	return r
}

// standsAbroad reports that the team of a record is still there.
func (o Operator) standsAbroad(ctx context.Context, r *Record) bool {
	cfg, err := o.listing(ctx, r.Team)
	return err == nil && uidOf(cfg) == r.Dir.UID
}

// surveyPast is a survey of a team of another program that is gone.
func (o Operator) surveyPast(ctx context.Context, name waggle.TeamName, why error) (*survey, error) {
	var missing *team.NotFoundError
	if !errors.As(why, &missing) {
		return nil, why
	}
	k, err := o.abroad(string(name))
	if k == nil || err != nil {
		return nil, errors.Join(why, err)
	}
	r := o.openAbroad(*k)
	v := &survey{s: &r.State, cfg: &team.Config{Name: r.Team}, past: true}
	if r.Broken != nil {
		return nil, r.Broken
	}
	v.t = newTracer(v.s)
	v.now, v.there = o.Minter.Now(), map[*trail]bool{}
	return v, v.t.refresh(ctx)
}

// WorkedIn reports that something is on record that was done in a team that is not there
// any more and that another program led.
func (o Operator) WorkedIn(name waggle.TeamName) bool {
	k, err := o.abroad(string(name))
	return k != nil && err == nil
}

// DigestSent are words that were sent in another program's team.
type DigestSent struct {
	At   string `json:"at"`
	From string `json:"from"`
	To   string `json:"to"`
	Text string `json:"text"`
}

// digestAbroad tells what was done from here in another program's team.
func (o Operator) digestAbroad(ctx context.Context, r *Record, since time.Time) (*Digest, error) {
	if r.Broken != nil {
		return nil, r.Broken
	}
	recs, err := r.Records()
	if err != nil {
		return nil, err
	}
	sort.SliceStable(recs, func(i, j int) bool { return recs[i].Time.Before(recs[j].Time) })
	d := newDigest(r.Team)
	if d.State = "ended"; o.standsAbroad(ctx, r) {
		d.State = "other"
	}
	if d.SinceWhy = "you said so"; since.IsZero() {
		since, d.SinceWhy = lastLooked(recs)
	}
	d.Since = waggle.FormatTime(since)
	g := digester{d: d, s: &r.State, asks: map[control.Key]control.Ask{}, ends: map[end]int{}}
	for _, rec := range recs {
		g.remember(rec)
		if rec.Time.After(since) {
			if err := g.takeAbroad(rec); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

func (g *digester) takeAbroad(r LogRecord) error {
	at := waggle.FormatTime(r.Time)
	if r.Journal != ownJournal {
		return g.guest(r, at)
	}
	switch r.Kind {
	case control.RecSaid:
		return read(r, func(b control.Words) {
			if env, err := b.Mail.Open(); err == nil {
				g.d.Sent = append(g.d.Sent, DigestSent{At: at, From: env.From, To: string(b.Mail.To), Text: env.Text})
			}
		})
	case control.RecJoined:
		return read(r, func(b control.Joined) { g.member(b.Instance, at, "joined", "registered here", "") })
	case control.RecProcess:
		return read(r, func(b control.Process) { g.member(b.Instance, at, "started", "as a guest", "") })
	case control.RecLeft:
		return read(r, func(b control.Left) { g.member(b.Instance, at, "left", b.How+suffix(b.Detail), "") })
	}
	return nil
}

// guest tells of a guest's turns, and of what its lead decided.
func (g *digester) guest(r LogRecord, at string) error {
	switch r.Kind {
	case control.RecSaid:
		return read(r, func(b control.Said) {
			env, err := b.Mail.Open()
			switch {
			case err != nil:
			case b.Kind == waggle.KindText:
				g.d.Sent = append(g.d.Sent, DigestSent{At: at, From: env.From, To: string(b.Mail.To), Text: env.Text})
			case b.Kind == waggle.KindIdleNotification:
				res := DigestResult{At: at, Member: r.Name, Subject: "its lead's words", Outcome: "completed", Note: b.Note}
				if b.Failed {
					res.Outcome = "failed"
				}
				g.d.Results = append(g.d.Results, res)
			}
		})
	case control.RecAnswered:
		var b control.Answered
		if err := json.Unmarshal(r.Body, &b); err != nil || b.Channel != policy.ChannelFile {
			return g.call(r, at)
		}
		g.d.Decisions = append(g.d.Decisions, DigestDecision{At: at, ID: string(b.ID), Member: r.Name, Asks: said(b.Kind, g.asks[b.Key]), Decision: b.Decision,
			By: string(b.By), Via: string(b.Channel), Reason: b.Reason})
	}
	return nil
}

// PastTeams lists the teams that are or were, for completion, oldest first.
func (o Operator) PastTeams() ([]home.Known, error) {
	led, err := o.Home.List()
	if err != nil {
		return nil, err
	}
	abroad, err := o.Home.Abroad()
	return slices.Concat(led, abroad), err
}
