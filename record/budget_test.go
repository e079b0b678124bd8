package record_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"waggle/record"
)

// TestBudgetInput: RaiseOf reads from the input of a request the raise that the request states, and
// refuses an input that states none.
func TestBudgetInput(t *testing.T) {
	e := record.Excess{Scope: record.ScopeTeam, Limit: record.Limit{CostMicros: 2_500_000, Tokens: 1000}, Used: record.Usage{Input: 999, Output: 1, CostMicros: 5_010_000, Source: record.UsageEstimated}}
	e.RaiseTo = e.Limit.Above(e.Limit, e.Used)
	want := `{"scope":"team","limit":{"usd":2.5,"tokens":1000},"used":{"usd":5.01,"tokens":1000,"source":"estimated"},"raise_to":{"usd":7.5,"tokens":2000}}`
	if got := e.Input(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	scope, to, err := record.RaiseOf(e.Input())
	if err != nil || scope != record.ScopeTeam || to != e.RaiseTo {
		t.Errorf("%v %+v %v", scope, to, err)
	}
	if got := e.String(); got != "the team's budget of $2.5, 1000 tokens is used up ($5.01, 1000 tokens, estimated)" {
		t.Error(got)
	}
	e.Limit.Turns, e.Used.Turns = 3, 3
	e.RaiseTo = e.Limit.Above(e.Limit, e.Used)
	want = `{"scope":"team","limit":{"usd":2.5,"tokens":1000,"turns":3},"used":{"usd":5.01,"tokens":1000,"turns":3,"source":"estimated"},"raise_to":{"usd":7.5,"tokens":2000,"turns":6}}`
	if got := e.Input(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, to, err := record.RaiseOf(e.Input()); err != nil || to != e.RaiseTo {
		t.Errorf("%+v %v", to, err)
	}
	if got := e.String(); got != "the team's budget of $2.5, 1000 tokens, 3 turns is used up ($5.01, 1000 tokens, 3 turns, estimated)" {
		t.Error(got)
	}
	for _, bad := range []string{``, `[]`, `{}`, `{"scope":"house","raise_to":{}}`, `{"Scope":"team","raise_to":{}}`, `{"scope":"team"}`,
		`{"scope":"team","raise_to":{"usd":"1"}}`, `{"scope":"team","raise_to":{"usd":-1}}`, `{"scope":"team","raise_to":{"tokens":0}}`, `{"scope":"team","raise_to":{"tokens":1.5}}`,
		`{"scope":"team","raise_to":{"turns":0}}`, `{"scope":"team","raise_to":{"turns":"3"}}`} {
		if _, to, err := record.RaiseOf(bad); err == nil {
			t.Errorf("%s raises %+v", bad, to)
		}
	}
}

// TestMicros: dollars that are no amount are refused.
func TestMicros(t *testing.T) {
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), 2e9, 1e-9} {
		if m, err := record.Micros(bad); err == nil {
			t.Errorf("%v: %d", bad, m)
		}
	}
	if m, err := record.Micros(0.1); err != nil || m != 100_000 {
		t.Error(m, err)
	}
}

// TestAbove: a raised limit is not reached any more, is a multiple of the first one, and is never
// lower.
func TestAbove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := record.Limit{CostMicros: rapid.Int64Range(0, 1e12).Draw(t, "usd"), Tokens: rapid.Int64Range(0, 1e12).Draw(t, "tokens"), Turns: rapid.Int64Range(0, 1e6).Draw(t, "turns")}
		u := record.Usage{Input: rapid.Int64Range(0, 1e15).Draw(t, "input"), CostMicros: rapid.Int64Range(0, 1e15).Draw(t, "cost"), Turns: rapid.Int64Range(0, 1e9).Draw(t, "used turns"), Source: record.UsageReported}
		to := base.Above(base, u)
		if to.Reached(u) || base.Raised(to) != to {
			t.Fatalf("%+v by %+v: %+v", base, u, to)
		}
		if !base.Reached(u) && to != base {
			t.Fatalf("%+v was raised to %+v without need", base, to)
		}
	})
}
