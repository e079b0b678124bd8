package worktree

import "fmt"

// GoneError reports a worktree whose directory and branch do not exist any more.
type GoneError struct{ Tree Tree }

func (e *GoneError) Error() string {
	return fmt.Sprintf("the worktree %s and its branch %s are gone", e.Tree.Path, e.Tree.Branch)
}
