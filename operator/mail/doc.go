// Package mail sends messages of a person, follows them, and reads mailboxes.
package mail

import "waggle/operator"

// Operator is an operator.Operator with the methods of this package.
type Operator struct{ operator.Operator }

// Of returns an Operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
