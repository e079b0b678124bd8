// Package supervise leads a team from its start to its end: run, up and resume are one loop with
// several ends.
package supervise

import "waggle/operator"

// Operator is an operator.Operator with the methods of this package.
type Operator struct{ operator.Operator }

// Of returns an Operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
