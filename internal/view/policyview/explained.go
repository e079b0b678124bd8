package policyview

import (
	"fmt"
	"time"

	"waggle"
	"waggle/internal/view/page"
	"waggle/operator/decide"
)

// ExplainedDocument is a call that was made, and what the policy makes of it now.
type ExplainedDocument struct {
	ID       string          `json:"id"`
	Handle   string          `json:"handle"`
	Kind     string          `json:"kind"`
	Member   string          `json:"member"`
	Asks     string          `json:"asks"`
	Risky    []string        `json:"risky,omitempty"` // what makes it one of high risk
	Decision string          `json:"decision"`        // "": it is open
	By       string          `json:"by"`
	Rule     string          `json:"rule"`
	Reason   string          `json:"reason"`
	At       string          `json:"at"` // when it was asked
	Version  uint64          `json:"policy_version"`
	Digest   string          `json:"digest"`
	Now      *JudgedDocument `json:"now"` // null for a plan: rules do not judge plans
}

// Explained is the document of a call.
func Explained(e *decide.Explained) ExplainedDocument {
	return ExplainedDocument{e.ID, e.Handle, e.Kind, e.Member, e.Asks, e.Risky, e.Decision, e.By, e.Rule, e.Reason, page.Stamp(e.At), e.Version, e.Digest, Judged(e.Now)}
}

// ExplainedPage shows what decided a call, and the result of every rule on it now.
func ExplainedPage(e *decide.Explained, now time.Time) (p page.Page) {
	p.Line(page.Strong(e.Handle), page.Plain(fmt.Sprintf("  %s asked for %s at %s: %s", e.Member, decide.Wanted(waggle.Kind(e.Kind)), page.Moment(e.At, now), e.Asks)))
	for _, why := range e.Risky {
		p.Line(page.Warning("  high risk: "), page.Plain(why))
	}
	by := fmt.Sprintf("  %s by %s under policy version %d", e.Decision, e.By, e.Version)
	switch {
	case e.Decision == "":
		by = "  it waits for an answer"
	case e.Rule != "":
		by += ": " + e.Rule
	}
	p.Line(page.Plain(by))
	if e.Reason != "" {
		p.Line(page.Plain("  " + e.Reason))
	}
	if e.Now != nil {
		p.Line(page.Strong("now"))
		p = append(p, JudgedPage(e.Now, true)...)
	}
	return p
}
