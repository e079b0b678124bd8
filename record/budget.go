package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/internal/json/jsontext"
	"waggle/protocol"
)

// Record kinds of budgets and limits.
const (
	KindBudget  = "budget"  // Budgets; in the leader's journal
	KindSpent   = "spent"   // Spent; in the leader's journal
	KindPaused  = "paused"  // Asked; in a worker's journal: a request for a larger budget
	KindLimited = "limited" // Limited; in a worker's journal
)

// BudgetTool is the tool that a request for a larger budget names. No agent asks for it: the worker
// does, and only the operator decides it.
const BudgetTool = "Budget"

// Limit bounds what agents use. 0 is no limit.
type Limit struct {
	CostMicros int64 `json:"cost_usd_micros,omitempty"` // millionths of a dollar
	Tokens     int64 `json:"tokens,omitempty"`          // all of them: input, output, cache
	Turns      int64 `json:"turns,omitempty"`           // of the model, as Usage counts them
}

// Set reports whether anything is bounded.
func (l Limit) Set() bool { return l.CostMicros > 0 || l.Tokens > 0 || l.Turns > 0 }

// Reached reports whether u is at or above the limit.
func (l Limit) Reached(u Usage) bool {
	return l.CostMicros > 0 && u.CostMicros >= l.CostMicros || l.Tokens > 0 && u.Tokens() >= l.Tokens || l.Turns > 0 && u.Turns >= l.Turns
}

// Above is the limit raised to the next multiple of base that u does not reach. What u does not
// reach stays.
func (l Limit) Above(base Limit, u Usage) Limit {
	return Limit{above(l.CostMicros, base.CostMicros, u.CostMicros), above(l.Tokens, base.Tokens, u.Tokens()), above(l.Turns, base.Turns, u.Turns)}
}

func above(limit, step, used int64) int64 {
	if limit <= 0 || step <= 0 || used < limit {
		return limit
	}
	if used > math.MaxInt64-2*step {
		return math.MaxInt64
	}
	return (used/step + 1) * step
}

// Raised is the limit with what to raises of it. A part without a limit stays without.
func (l Limit) Raised(to Limit) Limit {
	if l.CostMicros > 0 {
		l.CostMicros = max(l.CostMicros, to.CostMicros)
	}
	if l.Tokens > 0 {
		l.Tokens = max(l.Tokens, to.Tokens)
	}
	if l.Turns > 0 {
		l.Turns = max(l.Turns, to.Turns)
	}
	return l
}

