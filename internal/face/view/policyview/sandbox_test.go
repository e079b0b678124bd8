package policyview_test

import (
	"testing"

	"waggle/internal/face/view/policyview"
	"waggle/operator/reach"
	"waggle/record"
)

func tested() reach.Tested {
	return reach.Tested{Member: "ann", Tree: "/w/ann", Level: record.HeldEnforced, Points: []reach.Point{
		{Name: "secrets cannot be read", OK: true}, {Name: "no way to 127.0.0.1:1 (tcp) past the proxy", Detail: "connected"}}}
}

// filesOnly is a machine without namespaces.
func filesOnly() reach.Tested {
	return reach.Tested{Tree: "/w", Level: record.HeldFilesOnly, Why: "bubblewrap does not work here", Fix: "sudo sysctl kernel.unprivileged_userns_clone=1",
		Gaps: []string{"the network is open"}, Points: []reach.Point{{Name: "secrets cannot be read", OK: true}}}
}

// The result of a sandbox's test: whose sandbox it is, the level, the gaps, and each point.
func TestSandbox(t *testing.T) {
	golden(t, "sandbox", tested())
	golden(t, "sandbox_files_only", filesOnly())
	golden(t, "sandbox_empty", reach.Tested{})
	samePage(t, "sandbox", policyview.SandboxPage(tested()))
	samePage(t, "sandbox_files_only", policyview.SandboxPage(filesOnly()))
}

// The explanation of a command: the rules' verdict on a member's command, then the parts of the machine that the
// command reaches.
func TestReach(t *testing.T) {
	e := &reach.Explained{Tested: tested(), Command: []string{"curl", "https://example.com/"}, Dir: "/w/ann", Judged: judged(),
		Lines: []reach.Line{{Subject: "example.com:443", Verdict: "asked", Why: "no grant covers it"}, {Subject: "/", Verdict: "read", Why: "read-only for members"}}}
	golden(t, "reach", e)
	golden(t, "reach_empty", &reach.Explained{})
	samePage(t, "reach", policyview.ReachPage(e))
	samePage(t, "reach_nobody", policyview.ReachPage(&reach.Explained{Tested: filesOnly()}))
}
