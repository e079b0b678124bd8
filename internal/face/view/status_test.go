package view_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/record"
)

// status is a team of which every field has a value.
func status() *inspect.Status {
	ann := inspect.MemberStatus{Name: "ann", State: inspect.StateWorking, Stand: inspect.Stand{Is: inspect.ConditionWorking}, Since: at(0), Why: "has a turn", PID: 17, Backend: "process", Trust: record.Cooperative,
		Task: "1", Pending: 2, Policy: 3, Socket: "uds:/run/ann", Restarts: 1, Ready: &record.Ready{Epoch: 2, Agent: "script", Policy: 3, Cwd: "/w",
			Sandbox: &record.Held{Level: record.HeldFilesOnly, Why: "no bubblewrap", Fix: "install it", Gaps: []string{"the network is open"}}},
		Sandbox: record.HeldFilesOnly, Log: "/t/ann/output.log",
		Worktree: &process.WorktreeView{Path: "/w/ann", Branch: "waggle/ann", Base: "abc"},
		Refused:  &process.RefusedMerge{Why: "waggle/ann and main conflict in b.go; main is as it was", Into: "main", At: at(8)},
		Resolved: true,
		Usage:    &inspect.MemberUsage{CPU: operator.Seconds(1500 * time.Millisecond), RSS: 4096, Processes: 2},
		Evidence: &inspect.Evidence{
			Process:  inspect.ProcessEvidence{PID: 17, Start: "99", Epoch: 2, Since: at(1), State: "running", Problem: "p"},
			Journal:  inspect.JournalEvidence{State: "idle", LastKind: "asked", LastAt: at(2), Problem: "j"},
			Orders:   inspect.OrdersEvidence{Unapplied: 1, Oldest: at(3), Watched: 1200 * time.Millisecond},
			Mailbox:  inspect.MailboxEvidence{Control: 1, Chat: 2, Oldest: "some day", Problem: "m"},
			Output:   inspect.OutputEvidence{Path: "/t/ann/output.log", Size: 5, At: at(4)},
			Terminal: &inspect.TerminalEvidence{Socket: "/s", Pane: "%1", Server: "/tmux", Holder: "running", Ended: true, Exit: "exit status 1"},
			Died:     &inspect.Death{At: at(5), Detail: "killed", Again: at(6), GaveUp: true},
			Tools:    []process.LeftTool{{PID: 18, Argv: "make"}},
			Stopping: "it was asked to end",
		}}
	return &inspect.Status{Team: "api", Gone: &record.Noticed{Path: "/t/api", Moved: "/t/web"}, Damage: []string{"set aside: x"},
		Leader:      inspect.LeaderStatus{Led: true, PID: 7, Detached: true, Sandbox: record.HeldFilesOnly},
		Members:     []inspect.MemberStatus{ann, {Name: "team-lead", Lead: "claude", State: inspect.StateDead, Stand: inspect.Stand{Is: inspect.ConditionFailed}}},
		Interrupted: &inspect.Interrupted{At: at(7), Members: 1, Pending: 2},
		Overlaps:    []inspect.Overlap{{File: "a.go", Repo: "/r", Members: []string{"ann", "bob"}}},
		Pending:     2, Unread: 3, Alarms: 4,
		Ceiling: &decide.CeilingView{File: "/c", SHA256: "ff", Mode: "plan", Allow: []string{"Read"}, Deny: []string{"Bash"}, Cut: []string{"allow Write"}}}
}

func TestStatus(t *testing.T) {
	golden(t, "status", view.Status(status()))
	golden(t, "status_empty", view.Status(&inspect.Status{Team: "api", Leader: inspect.LeaderStatus{Foreign: true}, Members: []inspect.MemberStatus{{Name: "ann", Evidence: &inspect.Evidence{}}}}))
	samePage(t, "status", view.StatusPage(now, true, status()))
	samePage(t, "overview", view.OverviewPage(view.Overview{Teams: []*inspect.Status{status()},
		Waiting: []decide.Request{{PendingItem: decide.PendingItem{Team: "api", ID: "perm-1", Handle: "7KQF", Member: "ann", Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), Risk: "low", Asked: operator.Past{Time: at(30)}, Status: decide.StatusOpen}}},
		Ended:   []inspect.EndedTeam{{ID: "web-1", Team: "web", At: at(1), How: "the operator ended it"}, {ID: "old-2", Team: "old", At: at(2)}, {ID: "old-1", Team: "old", At: at(3)}},
		Kept:    []process.Kept{{Kind: "team", Team: "old", Why: operator.Sentence{Text: "it was interrupted"}}, {Kind: "worktree", Team: "old", ID: "old-1", Member: "bob", Why: operator.Sentence{Text: "1 commit"}}}}, now, 0))
	samePage(t, "overview_empty", view.OverviewPage(view.Overview{}, now, 0))
	samePage(t, "status_several", view.StatusPage(now, true, status(), status()))
	samePage(t, "status_short", view.StatusPage(now, false, status()))
	samePage(t, "status_empty", view.StatusPage(now, true, &inspect.Status{Team: "api", Leader: inspect.LeaderStatus{Foreign: true}}))
}

// The notice is about a broken journal rather than a full disk, and about a full disk rather than a directory
// that is gone.
func TestStatusNotice(t *testing.T) {
	st := status()
	st.Damage = nil
	for _, c := range []struct {
		fact func()
		says string
	}{
		{func() {}, "its directory /t/api is gone: nothing can be sent or received; it was renamed to /t/web"},
		{func() { st.Room = errors.New("no space") }, "nothing can be recorded, so nothing is decided until that is over: no space"},
		{func() { st.Broken = errors.New("leader.jsonl is broken") }, "leader.jsonl is broken"},
		{func() { st.Damage = []string{"one", "two"} }, "leader.jsonl is broken; one; two"},
	} {
		c.fact()
		if d := view.Status(st); d.Notice != c.says || d.Broken != (st.Broken != nil) || d.Full != (st.Room != nil) {
			t.Errorf("%+v, want %q", d, c.says)
		}
	}
	for range 12 {
		st.Overlaps = append(st.Overlaps, st.Overlaps[0])
	}
	var lines []string
	for _, b := range view.StatusPage(now, true, st) {
		for _, s := range b.Line {
			lines = append(lines, s.Text)
		}
	}
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "and 3 more files") || strings.Count(all, "a.go") != 10 {
		t.Error(all)
	}
}
