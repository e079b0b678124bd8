package policyview

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
	"waggle/record"
)

// NetQuestionDocument is a host that a member asks for.
type NetQuestionDocument struct {
	decide.NetRequest
	AgeS      int64            `json:"age_s"`
	ExpiresAt *string          `json:"expires_at"`
	Status    string           `json:"status"`
	Enforced  bool             `json:"enforced"` // the machine holds the member's commands to an answer
	Sandbox   record.HeldLevel `json:"sandbox"`  // enforced, files only, off, unknown
}

// NetPendingList is the document of hosts with open requests.
type NetPendingList struct {
	Pending []NetQuestionDocument `json:"pending"`
}

// NetPending is the document of hosts with open requests.
func NetPending(ns []decide.NetRequest, now time.Time) NetPendingList {
	l := NetPendingList{make([]NetQuestionDocument, 0, len(ns))}
	for _, n := range ns {
		l.Pending = append(l.Pending, NetQuestionDocument{n, page.AgeSeconds(n.Asked, now), page.Until(n.Expires), n.Status, n.Enforced(), n.Sandbox})
	}
	return l
}

// NetPendingPage has a row for each host.
func NetPendingPage(ns []decide.NetRequest, now time.Time) (p page.Page) {
	t := page.Table{Head: []string{"ID", "MEMBER", "N", "AGE", "STATUS", "ENFORCED", "HOST AND REASON"}, About: true}
	for _, n := range ns {
		t.Rows = append(t.Rows, []string{n.Handles[0], n.Member, strconv.Itoa(len(n.IDs)), page.Age(n.Asked, now), n.Status, enforcedWord(n.Sandbox), strings.TrimSuffix(n.Shown+"  "+n.Reason, "  ")})
	}
	p.Table(t)
	return p
}

// GrantList is the document of standing answers.
type GrantList struct {
	Hosts []decide.GrantView `json:"hosts"`
}

// GrantPage has a row for each standing answer.
func GrantPage(gs []decide.GrantView, now time.Time) (p page.Page) {
	t := page.Table{Head: []string{"EFFECT", "FOR", "BY", "ENFORCED", "UNTIL", "HOST"}, About: true}
	for _, g := range gs {
		t.Rows = append(t.Rows, []string{g.Effect, g.Scope, cmp.Or(g.By, "unknown"), grantWord(g), untilOr(page.At(g.Expires), now, "as long as the member"), g.Shown})
	}
	p.Table(t)
	return p
}

// grantWord says whether a standing answer holds, and what closes it.
func grantWord(g decide.GrantView) string {
	switch {
	case g.Shut:
		return "closed by " + strings.Join(g.Closed, "; ")
	case len(g.Closed) > 0:
		return enforcedWord(g.Sandbox) + ", but not " + strings.Join(g.Closed, "; ")
	}
	return enforcedWord(g.Sandbox)
}

// enforcedWord says whether a standing answer holds.
func enforcedWord(level record.HeldLevel) string {
	if level.Enforces() {
		return "yes"
	}
	return "no: sandbox " + string(level)
}

func untilOr(t, now time.Time, always string) string {
	if t.IsZero() {
		return always
	}
	return page.Clock(t, now)
}

// NetDecidedDocument is the result of an answer about a host.
type NetDecidedDocument struct {
	Results []DecidedDocument `json:"results"`
	*decide.NetDecided
}

// NetDecided is the document of an answer about a host.
func NetDecided(n *decide.NetDecided) NetDecidedDocument {
	return NetDecidedDocument{decided(n.Results), n}
}

// notHeld says that nothing holds commands to a standing answer; "" where something does.
func notHeld(g decide.GrantView) string {
	switch {
	case g.Shut:
		return "; it opens nothing: closed by " + strings.Join(g.Closed, "; ")
	case len(g.Closed) > 0:
		return "; not " + strings.Join(g.Closed, "; ")
	case g.Enforced:
		return ""
	}
	return "; not enforced for commands: the sandbox is " + string(g.Sandbox)
}

// NetDecidedPage shows the standing answers that were made.
func NetDecidedPage(n *decide.NetDecided, now time.Time) (p page.Page) {
	for _, g := range n.Grants {
		p.Line(page.Plain(g.Shown + "  " + g.Effect + " for " + g.Scope + ", " + untilOr(page.At(g.Expires), now, "as long as the member is there") + notHeld(g)))
	}
	for _, name := range n.Unenforced {
		if len(n.Grants) == 0 {
			p.Line(page.Plain("nothing enforces it for " + name + ": it binds only what asks and keeps to the answer"))
		}
	}
	if n.Policy != nil {
		p = append(p, PolicyChangePage(n.Policy, "network")...)
	}
	return p
}
