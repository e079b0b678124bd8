package decide

import (
	"context"
	"slices"
	"strings"
	"time"

	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// Explained is a call of the past: the rule or person that decided it, and the policy's verdict on
// the same call now.
type Explained struct {
	ID       string    `json:"id"`
	Handle   string    `json:"handle"`
	Kind     string    `json:"kind"`
	Member   string    `json:"member"`
	Asks     string    `json:"asks"`            // in one line
	Risky    []string  `json:"risky,omitempty"` // what makes it one of high risk, where it is
	Decision string    `json:"decision"`        // "": it is open
	By       string    `json:"by"`
	Rule     string    `json:"rule"`
	Reason   string    `json:"reason"`
	At       time.Time `json:"at"` // when it was asked
	Version  uint64    `json:"policy_version"`
	Digest   string    `json:"digest"`
	Now      *Judged   `json:"now"` // nil for a plan: rules do not judge plans
}

// Explain finds a call in the journals of its member, by its id or an unambiguous
// beginning of it.
func (o Operator) Explain(ctx context.Context, name protocol.TeamName, id string) (*Explained, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return nil, err
	}
	c, err := findCall(s, id)
	if err != nil {
		return nil, err
	}
	m := c.m
	e := &Explained{ID: string(c.ID), Handle: CallCode(c.Key, c.Digest), Kind: string(c.Kind), Member: string(m.Name), Asks: Gist(c.Kind, c.Ask), At: c.Asked, Digest: string(c.Digest)}
	if r, ok := s.Lead.Request(c.Key); ok && r.Handle != "" {
		e.Handle = r.Handle
	}
	if a := c.Answer; a != nil && !a.Waited {
		e.Decision, e.By, e.Rule, e.Reason, e.Version = a.Decision, string(a.By), a.Rule, a.Reason, a.Policy
	}
	mode, now := s.Lead.ModeOf(m.Instance), o.Minter.Now()
	switch record.GateOf(c.Kind) {
	case policy.GatePlan:
		return e, nil
	case policy.GateNetwork:
		e.Now = testHost(s, string(m.Name), m.Instance, mode, target(c.Ask), now)
		return e, nil
	}
	set := s.Lead.Policy.During(c.Task)
	p, call := set.For(m.Instance, now), set.Call(c.Ask)
	p.Mode = set.Ceiling.Meet(mode)
	command := CommandOf(call)
	for _, part := range policy.RiskParts(call) {
		if part.To > part.From && part.To <= len(command) {
			part.Why = command[part.From:part.To] + ": " + part.Why
		}
		e.Risky = append(e.Risky, part.Why)
	}
	e.Now = judged(s, string(m.Name), p, call, set.JudgeCall(m.Instance, mode, call, now))
	return e, nil
}

// findCall finds a call of any member.
func findCall(s *operator.State, id string) (memberCall, error) {
	all, err := allCalls(s)
	if err != nil {
		return memberCall{}, err
	}
	if r, ok := s.Lead.ByHandle(id); ok {
		id = string(r.ID)
	}
	hits := slices.DeleteFunc(slices.Clone(all), func(c memberCall) bool {
		return string(c.ID) != id && CallCode(c.Key, c.Digest) != record.CleanHandle(id)
	})
	if len(hits) == 0 {
		hits = slices.DeleteFunc(all, func(c memberCall) bool { return id == "" || !strings.HasPrefix(string(c.ID), id) })
	}
	switch {
	case len(hits) == 1:
		return hits[0], nil
	case len(hits) > 1:
		return memberCall{}, &operator.Error{Kind: operator.Usage, Op: "find", Msg: id + " begins several calls",
			Near: mapped(hits[:min(len(hits), 5)], func(c memberCall) string { return string(c.ID) })}
	}
	return memberCall{}, &team.NotFoundError{What: "call", Name: id}
}
