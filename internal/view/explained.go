package view

import (
	"fmt"
	"strings"

	"waggle/operator/decide"
)

// ExplainedDocument is a call that was made, and what the policy makes of it now.
type ExplainedDocument struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind"`
	Member   string          `json:"member"`
	Decision string          `json:"decision"` // "": it is open
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
	return ExplainedDocument{e.ID, e.Kind, e.Member, e.Decision, e.By, e.Rule, e.Reason, stamp(e.At), e.Version, e.Digest, Judged(e.Now)}
}

// ExplainedPage shows what decided a call, and the result of every rule on it now.
func ExplainedPage(e *decide.Explained) (p Page) {
	p.line(strong(e.ID), plain(fmt.Sprintf("  %s of %s, asked at %s", strings.TrimSuffix(e.Kind, "_request"), e.Member, stamp(e.At))))
	by := fmt.Sprintf("  %s by %s under policy version %d", e.Decision, e.By, e.Version)
	switch {
	case e.Decision == "":
		by = "  it waits for an answer"
	case e.Rule != "":
		by += ": " + e.Rule
	}
	p.line(plain(by))
	if e.Reason != "" {
		p.line(plain("  " + e.Reason))
	}
	if e.Now != nil {
		p.line(strong("now"))
		p = append(p, JudgedPage(e.Now, true)...)
	}
	return p
}
