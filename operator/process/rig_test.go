package process_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/record"
)

// code asserts the kind of an error.
func code(t *testing.T, what string, err error, want operator.Kind) {
	t.Helper()
	if got := operator.KindOf(err); got != want {
		t.Errorf("%s: %v is of kind %s, want %s", what, err, got, want)
	}
}

// rig is a team, and its state.
func rig(t *testing.T) (*operatortest.Rig, *operator.State) {
	t.Helper()
	r := operatortest.Team(t, operatortest.New(t), "api", record.PolicySet{})
	return r, r.State()
}

// spoil makes a leader's journal unreadable from a line on.
func spoil(t *testing.T, s *operator.State, line int) {
	t.Helper()
	path := filepath.Join(s.Dir.LeaderJournal(), "00000001.jsonl")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	if len(lines) <= line {
		t.Fatalf("%s has %d lines", path, len(lines)-1)
	}
	lines[line-1] = []byte("nonsense\n")
	if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
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
