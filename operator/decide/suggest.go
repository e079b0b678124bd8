package decide

import (
	"context"
	"encoding/json"
	"slices"
	"sort"
	"time"

	"waggle/control"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Suggestion is a rule that would have answered requests for the operator.
type Suggestion struct {
	Rule      string   `json:"rule"`
	Scope     string   `json:"scope"` // the member that asked, or team
	Approvals int      `json:"approvals"`
	Identical bool     `json:"identical"` // all of them are the same call
	Risk      string   `json:"risk"`
	Members   []string `json:"members"`
	// Matched has the calls of the last lookBack that the rule would have matched, of all members;
	// Total is how many there were.
	Matched []SuggestedCall `json:"matched"`
	Total   int             `json:"matched_total"`
	Looked  int             `json:"calls_looked_at"`
}

// SuggestedCall is one call that a suggested rule would have matched.
type SuggestedCall struct {
	ID       string          `json:"id"`
	Member   string          `json:"member"`
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	Decision string          `json:"decision"`
	By       string          `json:"by"`
}

// lookBack is how many calls a suggestion is tested with.
const lookBack = 200

// approval is an allow of the operator's that a rule could have given.
type approval struct {
	req    *control.Request
	call   policy.Call
	member string
	rules  []policy.Rule // narrowest first
}

// Suggest proposes rules from calls that the operator has approved more than once: for identical
// calls the call itself, for calls of one pattern the narrowest rule that covers them all. It
// proposes nothing of high risk, nothing that is allowed already, and nothing that covers a call
// which the operator has denied. It records nothing.
func (o Operator) Suggest(ctx context.Context, name protocol.TeamName) ([]Suggestion, error) {
	s, calls, err := o.calls(ctx, name, operator.Seen)
	if err != nil {
		return nil, err
	}
	now := o.Minter.Now()
	approved, denied := answered(s, now)
	out := []Suggestion{}
	for _, class := range alike(approved) {
		rule, ok := narrowest(class)
		if !ok || slices.ContainsFunc(denied, rule.Covers) ||
			slices.ContainsFunc(out, func(have Suggestion) bool { return have.Rule == rule.String() }) {
			continue
		}
		out = append(out, suggestion(rule, class, calls))
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].Identical != out[j].Identical {
			return out[i].Identical
		}
		return out[i].Approvals > out[j].Approvals
	})
	return out, nil
}

// Matches tests a rule with the last lookBack calls of a team. It records nothing.
func (o Operator) Matches(ctx context.Context, name protocol.TeamName, rule policy.Rule) (Suggestion, error) {
	_, cs, err := o.calls(ctx, name, operator.Act)
	if err != nil {
		return Suggestion{}, err
	}
	sg := Suggestion{Rule: rule.String(), Members: []string{}}
	sg.match(rule, cs)
	return sg, nil
}

// Weigh says of the rules that a request offers how many of the last calls of its team each would have matched, and
// how many calls these are. It records nothing.
func (o Operator) Weigh(ctx context.Context, q *Request) error {
	if len(q.Suggest) == 0 || q.Team == "-" {
		return nil
	}
	_, cs, err := o.calls(ctx, protocol.TeamName(q.Team), operator.Act)
	if err != nil {
		return err
	}
	q.Weights, q.Weighed = make([]int, len(q.Suggest)), len(cs)
	for i, text := range q.Suggest {
		rule, err := policy.ParseRule(text)
		if err != nil {
			return err
		}
		var sg Suggestion
		sg.match(rule, cs)
		q.Weights[i] = sg.Total
	}
	return nil
}

