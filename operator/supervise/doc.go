// Package supervise leads a team from its first process to its last: run, up and resume are
// one loop with several ends.
package supervise

import "waggle/operator"

// Operator is an operator.Operator with what this package does.
type Operator struct{ operator.Operator }

// Of returns the operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
