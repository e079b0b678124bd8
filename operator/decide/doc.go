// Package decide shows and decides what waits for a person: requests and groups of them, plans,
// hosts, rules of the policy, the ceiling, and the requests of sessions that waggle does not run.
package decide

import "waggle/operator"

// Operator is an operator.Operator with the methods of this package.
type Operator struct{ operator.Operator }

// Of returns an Operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
