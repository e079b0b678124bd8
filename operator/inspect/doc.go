// Package inspect looks at teams: status with its evidence, why, peek, digest, audit. It
// appends nothing and sends nothing unless its doc says so.
package inspect

import "waggle/operator"

// Operator is an operator.Operator with what this package does.
type Operator struct{ operator.Operator }

// Of returns the operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
