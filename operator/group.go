package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"waggle"
	"waggle/policy"
)

// Group is what a person may look at, and below high risk answer, at once:
// requests for the same tool, of the same pattern and risk, whoever asks.
type Group struct {
	// ID names exactly these requests: another one that arrives makes another id,
	// so that nobody answers what they were not shown.
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`
	Tool    string   `json:"tool"`
	Pattern string   `json:"pattern"`
	Risk    string   `json:"risk"`
	Count   int      `json:"count"`
	Members []string `json:"members"`
	IDs     []string `json:"ids"`
	AgeS    int64    `json:"age_s"` // of the oldest
	Batch   bool     `json:"batch"` // --group may answer it

	Questions []Question `json:"-"`
}

// batch reports whether a request may be answered as one of a group: tool calls
// below high risk. A plan or a host is decided by itself.
func (q Question) batch() bool {
	return q.Kind == string(waggle.KindPermissionRequest) && q.Risk != string(policy.RiskHigh)
}

// Groups puts questions together by tool, pattern and risk, in the order in which
// they come.
func Groups(qs []Question) []Group {
	groups := []Group{}
	at := map[[4]string]int{}
	for _, q := range qs {
		k := [4]string{q.Kind, q.Tool, q.Pattern, q.Risk}
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, Group{Kind: q.Kind, Tool: q.Tool, Pattern: q.Pattern, Risk: q.Risk, Members: []string{}, Batch: q.batch()})
		}
		g := &groups[i]
		g.Count, g.AgeS = g.Count+1, max(g.AgeS, q.AgeS)
		g.IDs, g.Questions = append(g.IDs, q.ID), append(g.Questions, q)
		if !slices.Contains(g.Members, q.Member) {
			g.Members = append(g.Members, q.Member)
		}
	}
	for i := range groups {
		groups[i].ID = groups[i].id()
		slices.Sort(groups[i].Members)
	}
	return groups
}

const groupPrefix = "g-"

func (g Group) id() string {
	parts := make([]string, 0, g.Count)
	for _, q := range g.Questions {
		parts = append(parts, q.Digest)
	}
	slices.Sort(parts)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return groupPrefix + hex.EncodeToString(sum[:])[:10]
}

// GroupDecided is what became of a group's answer.
type GroupDecided struct {
	Results []Decided
	// Left are the requests that match and were not answered, because their risk
	// is high: they are answered by their ids.
	Left []string
}

// DecideGroup answers every open tool request below high risk that a group names:
// a group's id stands for exactly the requests that were shown under it, a
// pattern for what it covers now: a pattern that `pending` shows, or a rule. Each
// request is decided by itself, with its own digest.
func (o Operator) DecideGroup(ctx context.Context, name waggle.TeamName, group string, with Answer) (*GroupDecided, error) {
	s, err := o.led(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := o.guard(ctx, s, "a decision"); err != nil {
		return nil, err
	}
	if _, err := o.pass(ctx, s); err != nil {
		return nil, err
	}
	qs, err := selected(o.pending(s, false), group)
	if err != nil {
		return nil, err
	}
	out := &GroupDecided{Results: []Decided{}, Left: []string{}}
	var answers []Answer
	for _, q := range qs {
		if !q.batch() {
			out.Left = append(out.Left, q.ID)
			continue
		}
		a := with
		a.ID, a.Digest = q.ID, q.Digest
		answers = append(answers, a)
	}
	if len(answers) == 0 {
		return nil, &Error{Code: CodeRefused, Op: with.Via, Msg: fmt.Sprintf("%s: requests of high risk are never decided by a group", Visible(group)),
			Hint: "look at each and answer it by its id: waggle show " + out.Left[0] + ", then waggle " + with.Via + " " + out.Left[0], Near: out.Left}
	}
	out.Results, err = o.decideAll(ctx, s, answers)
	return out, err
}

// selected are the questions that a group's name stands for.
func selected(qs []Question, group string) ([]Question, error) {
	groups := Groups(qs)
	var near []string
	for _, g := range groups {
		if g.ID == group {
			return g.Questions, nil
		}
		if g.Batch {
			near = append(near, g.ID+" "+g.Pattern)
		}
	}
	if strings.HasPrefix(group, groupPrefix) {
		return nil, &Error{Code: CodeNotFound, Op: "group", Msg: "no group " + group + ": what it named was answered, or another request has joined it",
			Hint: "look again: waggle pending", Near: near}
	}
	var hits []Question
	rule, rerr := policy.ParseRule(group)
	for _, q := range qs {
		if q.Pattern == group || rerr == nil && q.Kind == string(waggle.KindPermissionRequest) &&
			rule.Covers(policy.Call{Tool: q.Tool, Input: q.Input, Cwd: q.Cwd}) {
			hits = append(hits, q)
		}
	}
	switch {
	case len(hits) > 0:
		return hits, nil
	case rerr != nil:
		return nil, &Error{Code: CodeUsage, Op: "group", Msg: "a group is named by its id or by a pattern such as 'Bash(go test:*)': " + rerr.Error(), Near: near}
	}
	return nil, &Error{Code: CodeNotFound, Op: "group", Msg: "nothing that waits matches " + group, Hint: "waggle pending shows the patterns", Near: near}
}
