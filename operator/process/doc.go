// Package process starts the processes of members, finds and ends them: backends, marks, control
// groups, worktrees, teams with a broken journal, and what was left behind.
package process

import "waggle/operator"

// Operator is an operator.Operator with the methods of this package.
type Operator struct{ operator.Operator }

// Of returns an Operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
