package operator

import (
	"waggle/record"
)

// KeptWorktree is the worktree of a member that has left, and why it is still there.
type KeptWorktree struct {
	Member string          `json:"member"`
	Path   string          `json:"path"`
	Branch string          `json:"branch"`
	Why    string          `json:"why"`   // 2 uncommitted files, 1 unpushed commit
	Files  []string        `json:"files"` // the first of them, and of the commits
	Owner  record.Instance `json:"-"`
}

// String returns reason and path: "2 uncommitted files: PATH".
func (k KeptWorktree) String() string { return k.Why + ": " + k.Path }
