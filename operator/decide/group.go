package decide

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Group is a set of requests of one risk whose calls are alike (policy.LikeOf), of any members. A
// person may show them, and below high risk answer them, at once.
type Group struct {
	// ID is a hash of Text and of the digests of the requests: only a person who was shown all of
	// them has it, and another request makes another id.
	ID      string        `json:"id"`
	Team    string        `json:"team"` // "-": sessions
	Kind    string        `json:"kind"`
	Tool    string        `json:"tool"`
	Pattern string        `json:"pattern"`
	Risk    string        `json:"risk"`
	Count   int           `json:"count"`
	Members []string      `json:"members"`
	IDs     []string      `json:"ids"`
	Oldest  operator.Past `json:"age_s"` // when the first was asked
	Batch   bool          `json:"batch"` // whether --group may answer it
	// Text is what a person is shown of the group: each distinct input whole, with its members and
	// directories. Its characters are visible, and its lines have no maximal width.
	Text     []string  `json:"text"`
	Inputs   int       `json:"-"` // how many of them are distinct
	Requests []Request `json:"-"`
}

// Batched reports whether a request may be answered as one of a group: tool calls
// below high risk. A plan, a host or a budget is decided by itself.
func (q Request) Batched() bool {
	return q.Kind == string(protocol.KindPermissionRequest) && q.Tool != record.BudgetTool && q.Risk != string(policy.RiskHigh)
}

// like returns the key of requests that q may be answered together with.
func (q Request) like() (name, pattern string) {
	if q.Kind != string(protocol.KindPermissionRequest) {
		return q.Pattern, q.Pattern
	}
	return policy.LikeOf(policy.Call{Tool: q.Tool, Input: q.Input, Cwd: q.Cwd})
}

// Groups groups requests by tool, risk and likeness, in the order in which they come.
func Groups(qs []Request) []Group {
	groups := []Group{}
	at := map[[5]string]int{}
	for _, q := range qs {
		name, pattern := q.like()
		k := [5]string{q.Team, q.Kind, q.Tool, name, q.Risk}
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, Group{Team: q.Team, Kind: q.Kind, Tool: q.Tool, Pattern: pattern, Risk: q.Risk, Members: []string{}, Batch: q.Batched()})
		}
		g := &groups[i]
		if g.Count++; g.Oldest.IsZero() || q.Asked.Before(g.Oldest.Time) {
			g.Oldest = q.Asked
		}
		g.IDs, g.Requests = append(g.IDs, q.ID), append(g.Requests, q)
		if !slices.Contains(g.Members, q.Member) {
			g.Members = append(g.Members, q.Member)
		}
	}
	for i := range groups {
		g := &groups[i]
		slices.Sort(g.Members)
		g.Text, g.Inputs = g.text()
		g.ID = g.id()
	}
	return groups
}

// text writes the group: one line for all, then for each distinct input a line with its members and
// directories, and the input's lines behind a bar, so that no input can imitate the head of the
// next one. The order does not depend on time.
func (g Group) text() (lines []string, inputs int) {
	type part struct{ asks, cwd string }
	who := map[part][]string{}
	for _, q := range g.Requests {
		p := part{asks: "    | " + strings.Join(q.Asks(), "\n    | "), cwd: operator.Visible(q.Cwd)}
		who[p] = append(who[p], operator.Visible(q.Member))
	}
	parts := slices.SortedFunc(maps.Keys(who), func(a, b part) int {
		return cmp.Or(strings.Compare(a.asks, b.asks), strings.Compare(a.cwd, b.cwd))
	})
	lines = append(lines, fmt.Sprintf("%d asked for %s, %d different, risk %s", g.Count, operator.Visible(cmp.Or(g.Tool, Wanted(protocol.Kind(g.Kind)))), len(parts), g.Risk))
	for _, p := range parts {
		slices.Sort(who[p])
		lines = append(lines, "  "+strings.Join(who[p], ", ")+" in "+p.cwd)
		lines = append(lines, strings.Split(p.asks, "\n")...)
	}
	return lines, len(parts)
}

const (
	groupPrefix = "g-"
	groupDigits = 16 // as many as a digest must have at least
)

func (g Group) id() string {
	digests := mapped(g.Requests, func(q Request) string { return q.Digest })
	slices.Sort(digests)
	return groupPrefix + record.HashText(strings.Join(g.Text, "\n") + "\x00" + strings.Join(digests, "\n"))[:groupDigits]
}

