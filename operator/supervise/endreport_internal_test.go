package supervise

import (
	"testing"

	"waggle/control"
	"waggle/operator"
	"waggle/record"
)

// A worktree is kept while its directory is there: a branch that is left alone keeps none.
func TestWorktreeReport(t *testing.T) {
	l, m := control.NewLeader(nil), &control.Member{}
	l.Members = append(l.Members, m)
	m.Instance = "i"
	if w := worktreeReport(l, m, nil); w != nil {
		t.Errorf("of a member without a worktree: %+v", w)
	}
	m.Worktree = &record.Worktree{Path: "/w/ann", Branch: "b"}
	for _, c := range []struct {
		kept operator.KeptWorktree
		want bool
	}{
		{operator.KeptWorktree{Owner: "i", Path: "/w/ann", Branch: "b", Why: "1 uncommitted file"}, true},
		{operator.KeptWorktree{Owner: "i", Branch: "b", Why: "its worktree was removed"}, false},
		{operator.KeptWorktree{Owner: "other", Path: "/w/ann", Branch: "b"}, false},
	} {
		if w := worktreeReport(l, m, []operator.KeptWorktree{c.kept}); w.Kept != c.want || w.Path != "/w/ann" || c.want && w.Why != c.kept.Why {
			t.Errorf("%+v: %+v", c.kept, w)
		}
	}
	l.Members = append(l.Members, &control.Member{Joined: record.Joined{Instance: "j", Continues: "i", Worktree: m.Worktree}})
	if w := worktreeReport(l, m, nil); w != nil {
		t.Errorf("of a member whose worktree a later one has: %+v", w)
	}
}
