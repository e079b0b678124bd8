package view_test

import (
	"testing"

	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/inspect"
)

func TestEndedStatus(t *testing.T) {
	st := &inspect.EndedStatus{ID: "api-00000001", Team: "api", State: "ended", At: at(1), How: "down", Opened: at(0), Dir: "/state/teams/api-00000001",
		Members: []inspect.EndedMember{{Name: "ann", At: at(1), How: "handshake", Detail: "exit status 0", State: "left"}, {Name: "bob", At: at(1), How: "stopped", State: "left"}},
		Tasks:   []inspect.EndedTask{{ID: "1", Subject: "make", Owner: "ann", State: board.StateCompleted}, {ID: "2", Subject: "clean", Owner: "bob", State: board.StateFailed, Note: "denied"}},
		Kept: []operator.KeptWorktree{{Member: "ann", Path: "/w/ann", Branch: "waggle/api/ann", Why: "1 uncommitted file", Files: []string{"made.txt"}},
			{Member: "bob", Branch: "waggle/api/bob", Why: "its worktree was removed", Files: []string{}}}}
	golden(t, "ended_status", st)
	samePage(t, "ended_status", view.EndedStatusPage(st, now))
	bare := &inspect.EndedStatus{Team: "api", State: "ended", At: at(1), How: "deleted"}
	golden(t, "ended_status_empty", bare)
	samePage(t, "ended_status_empty", view.EndedStatusPage(bare, now))
}

// A dead member whose request is open: status and overview say that it is dead, what it asks, and what brings it
// back.
func TestDeadAndAsks(t *testing.T) {
	st := &inspect.Status{Team: "api", Leader: inspect.LeaderStatus{Led: true}, Pending: 1, Members: []inspect.MemberStatus{
		{Name: "ann", State: inspect.StateDead, Stand: inspect.Stand{Is: inspect.ConditionFailed}, Since: at(1), Why: "process 7 is gone; nobody starts it again by itself; asks: rm -rf build7 (high)", Stays: true, Asks: "asks: rm -rf build7 (high)"}}}
	samePage(t, "status_dead_asks", view.StatusPage(now, true, st))
	samePage(t, "overview_dead_asks", view.OverviewPage(view.Overview{Teams: []*inspect.Status{st}}, now, 0))
}
