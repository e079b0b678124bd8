package operator

import (
	"waggle/record"
)

// KeptWorktree is the worktree of a member that has left, and why it is still there.
type KeptWorktree struct {
	Member string
	Path   string
	Branch string
	Why    string   // 2 uncommitted files, 1 unpushed commit
	Files  []string // the first of them, and of the commits

	Owner record.Instance
}

// String returns reason and path: "2 uncommitted files: PATH".
func (k KeptWorktree) String() string { return k.Why + ": " + k.Path }
