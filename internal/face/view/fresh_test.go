package view_test

import (
	"testing"

	"waggle/internal/face/view"
	"waggle/operator/fresh"
)

func TestFreshViews(t *testing.T) {
	st := &fresh.Started{Team: "api", Opened: true, Dir: "/work/api", Members: []fresh.Member{
		{Name: "fix-login", Agent: "claude", Session: "0123", Task: "1", Subject: "Fix the login", Branch: "waggle/api/fix-login", Worktree: "/w/fix-login", Copied: []string{".env"}, Setup: []string{"npm ci"}, State: fresh.StateStarted}}}
	golden(t, "fresh", st)
	samePage(t, "fresh", view.FreshPage(st))
	samePage(t, "fresh_plan", view.FreshPlanPage(st))
	here := &fresh.Started{Team: "api", Dir: "/work/api", Members: []fresh.Member{{Name: "a", Agent: "exec", State: fresh.StateStarting}, {Name: "b", Agent: "exec", State: fresh.StateFailed, Why: "no room"}, {Name: "c", Agent: "exec", State: fresh.StateQueued, Queue: 2}}}
	samePage(t, "fresh_here", view.FreshPage(here))
	samePage(t, "fresh_plan_here", view.FreshPlanPage(here))
	tries := &fresh.Started{Team: "api", Members: []fresh.Member{{Name: "a", Agent: "claude", Branch: "waggle/api/a", State: fresh.StateStarted, Attempt: 1, Attempts: 2}, {Name: "a-2", Agent: "claude", Branch: "waggle/api/a-2", State: fresh.StateBlocked, Why: "npm ci: exit status 1", Attempt: 2, Attempts: 2}}}
	samePage(t, "fresh_attempts", view.FreshPage(tries))
	split := &fresh.Started{Team: "api", Members: []fresh.Member{{Name: "a", Agent: "claude", Branch: "waggle/api/a", State: fresh.StateStarted, Split: true}}}
	samePage(t, "fresh_split", view.FreshPage(split))
	golden(t, "fresh_empty", &fresh.Started{})
	samePage(t, "fresh_empty", view.FreshPage(&fresh.Started{}))
}
