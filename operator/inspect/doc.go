// Package inspect reads teams: status with its evidence, why, peek, recap, audit. It appends
// nothing and sends nothing, unless a function's doc says so.
package inspect

import "waggle/operator"

// Operator is an operator.Operator with the methods of this package.
type Operator struct{ operator.Operator }

// Of returns an Operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
