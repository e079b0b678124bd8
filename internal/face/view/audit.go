package view

import (
	"cmp"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/inspect"
)

// AuditList is the document of the calls of a team.
type AuditList struct {
	Events   []operator.AuditEvent `json:"events"`
	ID       string                `json:"id"`
	Team     string                `json:"team"`
	Problems []inspect.BadRecord   `json:"problems,omitempty"` // journals that cannot be read to their end
}

// Audit is the document of the calls of a team with an id. broken is the error of the journals that cannot be read.
func Audit(id, team string, es []operator.AuditEvent, broken error) AuditList {
	return AuditList{es, id, team, unread(broken)}
}

// SessionDigest is the document of the requests of sessions since a time.
type SessionDigest struct {
	Events []operator.AuditEvent `json:"events"`
	Since  time.Time             `json:"since"`
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
	return cmp.Or(e.Asks, strings.TrimSpace(e.Tool+" "+string(e.Input)))
}
