package process_test

import (
	"os"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/record"
)

// rig is a team, and its state.
func rig(t *testing.T) (*operatortest.Rig, *operator.State) {
	t.Helper()
	r := operatortest.Team(t, operatortest.New(t), "api", record.PolicySet{})
	return r, r.State()
}

// there reports whether something exists at a path.
func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// inTree gives a member a worktree of a checkout.
func inTree(repo string) func(*teamfile.FileMember) {
	return func(m *teamfile.FileMember) { m.Cwd, m.Worktree = repo, true }
}
