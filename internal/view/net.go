package view

import (
	"strconv"
	"strings"
	"time"

	"waggle/operator/decide"
)

// NetQuestionDocument is a host that a member asks for.
type NetQuestionDocument struct {
	Host      string   `json:"host"`
	Port      string   `json:"port"`
	Shown     string   `json:"shown"` // host and port, with the other spelling of an international name
	Member    string   `json:"member"`
	Instance  string   `json:"instance"`
	IDs       []string `json:"ids"`
	Reason    string   `json:"reason"`
	AgeS      int64    `json:"age_s"`
	ExpiresAt *string  `json:"expires_at"`
	Status    string   `json:"status"`
}

// NetPendingList is the document of hosts with open requests.
type NetPendingList struct {
	Pending []NetQuestionDocument `json:"pending"`
}

// NetPending is the document of hosts with open requests.
func NetPending(ns []decide.NetQuestion, now time.Time) NetPendingList {
	l := NetPendingList{make([]NetQuestionDocument, 0, len(ns))}
	for _, n := range ns {
		l.Pending = append(l.Pending, NetQuestionDocument{n.Host, n.Port, n.Shown, n.Member, n.Instance, append([]string{}, n.IDs...), n.Reason, ageS(n.Asked, now), until(n.Expires), n.Status})
	}
	return l
}

// NetPendingPage has a row for each host.
func NetPendingPage(ns []decide.NetQuestion, now time.Time) (p Page) {
	t := Table{Head: []string{"ID", "MEMBER", "N", "AGE", "STATUS", "HOST AND REASON"}, About: true}
	for _, n := range ns {
		t.Rows = append(t.Rows, []string{n.IDs[0], n.Member, strconv.Itoa(len(n.IDs)), Age(n.Asked, now), n.Status, strings.TrimSuffix(n.Shown+"  "+n.Reason, "  ")})
	}
	p.table(t)
	return p
}

// GrantDocument is a standing answer about a host.
type GrantDocument struct {
	Host      string  `json:"host"`
	Port      string  `json:"port"`
	Shown     string  `json:"shown"`
	Effect    string  `json:"effect"` // allow, deny
	Scope     string  `json:"scope"`  // a member's name, or team
	ExpiresAt *string `json:"expires_at"`
	From      string  `json:"from"` // the request that it answered
}

// GrantList is the document of standing answers.
type GrantList struct {
	Hosts []GrantDocument `json:"hosts"`
}

// Grants is the document of standing answers.
func Grants(gs []decide.GrantView) GrantList { return GrantList{grants(gs)} }

func grants(gs []decide.GrantView) []GrantDocument {
	out := make([]GrantDocument, 0, len(gs))
	for _, g := range gs {
		out = append(out, GrantDocument{g.Host, g.Port, g.Shown, g.Effect, g.Scope, until(g.Expires), g.From})
	}
	return out
}

// GrantPage has a row for each standing answer.
func GrantPage(gs []decide.GrantView) (p Page) {
	t := Table{Head: []string{"EFFECT", "FOR", "UNTIL", "HOST"}, About: true}
	for _, g := range gs {
		t.Rows = append(t.Rows, []string{g.Effect, g.Scope, untilOr(g.Expires, "as long as the member"), g.Shown})
	}
	p.table(t)
	return p
}

func untilOr(t time.Time, always string) string {
	if t.IsZero() {
		return always
	}
	return stamp(t)
}

// NetDecidedDocument is the result of an answer about a host.
type NetDecidedDocument struct {
	Results []DecidedDocument     `json:"results"`
	Policy  *PolicyChangeDocument `json:"policy"` // null: no standing answer was made
	Grants  []GrantDocument       `json:"grants"` // the standing answers that it made
}

// NetDecided is the document of an answer about a host.
func NetDecided(n *decide.NetDecided) NetDecidedDocument {
	return NetDecidedDocument{decided(n.Results), PolicyChange(n.Policy), grants(n.Grants)}
}

// NetDecidedPage shows the standing answers that were made.
func NetDecidedPage(n *decide.NetDecided) (p Page) {
	for _, g := range n.Grants {
		p.line(plain(g.Shown + "  " + g.Effect + " for " + g.Scope + ", " + untilOr(g.Expires, "as long as the member is there")))
	}
	if n.Policy != nil {
		p = append(p, PolicyChangePage(n.Policy, "network")...)
	}
	return p
}