// String is the limit for people.
func (l Limit) String() string {
	var parts []string
	if l.CostMicros > 0 {
		parts = append(parts, "$"+usd(l.CostMicros))
	}
	if l.Tokens > 0 {
		parts = append(parts, strconv.FormatInt(l.Tokens, 10)+" tokens")
	}
	if l.Turns > 0 {
		parts = append(parts, Turns(l.Turns))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// Turns writes a number of turns: 1 turn.
func Turns(n int64) string {
	if n == 1 {
		return "1 turn"
	}
	return strconv.FormatInt(n, 10) + " turns"
}

// usd writes millionths of a dollar as dollars, exactly: 2.5.
func usd(micros int64) string {
	s := fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// maxUSD is the most that a budget takes.
const maxUSD = 1e9

// Micros reads dollars as millionths.
func Micros(usd float64) (int64, error) {
	if !(usd > 0 && usd <= maxUSD) { // not a number is neither
		return 0, errors.New("want dollars above 0 and at most a billion")
	}
	m := int64(math.Round(usd * 1e6))
	if m == 0 {
		return 0, errors.New("want at least a millionth of a dollar")
	}
	return m, nil
}

// BudgetScope is whose use a budget bounds.
type BudgetScope string

// The scopes, in the order in which they are looked at.
const (
	ScopeMember BudgetScope = "member"
	ScopeTeam   BudgetScope = "team"
	ScopeRun    BudgetScope = "run" // since it began, of the whole team
	// ScopeBrake is the whole team's, while nobody has set a budget: a request of it that is allowed asks
	// no second time.
	ScopeBrake BudgetScope = "brake"
)

// BudgetScopes are all scopes.
var BudgetScopes = []BudgetScope{ScopeMember, ScopeTeam, ScopeRun, ScopeBrake}

// Budgets are the budgets of a team, all of them anew each time.
type Budgets struct {
	Team    *Limit                        `json:"team,omitempty"`
	Run     *Limit                        `json:"run,omitempty"`
	Members map[protocol.MemberName]Limit `json:"members,omitempty"`
	// Brake is what a team without any of these asks at, from the settings of its operator when it was made.
	Brake *Limit `json:"brake,omitempty"`
	// From is what the team had used when the run began.
	From Usage `json:"run_from,omitzero"`
}

// Spent is what a member's agent has used in all, as the leader knows it: the budgets of the team
// and the run are counted with it.
type Spent struct {
	Instance Instance `json:"instance"`
	Usage    Usage    `json:"usage"`
}

// Limited says that a member's agent has reached a usage limit, or that its service is overloaded or out of reach. The turn that ran
// stays open, and goes on at Until.
type Limited struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
}

// Excess is a budget that is used up: the input of a Budget request.
type Excess struct {
	Scope BudgetScope
	Limit Limit
	Used  Usage
	// RaiseTo is the limit that an allow sets. Of a brake it is none: an allow ends it.
	RaiseTo Limit
}

// String says what is used up, for people.
func (e Excess) String() string {
	if e.Scope == ScopeBrake {
		return fmt.Sprintf("nobody set a budget, and the team has used %s (%s): if you allow it, it asks no more; else set one "+
			"(budget: {usd: N} in the team file, or the command budget set)", e.Limit, e.Used.words())
	}
	whose := map[BudgetScope]string{ScopeMember: "its budget", ScopeTeam: "the team's budget", ScopeRun: "the run's budget"}[e.Scope]
	return fmt.Sprintf("%s of %s is used up (%s)", whose, e.Limit, e.Used.words())
}

// words are all counts of a usage: $5.01, 1000 tokens, 3 turns, reported.
func (u Usage) words() string {
	parts := []string{"$" + usd(u.CostMicros), strconv.FormatInt(u.Tokens(), 10) + " tokens"}
	if u.Turns > 0 {
		parts = append(parts, Turns(u.Turns))
	}
	if u.Source != "" {
		parts = append(parts, u.Source)
	}
	return strings.Join(parts, ", ")
}

type counts struct {
	USD    json.Number `json:"usd,omitempty"`
	Tokens int64       `json:"tokens,omitempty"`
	Turns  int64       `json:"turns,omitempty"`
	Source string      `json:"source,omitempty"`
}

func (l Limit) counts() counts {
	c := counts{Tokens: l.Tokens, Turns: l.Turns}
	if l.CostMicros > 0 {
		c.USD = json.Number(usd(l.CostMicros))
	}
	return c
}

// Input is the request's input: {"scope","limit","used","raise_to"}.
func (e Excess) Input() string {
	used := Limit{e.Used.CostMicros, e.Used.Tokens(), e.Used.Turns}.counts()
	used.Source = e.Used.Source
	b, _ := jsontext.Marshal(struct { // texts and numbers always encode
		Scope   BudgetScope `json:"scope"`
		Limit   counts      `json:"limit"`
		Used    counts      `json:"used"`
		RaiseTo counts      `json:"raise_to"`
	}{e.Scope, e.Limit.counts(), used, e.RaiseTo.counts()})
	return string(b)
}

// RaiseOf reads what allowing a Budget request with this input raises, by exact field name.
func RaiseOf(input string) (scope BudgetScope, to Limit, err error) {
	var fields, raise map[string]json.RawMessage
	if err := json.Unmarshal([]byte(input), &fields); err != nil {
		return "", to, fmt.Errorf("budget: %w", err)
	}
	if scope = BudgetScope(jsontext.TextOf(fields, "scope")); !slices.Contains(BudgetScopes, scope) {
		return "", to, fmt.Errorf("budget: scope %.40q is not one of member, team, run, brake", scope)
	}
	if err := json.Unmarshal(fields["raise_to"], &raise); err != nil {
		return "", to, errors.New("budget: raise_to is no object")
	}
	if raw, ok := raise["usd"]; ok {
		var usd float64
		if err := json.Unmarshal(raw, &usd); err != nil {
			return "", to, errors.New("budget: raise_to.usd is no number")
		}
		if to.CostMicros, err = Micros(usd); err != nil {
			return "", to, fmt.Errorf("budget: raise_to.usd: %w", err)
		}
	}
	for name, n := range map[string]*int64{"tokens": &to.Tokens, "turns": &to.Turns} {
		if raw, ok := raise[name]; ok && (json.Unmarshal(raw, n) != nil || *n <= 0) {
			return "", to, fmt.Errorf("budget: raise_to.%s is no number above 0", name)
		}
	}
	return scope, to, nil
}

// IsBudget reports a request for a larger budget.
func IsBudget(k protocol.Kind, a Ask) bool {
	return k == protocol.KindPermissionRequest && a.Tool == BudgetTool
}
