package view

import (
	"time"

	"waggle"
	"waggle/internal/view/page"
	"waggle/operator"
	"waggle/operator/inspect"
)

// DigestDocument is what happened in a team since a time. Lists are in order of time; next is the
// next command, "" for none.
type DigestDocument struct {
	Team      string           `json:"team"`
	Since     string           `json:"since"`
	SinceWhy  string           `json:"since_why"`
	State     string           `json:"state"` // led, not led, interrupted, ended, other
	Results   []DigestResult   `json:"results"`
	Members   []DigestMember   `json:"members"`
	Decisions []DigestDecision `json:"decisions"`
	Calls     DigestCalls      `json:"calls"`
	Messages  []DigestMessage  `json:"messages"`
	Sent      []DigestSent     `json:"sent"`
	Waiting   []DigestWaiting  `json:"waiting"`
	Trouble   []DigestMember   `json:"trouble"`
}

// DigestList is the document of several teams.
type DigestList struct {
	Digests []DigestDocument `json:"digests"`
}

// DigestResult is the end of a turn of a task.
type DigestResult struct {
	At      string `json:"at"`
	Member  string `json:"member"`
	Task    string `json:"task"`
	Subject string `json:"subject"`
	Outcome string `json:"outcome"`
	Note    string `json:"note"`
	Next    string `json:"next"`
}

// DigestMember is something that happened to a member, or how it is.
type DigestMember struct {
	At     string `json:"at"`
	Member string `json:"member"`
	What   string `json:"what"`
	Detail string `json:"detail"`
	Next   string `json:"next"`
}

// DigestDecision is an answer that a rule, the lead's agent or the deadline gave.
type DigestDecision struct {
	At       string `json:"at"`
	ID       string `json:"id"`
	Member   string `json:"member"`
	Asks     string `json:"asks"`
	Decision string `json:"decision"`
	By       string `json:"by"`
	Via      string `json:"via"`
	Rule     string `json:"rule"`
	Reason   string `json:"reason"`
	Next     string `json:"next"`
}

// DigestCalls counts the calls that rules decided without a question.
type DigestCalls struct {
	Allowed int              `json:"allowed"`
	Denied  []DigestDecision `json:"denied"`
}

// DigestMessage is a message to the lead.
type DigestMessage struct {
	At   string `json:"at"` // as the message says
	From string `json:"from"`
	Text string `json:"text"`
	Read bool   `json:"read"`
}

// DigestSent is a message that was sent in another program's team.
type DigestSent struct {
	At   string `json:"at"`
	From string `json:"from"`
	To   string `json:"to"`
	Text string `json:"text"`
}

// DigestWaiting is an open request.
type DigestWaiting struct {
	ID     string `json:"id"`
	Handle string `json:"handle"`
	Member string `json:"member"`
	Asks   string `json:"asks"`
	Risk   string `json:"risk"`
	AgeS   int64  `json:"age_s"`
	Asker  string `json:"asker"`
	Next   string `json:"next"`
}

// Digest is the document of a digest. spell gives the text of a step in the face's own commands.
func Digest(d *inspect.Digest, now time.Time, spell func(operator.Next) string) DigestDocument {
	s := digestSpeller(spell)
	out := DigestDocument{Team: d.Team, Since: waggle.FormatTime(d.Since), SinceWhy: d.SinceWhy, State: d.State, Results: []DigestResult{}, Members: s.members(d.Members),
		Decisions: s.decisions(d.Decisions), Calls: DigestCalls{d.Calls.Allowed, s.decisions(d.Calls.Denied)}, Messages: []DigestMessage{}, Sent: []DigestSent{},
		Waiting: []DigestWaiting{}, Trouble: s.members(d.Trouble)}
	for _, r := range d.Results {
		out.Results = append(out.Results, DigestResult{page.Stamp(r.At), r.Member, r.Task, r.Subject, r.Outcome, r.Note, spell(r.Do)})
	}
	for _, m := range d.Messages {
		out.Messages = append(out.Messages, DigestMessage{m.Timestamp, m.From, m.Text, m.Read})
	}
	for _, m := range d.Sent {
		out.Sent = append(out.Sent, DigestSent{page.Stamp(m.At), m.From, m.To, m.Text})
	}
	for _, w := range d.Waiting {
		out.Waiting = append(out.Waiting, DigestWaiting{w.ID, w.Handle, w.Member, w.Asks, w.Risk, page.AgeSeconds(w.Asked, now), w.Asker, spell(w.Do)})
	}
	return out
}

type digestSpeller func(operator.Next) string

func (s digestSpeller) members(ms []inspect.DigestMember) []DigestMember {
	out := make([]DigestMember, 0, len(ms))
	for _, m := range ms {
		out = append(out, DigestMember{page.Stamp(m.At), m.Member, m.What, m.Detail, s(m.Do)})
	}
	return out
}

func (s digestSpeller) decisions(ns []inspect.DigestDecision) []DigestDecision {
	out := make([]DigestDecision, 0, len(ns))
	for _, n := range ns {
		out = append(out, DigestDecision{page.Stamp(n.At), n.ID, n.Member, n.Asks, n.Decision, n.By, n.Via, n.Rule, n.Reason, s(n.Do)})
	}
	return out
}
