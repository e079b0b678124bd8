// Package mail is what a person sends, how far it came, and what members have in their
// mailboxes.
package mail

import "waggle/operator"

// Operator is an operator.Operator with what this package does.
type Operator struct{ operator.Operator }

// Of returns the operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
