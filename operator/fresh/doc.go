// Package fresh starts new work without a team file: one agent, one task, one branch, one worktree.
//
//	started, err := fresh.Of(op).New(ctx, []fresh.Want{{Task: "fix the login"}}, fresh.Options{Dir: dir, Lead: lead, Begin: begin})
//
// New takes the team that was opened for the directory, or opens one. Each task gets a member of its
// own, named after the task, in a git worktree of its own where the directory is in a checkout. New
// returns when the members are ready, or after a second: other processes, which Options name, lead
// the team and start the members. Several calls at once open one team.
//
// What a worktree gets before its member starts is that of the team's file, or of a waggle.yaml that New
// finds and Options.Accept accepts: AcceptShown, where a person is asked between two calls of New. It
// stands in the member's record, and the process that starts the member reads nothing else.
//
// Several agents on one task are said explicitly: Want.Attempts are members that each do all of it,
// Want.Split is one that proposes the parts as a plan, and Parts are the tasks of the approved plan.
package fresh

import "waggle/operator"

// Operator is an operator.Operator with the operations of this package.
type Operator struct{ operator.Operator }

// Of returns the operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
