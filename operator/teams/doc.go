// Package teams makes, deletes, backs up, restores and migrates teams, and lets members join
// and leave them.
package teams

import "waggle/operator"

// Operator is an operator.Operator with what this package does.
type Operator struct{ operator.Operator }

// Of returns the operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
