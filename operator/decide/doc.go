// Package decide is what waits for a person's decision and how it is decided: questions and
// groups of them, plans, hosts, rules of the policy, the ceiling, and the questions of
// sessions that waggle does not run.
package decide

import "waggle/operator"

// Operator is an operator.Operator with what this package does.
type Operator struct{ operator.Operator }

// Of returns the operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
