package teamfile

import (
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"waggle/protocol"
	"waggle/record"
)

// yamlBudget bounds what agents use: the team's together, or one member's.
type yamlBudget struct {
	USD    *float64   `yaml:"usd"`
	Tokens *yamlCount `yaml:"tokens"`
	Turns  *yamlCount `yaml:"turns"`
}

// UsualBrake is the brake of teams whose operator has set none: $20.
var UsualBrake = record.Limit{CostMicros: 20e6}

// yamlBrake is off, or the dollars at which a team without a budget asks.
type yamlBrake struct {
	USD *float64 `yaml:"usd"`
	off bool
}

// UnmarshalYAML reads {usd} or the word off.
func (b *yamlBrake) UnmarshalYAML(n ast.Node) error {
	if word, ok := n.(*ast.StringNode); ok && word.Value == "off" {
		b.off = true
		return nil
	}
	type whole yamlBrake
	return yaml.NodeToValue(n, (*whole)(b), yaml.Strict())
}

// brake reads a brake; without a limit when it is off.
func (c *checker) brake(at string, y yamlBrake) (l record.Limit) {
	if y.off {
		return l
	}
	var err error
	if y.USD == nil {
		c.bad(at, "want {usd: N}, or off")
	} else if l.CostMicros, err = record.Micros(*y.USD); err != nil {
		c.bad(at+".usd", "%v", err)
	}
	return l
}

// budget reads a budget; nil when there is none.
func (c *checker) budget(at string, y *yamlBudget) *record.Limit {
	if y == nil {
		return nil
	}
	var l record.Limit
	if y.USD == nil && y.Tokens == nil && y.Turns == nil {
		c.bad(at, "a budget has usd, tokens, turns, or several of them")
	}
	if y.USD != nil {
		var err error
		if l.CostMicros, err = record.Micros(*y.USD); err != nil {
			c.bad(at+".usd", "%v", err)
		}
	}
	count := func(name string, n *yamlCount, to *int64) {
		if n == nil {
			return
		}
		if *to = int64(*n); *n <= 0 {
			c.bad(at+"."+name, "want a number above 0")
		}
	}
	count("tokens", y.Tokens, &l.Tokens)
	count("turns", y.Turns, &l.Turns)
	return &l
}

// Budgets are the budgets of the file, and of the run that it is brought up for; nil: that has none.
func (f *File) Budgets(run *record.Limit) record.Budgets {
	b := record.Budgets{Team: f.Budget, Run: run}
	put := func(name protocol.MemberName, l *record.Limit) {
		if l == nil {
			return
		}
		if b.Members == nil {
			b.Members = map[protocol.MemberName]record.Limit{}
		}
		b.Members[name] = *l
	}
	if f.Lead != nil {
		put(protocol.Lead, f.Lead.Budget)
	}
	for _, m := range f.Members {
		put(m.Name, m.Budget)
	}
	return b
}