// IsGroup reports whether a word is the id of a group.
func IsGroup(word string) bool { return strings.HasPrefix(word, groupPrefix) }

// DecideGroup answers every request of the group with this id, and only what was shown with it: a
// pattern, or a group that has changed, is refused. Each request is decided by itself, with its own
// digest. It takes a leader pass before and after when no process leads.
func (o Operator) DecideGroup(ctx context.Context, name protocol.TeamName, id string, with Answer) ([]Decided, error) {
	qs, each := []Request(nil), operator.Next{Step: operator.NextAnswerEach}
	never := "plans and questions"
	decideAll := o.decideSessions
	if name == SessionTeam {
		qs, _ = o.Pending(ctx, name, false) // pending reports what could not be read
	} else {
		s, err := o.Open(ctx, name, operator.Answer("a decision"))
		if err != nil {
			return nil, err
		}
		qs, never, each = o.PendingIn(s, false), "plans, hosts and budgets", operator.Next{Step: operator.NextDecideEach, Text: with.Via}
		decideAll = func(ctx context.Context, answers []Answer) ([]Decided, error) { return o.decideAll(ctx, s, answers) }
	}
	if !IsGroup(id) {
		return nil, &operator.Error{Kind: operator.Usage, Op: with.Via, Msg: fmt.Sprintf("%s is no group's id: a pattern would also answer what you were not shown", operator.Visible(id)),
			Next: operator.NextFindGroup.With()}
	}
	g, err := findGroup(qs, id)
	if err != nil {
		return nil, err
	}
	if !g.Batch {
		each.ID = g.Requests[0].Handle
		return nil, &operator.Error{Kind: operator.Refused, Op: with.Via, Msg: id + ": requests of high risk, " + never + " are never decided by a group", Next: each, Near: mapped(g.Requests, func(q Request) string { return q.Handle })}
	}
	answers := make([]Answer, len(g.Requests))
	for i, q := range g.Requests {
		answers[i] = with
		answers[i].ID, answers[i].Digest = q.ID, q.Digest
	}
	return decideAll(ctx, answers)
}

// ShowGroup returns the group with an id, the one that has the request with this handle, id or
// unambiguous beginning of an id, or the one of a pattern. It records nothing.
func (o Operator) ShowGroup(ctx context.Context, name protocol.TeamName, word string) (*Group, error) {
	qs, err := o.Pending(ctx, name, false)
	if err != nil && name != SessionTeam { // of sessions pending reports what could not be read
		return nil, err
	}
	return findGroup(qs, word)
}

// findGroup finds a group for ShowGroup. Its errors name no id of another group: an id is printed
// only with the group's text.
func findGroup(qs []Request, word string) (*Group, error) {
	var hits []Group
	groups := Groups(qs)
	for _, g := range groups { // first: the asker chooses its id, and could choose another's handle
		if slices.ContainsFunc(g.Requests, func(q Request) bool { return q.Handle != "" && strings.EqualFold(q.Handle, word) }) {
			return &g, nil
		}
	}
	for _, g := range groups {
		switch {
		case g.ID == word:
			return &g, nil
		case !IsGroup(word) && (g.Pattern == word || slices.ContainsFunc(g.IDs, func(id string) bool { return word != "" && strings.HasPrefix(id, word) })):
			hits = append(hits, g)
		}
	}
	switch {
	case len(hits) == 1:
		return &hits[0], nil
	case len(hits) > 1:
		return nil, &operator.Error{Kind: operator.Usage, Op: "group", Msg: fmt.Sprintf("%s names %d groups", operator.Visible(word), len(hits)), Next: operator.NextSayGroup.With(),
			Near: mapped(hits, func(g Group) string { return g.Requests[0].Handle })}
	case IsGroup(word):
		return nil, &operator.Error{Kind: operator.NotFound, Op: "group", Msg: "no group " + operator.Visible(word) + ": what it named was answered, or is not what was shown any more", Next: operator.NextPendingAgain.With()}
	}
	return nil, &operator.Error{Kind: operator.NotFound, Op: "group", Msg: "nothing that waits is named or matched by " + operator.Visible(word), Next: operator.NextPending.With()}
}
