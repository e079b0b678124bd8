package view

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"waggle/internal/view/page"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/inspect"
)

// AuditDocument is one gated call as the journals have it.
type AuditDocument struct {
	ID         string          `json:"id"`
	Handle     string          `json:"handle"`
	Kind       string          `json:"kind"`
	Member     string          `json:"member"`
	Instance   string          `json:"instance"`
	Trust      string          `json:"trust"`
	Task       string          `json:"task"`
	Tool       string          `json:"tool"`
	Input      json.RawMessage `json:"input"` // as it was asked and shown
	Cwd        string          `json:"cwd"`
	Reason     string          `json:"reason"`
	Digest     string          `json:"digest"`
	Risk       string          `json:"risk"`
	Asked      string          `json:"asked_at"`
	Decision   string          `json:"decision"` // allow, deny, answer; "": no decision yet
	By         string          `json:"by"`
	Channel    string          `json:"channel"`
	Via        string          `json:"via"`
	Rule       string          `json:"rule"`
	Said       string          `json:"said"`
	Answers    []string        `json:"answers,omitempty"` // to a question
	Version    uint64          `json:"policy_version"`
	Decided    string          `json:"decided_at"`
	Runs       json.RawMessage `json:"updated_input,omitempty"` // the changed input that ran instead
	RunsDigest string          `json:"updated_digest,omitempty"`
	Outcome    string          `json:"outcome"`
	ExitCode   *int            `json:"exit_code"`
}

// AuditList is the document of the calls of a team.
type AuditList struct {
	Events   []AuditDocument     `json:"events"`
	ID       string              `json:"id"`
	Team     string              `json:"team"`
	Problems []BadRecordDocument `json:"problems,omitempty"` // journals that cannot be read to their end
}

// Audit is the document of the calls of a team with an id. broken is the error of the journals that cannot be read.
func Audit(id, team string, es []operator.AuditEvent, broken error) AuditList {
	return AuditList{events(es), id, team, unread(broken)}
}

// SessionDigest is the document of the requests of sessions since a time.
type SessionDigest struct {
	Events []AuditDocument `json:"events"`
	Since  string          `json:"since"`
}

func events(es []operator.AuditEvent) []AuditDocument {
	out := make([]AuditDocument, 0, len(es))
	for _, e := range es {
		out = append(out, event(e))
	}
	return out
}

func event(e operator.AuditEvent) AuditDocument {
	return AuditDocument{e.ID, e.Handle, e.Kind, e.Member, e.Instance, e.Trust, e.Task, e.Tool, e.Input, e.Cwd, e.Reason, e.Digest, e.Risk, page.Stamp(e.Asked),
		e.Decision, e.By, e.Channel, e.Via, e.Rule, e.Said, e.Answers, e.Version, page.Stamp(e.Decided), e.Runs, e.RunsDigest, e.Outcome, e.ExitCode}
}

// AuditPage has a row for each call.
func AuditPage(es []operator.AuditEvent, now time.Time) (p page.Page) {
	t := page.Table{Head: []string{"ASKED", "ID", "MEMBER", "DECISION", "OUTCOME", "BY; FOR"}, About: true}
	for _, e := range es {
		t.Rows = append(t.Rows, []string{page.Moment(e.Asked, now), cmp.Or(e.Handle, e.ID), e.Member, e.Decision, e.Outcome, strings.TrimPrefix(decidedBy(e)+"; ", "; ") + askedFor(e)})
	}
	p.Table(t)
	return p
}

func decidedBy(e operator.AuditEvent) string {
	switch {
	case e.Rule != "":
		return e.By + ": " + e.Rule
	case e.Via != "" && e.By != "":
		return e.By + " (" + e.Via + ")"
	}
	return e.By
}

// askedFor is what a call asks for in one line.
func askedFor(e operator.AuditEvent) string {
	if e.Asks != "" {
		return e.Asks
	}
	return strings.TrimSpace(e.Tool + " " + string(e.Input))
}

// RecordDocument is one record of a journal in an audit.
type RecordDocument struct {
	Journal string          `json:"journal"`
	Owner   string          `json:"owner"`
	Seq     uint64          `json:"seq"`
	Time    string          `json:"time"`
	Writer  journal.Writer  `json:"writer"` // as the journal has it
	Kind    string          `json:"kind"`
	Body    json.RawMessage `json:"body"`
}

// Record is the document of a record.
func Record(r inspect.AuditRecord) RecordDocument {
	return RecordDocument{r.Journal, r.Owner, r.Seq, page.Stamp(r.Time), r.Writer, r.Kind, r.Body}
}
