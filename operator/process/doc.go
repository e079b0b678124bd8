// Package process starts what members run in, finds it again, and ends it: backends, marks,
// control groups, worktrees, wrecks of teams, and what was left behind.
package process

import "waggle/operator"

// Operator is an operator.Operator with what this package does.
type Operator struct{ operator.Operator }

// Of returns the operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
