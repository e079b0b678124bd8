package process_test

import (
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/journal"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
)

// A worktree was worked in when a process of its member has run, also under the instance that the member goes
// on as: a setup must not run there as the operator any more. A new worktree of the same member was not.
func TestWorkedIn(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	join := func(i record.Instance, path string, on record.Instance) journal.Draft {
		return journal.Draft{Kind: record.KindJoined, Must: true, Body: record.Joined{Instance: i, Name: protocol.MemberName("ann"), Agent: "exec", Backend: "process",
			Trust: record.Cooperative, Worktree: &record.Worktree{Path: path}, Continues: on}}
	}
	left := func(i record.Instance) journal.Draft {
		return journal.Draft{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: i, How: record.LeftStopped}}
	}
	operatortest.Append(t, r.Op, s, join("1", "/w/ann", ""))
	m, _ := s.Lead.ByInstance("1")
	if process.WorkedIn(s, m) {
		t.Error("before its first process")
	}
	r.Runs(s, m, operatortest.Process(t))
	operatortest.Append(t, r.Op, s, left("1"), join("2", "/w/ann", "1"), left("2"), join("3", "/w/ann", "2"), left("3"), join("4", "/w/ann-2", "3"))
	for i, want := range map[record.Instance]bool{"1": true, "2": true, "3": true, "4": false} {
		if m, _ := s.Lead.ByInstance(i); process.WorkedIn(s, m) != want {
			t.Errorf("instance %s: %t", i, !want)
		}
	}
}
