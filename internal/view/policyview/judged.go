package policyview

import (
	"encoding/json"
	"fmt"

	"waggle/internal/view/page"
	"waggle/operator/decide"
	"waggle/policy"
)

// JudgedDocument is the policy's verdict on a call, with the reason.
type JudgedDocument struct {
	As       string               `json:"as"` // a member, "" for what the team may
	Tool     string               `json:"tool"`
	Input    json.RawMessage      `json:"input"`
	Cwd      string               `json:"cwd"`
	Decision string               `json:"decision"` // allow, ask, deny
	Rule     string               `json:"rule"`     // the rule that decides
	Why      string               `json:"why"`
	Decider  string               `json:"decider"` // who answers when the verdict is ask
	Mode     string               `json:"mode"`
	Area     string               `json:"area"`
	Risk     string               `json:"risk"`
	Version  uint64               `json:"policy_version"`
	Rules    []RuleJudgedDocument `json:"rules"` // every rule that was compared
}

// RuleJudgedDocument is the result of one rule alone.
type RuleJudgedDocument struct {
	Rule   string `json:"rule"`
	Effect string `json:"effect"`
	Match  string `json:"match"` // matches, may match, does not match
	Counts bool   `json:"counts"`
}

// Judged is the document of a call that was judged, nil where there is none.
func Judged(j *decide.Judged) *JudgedDocument {
	if j == nil {
		return nil
	}
	d := &JudgedDocument{j.As, j.Tool, j.Input, j.Cwd, j.Decision, j.Rule, j.Why, j.Decider, j.Mode, j.Area, j.Risk, j.Version,
		make([]RuleJudgedDocument, 0, len(j.Rules))}
	for _, r := range j.Rules {
		d.Rules = append(d.Rules, RuleJudgedDocument(r))
	}
	return d
}

// JudgedPage shows what decides; every adds the rules that do not.
func JudgedPage(j *decide.Judged, every bool) (p page.Page) {
	first := page.Line{page.Warning(j.Decision), page.Plain(", answered by " + j.Decider + "  " + j.Rule)}
	switch j.Decision {
	case "allow":
		first = page.Line{page.Good(j.Decision), page.Plain("  " + j.Rule)}
	case "deny":
		first = page.Line{page.Bad(j.Decision), page.Plain("  " + j.Rule)}
	}
	p.Line(first...)
	p.Line(page.Plain("  " + j.Why))
	who := j.As
	if who == "" {
		who = "the team"
	}
	p.Line(page.Plain(fmt.Sprintf("  for %s: mode %s, %s, risk %s, policy version %d", who, j.Mode, j.Area, j.Risk, j.Version)))
	for _, r := range j.Rules {
		if !every && r.Match == policy.NoMatch {
			continue
		}
		counts := ""
		if r.Match != policy.NoMatch && !r.Counts {
			counts = ", but does not count in mode " + j.Mode
		}
		p.Line(page.Plain(fmt.Sprintf("  %-5s %s %s%s", r.Effect, r.Rule, r.Match, counts)))
	}
	return p
}
