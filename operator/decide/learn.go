package decide

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Lesson is a rule that is made from an allow. It is an act of its own: the decision is valid
// without it, and it needs the operator's own authority (trust §3). It applies to the members that
// asked, unless Team is set.
type Lesson struct {
	Rule policy.Rule
	Team bool      // for the team; else for each member that asked
	End  time.Time // zero: until it is taken back
	Task bool      // only while the member works on the task for which it asked, and until End
}

// LessonTime is how long such a rule applies when no end is given.
const LessonTime = 24 * time.Hour

// fits refuses a lesson that does not follow from the answer, before anything is decided.
func (l Lesson) fits(o Operator, lead *control.Leader, a Answer) error {
	top := o.CeilingOf(lead.Policy.Ceiling)
	if !a.Allow {
		return &operator.Error{Kind: operator.Usage, Op: a.Via, Msg: "a rule is learned from an allow", Next: operator.NextDenyRule.With()}
	}
	if over := top.Beyond(policy.Policy{Mode: policy.ModeLockedDown, Allow: []policy.Rule{l.Rule}}); len(over) > 0 {
		return &record.CeilingError{Ceiling: top, Over: over}
	}
	req, err := findRequest(lead, a.ID, a.Digest)
	if err != nil {
		return nil // the decision reports it
	}
	if req.Gate() != policy.GateTool {
		return &operator.Error{Kind: operator.Usage, Op: a.Via, Msg: "rules are for tool calls", Next: operator.NextNetOpen.With()}
	}
	c := req.Ask.Call()
	if a.UpdatedInput != "" {
		c.Input = []byte(a.UpdatedInput)
	}
	switch {
	case l.Task && (l.Team || req.Task == ""):
		return &operator.Error{Kind: operator.Usage, Op: a.Via, Msg: "a rule for a task is for the member that works on it, and this request belongs to none"}
	case l.Rule.Covers(c):
		return nil
	}
	e := &operator.Error{Kind: operator.Usage, Op: a.Via, Msg: fmt.Sprintf("rule %s does not cover what %s asks", l.Rule, req.ID)}
	if e.Near = ruleTexts(o.suggest(lead, req, c, o.Minter.Now())); len(e.Near) > 0 {
		e.Advice = "narrowest first: " + strings.Join(e.Near, ", ")
	}
	return e
}

// Learn makes a new version of the policy with the rule of the allowed requests, unless Decide has made it together with
// the decision, and waits for the members. Refusals and denials make no rule.
func (o Operator) Learn(ctx context.Context, name protocol.TeamName, results []Decided, l Lesson) (*PolicyChange, error) {
	s, err := o.Open(ctx, name, operator.Lead("a change of policy"))
	if err != nil {
		return nil, err
	}
	changed, err := o.appendPolicy(ctx, s, func(s *operator.State, p *record.PolicySet) error {
		for _, r := range results {
			req, ok := s.Lead.Request(r.key)
			if ok && r.Allows() {
				addRule(p, l.of(req))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return o.heard(ctx, s, changed || slices.ContainsFunc(results, func(r Decided) bool { return r.taught }))
}

// of is the rule that a request makes.
func (l Lesson) of(req *control.Request) record.Scoped {
	key := req.Key
	sc := record.Scoped{Rule: l.Rule, From: &key}
	if end := l.End.UTC(); !l.End.IsZero() {
		sc.Until = &end
	}
	if l.Task {
		sc.Task = req.Task
	}
	if !l.Team {
		sc.Instance = key.Instance
	}
	return sc
}
