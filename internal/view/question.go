package view

import (
	"encoding/json"
	"time"

	"waggle/internal/view/page"
	"waggle/operator/decide"
	"waggle/record"
)

// PendingDocument is a request as `pending --json` lists it (commands §4): these fields and
// no others. Of a network request the input is {"host","port"}, of a plan {"plan"}.
type PendingDocument struct {
	Team      string          `json:"team"` // "-": a session, in no team of ours
	ID        string          `json:"id"`
	Handle    string          `json:"handle"`
	Kind      string          `json:"kind"`
	Member    string          `json:"member"`
	Instance  string          `json:"instance"`
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input"`
	Cwd       string          `json:"cwd"`
	Reason    string          `json:"reason"`
	Digest    string          `json:"digest"`
	Risk      string          `json:"risk"`
	AgeS      int64           `json:"age_s"`
	ExpiresAt *string         `json:"expires_at"`
	File      string          `json:"trust,omitempty"` // "file", or nothing: only a file says that the member asks this
	Status    string          `json:"status"`
}

// QuestionDocument is a request with all details, as `show --json` prints it.
type QuestionDocument struct {
	PendingDocument
	record.Bound
	Unheld    string            `json:"unheld,omitempty"`
	MustAsk   string            `json:"must_ask,omitempty"` // why a person decides although a rule would allow it
	Because   string            `json:"because,omitempty"`  // why no rule and no mode answers it
	Host      string            `json:"host,omitempty"`
	Port      string            `json:"port,omitempty"`
	Plan      string            `json:"plan,omitempty"`
	Revision  int               `json:"revision,omitempty"`
	Hash      string            `json:"hash,omitempty"`
	Questions []decide.Asked    `json:"questions,omitempty"`
	Task      string            `json:"task,omitempty"`
	Command   string            `json:"command,omitempty"`
	Pattern   string            `json:"pattern"`
	Suggest   []string          `json:"suggest"`
	Weights   []int             `json:"suggest_matched,omitempty"` // how many of the last calls each of suggest would have matched
	Weighed   int               `json:"suggest_calls,omitempty"`   // how many calls these are
	Trust     string            `json:"trust"`
	Votes     []string          `json:"votes,omitempty"`
	Escalated string            `json:"escalated,omitempty"`
	Asker     string            `json:"asker,omitempty"`
	LeadOut   string            `json:"lead_out,omitempty"` // who answers while a person has the session of the lead's agent
	Answer    *decide.AnswerNow `json:"answer,omitempty"`
}

// GroupDocument is a group of requests that are alike.
type GroupDocument struct {
	ID      string   `json:"id"`
	Team    string   `json:"team"`
	Kind    string   `json:"kind"`
	Tool    string   `json:"tool"`
	Pattern string   `json:"pattern"`
	Risk    string   `json:"risk"`
	Count   int      `json:"count"`
	Members []string `json:"members"`
	IDs     []string `json:"ids"`
	AgeS    int64    `json:"age_s"` // of the oldest
	Batch   bool     `json:"batch"`
	Text    []string `json:"text"`
}

// GroupShown is the document of a group with all its requests.
type GroupShown struct {
	Group    GroupDocument      `json:"group"`
	Requests []QuestionDocument `json:"requests"`
}

// PendingList is the document of `pending`.
type PendingList struct {
	Groups  []GroupDocument   `json:"groups"`
	Pending []PendingDocument `json:"pending"`
}

// Pending is the document of open requests, with their groups.
func Pending(qs []decide.Request, now time.Time) PendingList {
	l := PendingList{Groups: []GroupDocument{}, Pending: []PendingDocument{}}
	var open []decide.Request
	for _, q := range qs {
		l.Pending = append(l.Pending, pendingItem(q.PendingItem, now))
		if q.Answer == nil && q.Status != decide.StatusClosed {
			open = append(open, q)
		}
	}
	for _, g := range decide.Groups(open) {
		l.Groups = append(l.Groups, Group(g, now))
	}
	return l
}

func pendingItem(q decide.PendingItem, now time.Time) PendingDocument {
	return PendingDocument{Team: q.Team, ID: q.ID, Handle: q.Handle, Kind: q.Kind, Member: q.Member, Instance: q.Instance, Tool: q.Tool, Input: q.Input,
		Cwd: q.Cwd, Reason: q.Reason, Digest: q.Digest, Risk: q.Risk, AgeS: page.AgeSeconds(q.Asked, now), ExpiresAt: page.Until(q.Expires), File: q.File, Status: q.Status}
}

// Question is the document of one request.
func Question(q decide.Request, now time.Time) QuestionDocument {
	return QuestionDocument{PendingDocument: pendingItem(q.PendingItem, now), Bound: q.Bound, Unheld: q.Unheld, MustAsk: q.MustAsk, Because: q.Because, Host: q.Host, Port: q.Port, Plan: q.Plan,
		Revision: q.Revision, Hash: q.Hash, Task: q.Task, Command: q.Command, Pattern: q.Pattern, Suggest: q.Suggest, Weights: q.Weights, Weighed: q.Weighed, Trust: q.Trust, Votes: q.Votes,
		Escalated: q.Escalated, Asker: q.Asker, LeadOut: q.LeadOut, Questions: q.Questions, Answer: q.Answer}
}

// Questions are the documents of requests, never null.
func Questions(qs []decide.Request, now time.Time) []QuestionDocument {
	out := make([]QuestionDocument, 0, len(qs))
	for _, q := range qs {
		out = append(out, Question(q, now))
	}
	return out
}

// Group is the document of a group.
func Group(g decide.Group, now time.Time) GroupDocument {
	return GroupDocument{g.ID, g.Team, g.Kind, g.Tool, g.Pattern, g.Risk, g.Count, g.Members, g.IDs, page.AgeSeconds(g.Oldest, now), g.Batch, g.Text}
}
