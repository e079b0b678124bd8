package view

import (
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/protocol"
)

// RecapDocument is what happened in a team since a time. Lists are in order of time; next is the
// next command, "" for none.
type RecapDocument struct {
	Team      string                 `json:"team"`
	Since     string                 `json:"since"`
	SinceWhy  string                 `json:"since_why"`
	State     string                 `json:"state"` // led, not led, interrupted, ended, other
	Results   []RecapResult          `json:"results"`
	Members   []RecapMember          `json:"members"`
	Decisions []RecapDecision        `json:"decisions"`
	Calls     RecapCalls             `json:"calls"`
	Messages  []inspect.RecapMessage `json:"messages"`
	Sent      []inspect.RecapSent    `json:"sent"`
	Waiting   []RecapWaiting         `json:"waiting"`
	Trouble   []RecapMember          `json:"trouble"`
}

// RecapList is the document of several teams.
type RecapList struct {
	Recaps []RecapDocument `json:"recaps"`
}

// RecapResult is the end of a turn of a task.
type RecapResult struct {
	inspect.RecapResult
	Next string `json:"next"`
}

// RecapMember is something that happened to a member, or how it is.
type RecapMember struct {
	inspect.RecapMember
	Next string `json:"next"`
}

// RecapDecision is an answer that a rule, the lead's agent or the deadline gave.
type RecapDecision struct {
	inspect.RecapDecision
	Next string `json:"next"`
}

// RecapCalls counts the calls that rules decided without a question.
type RecapCalls struct {
	Allowed int             `json:"allowed"`
	Denied  []RecapDecision `json:"denied"`
}

// RecapWaiting is an open request.
type RecapWaiting struct {
	inspect.RecapWaiting
	AgeS  int64  `json:"age_s"`
	Asker string `json:"asker"`
	Next  string `json:"next"`
}

// Recap is the document of a recap. spell gives the text of a step in the face's own commands.
func Recap(d *inspect.Recap, now time.Time, spell func(operator.Next) string) RecapDocument {
	s := recapSpeller(spell)
	out := RecapDocument{Team: d.Team, Since: protocol.FormatTime(d.Since), SinceWhy: d.SinceWhy, State: d.State, Results: []RecapResult{}, Members: s.members(d.Members),
		Decisions: s.decisions(d.Decisions), Calls: RecapCalls{d.Calls.Allowed, s.decisions(d.Calls.Denied)}, Messages: d.Messages, Sent: d.Sent,
		Waiting: []RecapWaiting{}, Trouble: s.members(d.Trouble)}
	for _, r := range d.Results {
		out.Results = append(out.Results, RecapResult{r, spell(r.Do)})
	}
	for _, w := range d.Waiting {
		out.Waiting = append(out.Waiting, RecapWaiting{w, page.AgeSeconds(w.Asked, now), w.Asker, spell(w.Do)})
	}
	return out
}

type recapSpeller func(operator.Next) string

func (s recapSpeller) members(ms []inspect.RecapMember) []RecapMember {
	out := make([]RecapMember, 0, len(ms))
	for _, m := range ms {
		out = append(out, RecapMember{m, s(m.Do)})
	}
	return out
}

func (s recapSpeller) decisions(ns []inspect.RecapDecision) []RecapDecision {
	out := make([]RecapDecision, 0, len(ns))
	for _, n := range ns {
		out = append(out, RecapDecision{n, s(n.Do)})
	}
	return out
}