// answered returns the approvals that no rule gives by now, and the calls that the operator has
// denied.
func answered(s *operator.State, now time.Time) (approved []approval, denied []policy.Call) {
	for _, r := range s.Lead.Requests {
		d := r.Decided
		if d == nil || d.By != policy.RoleOperator || r.Gate() != policy.GateTool {
			continue
		}
		c := r.Ask.Call()
		if d.Decision != record.DecisionAllow {
			denied = append(denied, c)
			continue
		}
		if d.UpdatedInput != "" || policy.RiskOf(c) == policy.RiskHigh || s.Lead.Policy.For(r.Instance, now).Judge(c).Decision == policy.Allow {
			continue
		}
		m, _ := s.Lead.ByInstance(r.Instance)
		if rules := policy.Suggest(c); len(rules) > 0 {
			approved = append(approved, approval{r, c, string(m.Name), rules})
		}
	}
	return approved, denied
}

// alike groups approvals of the same call, and those of the same pattern.
func alike(as []approval) [][]approval {
	var out [][]approval
	at := map[string]int{}
	put := func(key string, a approval) {
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], a)
	}
	for _, a := range as {
		put("same\x00"+a.call.Tool+"\x00"+string(a.call.Input), a)
	}
	for _, a := range as {
		put("like\x00"+a.rules[len(a.rules)-1].String(), a)
	}
	return slices.DeleteFunc(out, func(class []approval) bool { return len(class) < 2 })
}

// narrowest returns the first rule of the first call that covers the whole class.
func narrowest(class []approval) (policy.Rule, bool) {
	for _, r := range class[0].rules {
		if !slices.ContainsFunc(class, func(a approval) bool { return !r.Covers(a.call) }) {
			return r, true
		}
	}
	return policy.Rule{}, false
}

func suggestion(rule policy.Rule, class []approval, calls []memberCall) Suggestion {
	sg := Suggestion{Rule: rule.String(), Approvals: len(class), Identical: true, Risk: string(policy.RiskOf(class[0].call)),
		Members: []string{}, Matched: []SuggestedCall{}}
	for _, a := range class {
		sg.Identical = sg.Identical && string(a.call.Input) == string(class[0].call.Input)
		if !slices.Contains(sg.Members, a.member) {
			sg.Members = append(sg.Members, a.member)
		}
	}
	sg.Scope = "team"
	if len(sg.Members) == 1 {
		sg.Scope = sg.Members[0]
	}
	sg.match(rule, calls)
	return sg
}

// match fills in which calls a rule would have matched.
func (sg *Suggestion) match(rule policy.Rule, calls []memberCall) {
	sg.Looked = len(calls)
	for _, c := range calls {
		if !rule.Covers(c.Ask.Call()) {
			continue
		}
		sg.Total++
		sc := SuggestedCall{ID: string(c.ID), Member: string(c.m.Name), Tool: c.Ask.Tool, Input: json.RawMessage(c.Ask.Input)}
		if c.Answer != nil {
			sc.Decision, sc.By = c.Answer.Decision, string(c.Answer.By)
		}
		sg.Matched = append(sg.Matched, sc)
	}
}

// memberCall is a call in its member's journal.
type memberCall struct {
	*control.Call
	m *control.Member
}

// allCalls returns the calls of all members, those that the rules decided included.
func allCalls(s *operator.State) (cs []memberCall, err error) {
	for _, m := range s.Lead.Members {
		w, err := s.Worker(m.Instance)
		if err != nil && !operator.Broken(err) { // of a broken journal the records before the break
			return nil, err
		}
		for _, c := range w.Calls {
			cs = append(cs, memberCall{c, m})
		}
	}
	return cs, nil
}

// calls opens a team and returns its last tool calls, newest first.
func (o Operator) calls(ctx context.Context, name protocol.TeamName, mode operator.Mode) (*operator.State, []memberCall, error) {
	s, err := o.Open(ctx, name, mode)
	if err != nil {
		return nil, nil, err
	}
	cs, err := allCalls(s)
	cs = slices.DeleteFunc(cs, func(c memberCall) bool { return c.Kind != protocol.KindPermissionRequest })
	sort.SliceStable(cs, func(i, j int) bool { return cs[i].Asked.After(cs[j].Asked) })
	return s, cs[:min(len(cs), lookBack)], err
}
