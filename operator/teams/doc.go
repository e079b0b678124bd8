// Package teams creates, deletes, backs up, restores and migrates teams, and lets members join and
// leave them.
package teams

import "waggle/operator"

// Operator is an operator.Operator with the methods of this package.
type Operator struct{ operator.Operator }

// Of returns an Operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
