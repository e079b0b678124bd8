// Package reach implements `waggle sandbox`: it tests a sandbox on this machine, explains what a
// member's commands could access, and runs the operator's own command in a member's sandbox.
//
//	where := reach.Where{Team: "api", Member: "bob"}
//	b, err := reach.Of(op).OpenBox(ctx, program, where)
//	defer b.Close()
//	tested := b.Tested()                                                     // the self-test, point by point
//	e, err := reach.Of(op).Explain(ctx, b, where, []string{"go", "test"})    // what the command could access
//	ready, err := b.Prepare(spawn.Command{Argv: argv, Dir: cwd, Env: environ})
//
// A Box is a separate sandbox: it has the profile of a member, as recorded, and none of the
// member's processes. A Box makes no requests: only hosts with a grant are open.
package reach

import "waggle/operator"

// Operator is an operator.Operator with the operations of this package.
type Operator struct{ operator.Operator }

// Of returns the operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
