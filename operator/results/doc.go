// Package results is what becomes of a member's work: it shows what a member changed, merges that
// into a branch, and makes a pull request of it.
//
//	d, err := results.Of(op).Diff(ctx, "api", "bob", results.DiffOptions{}) // files and text, uncommitted work included
//	m, err := results.Of(op).Merge(ctx, "api", "bob", results.MergeOptions{})
//	p, err := results.Of(op).Pull(ctx, "api", "bob", results.PullOptions{})
//	cs, err := results.Comments(shown, edited)              // what a person wrote between lines of a diff
//
// A member is one with a worktree, of a present team or of one that has ended. Merge changes the
// target branch after everything else has succeeded: the merge itself, in a scratch checkout, the check
// of the team file on its result, the hooks of the repository. What a person has not committed in a
// checkout of the target is never changed. A merge that was killed is on record: ContinueMerge finishes
// it, AbortMerge takes it back. Nothing of a confined member runs outside of a sandbox.
package results

import "waggle/operator"

// Operator is an operator.Operator with the operations of this package.
type Operator struct{ operator.Operator }

// Of returns the operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }
