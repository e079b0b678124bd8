// Package board is the shared tasks of a team as a person sees and changes them, and what
// members have made.
package board

import "waggle/operator"

// Operator is an operator.Operator with what this package does.
type Operator struct{ operator.Operator }

// Of returns the operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
