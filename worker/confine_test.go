package worker

import (
	"path/filepath"
	"slices"
	"testing"

	"waggle/control"
	"waggle/home"
	"waggle/journal"
	"waggle/policy"
	"waggle/record"
	"waggle/team"
	"waggle/transport"
)

// TestHiddenFromMembers: STATE, RUN, every team's mailboxes and tasks, and the worktrees of others
// are on the list of paths that a member's commands must not see.
func TestHiddenFromMembers(t *testing.T) {
	lead := control.NewLeader(nil)
	mem := journal.NewMemory("u", journal.Leader, nil)
	if _, err := mem.Open(lead).Append(t.Context(), journal.Writer{Operator: true, PID: 1}, func() ([]journal.Draft, error) {
		return []journal.Draft{
			{Kind: record.KindOpened, Must: true, Body: record.Opened{Team: "api", UID: "u", Instance: "l", Name: "team-lead", Epoch: 1}},
			{Kind: record.KindPolicy, Must: true, Body: record.PolicySet{Policy: policy.Policy{Version: 1}, Path: "/proj/waggle.yaml", By: policy.RoleOperator}},
			{Kind: record.KindJoined, Must: true, Body: record.Joined{Instance: "a", Name: "ann", Worktree: &record.Worktree{Path: "/trees/api/ann"}}},
			{Kind: record.KindJoined, Must: true, Body: record.Joined{Instance: "b", Name: "bob", Worktree: &record.Worktree{Path: "/trees/api/bob"}}},
		}, nil
	}); err != nil {
		t.Fatal(err)
	}
	m, ok := lead.ByInstance("a")
	if !ok {
		t.Fatal("no ann")
	}
	o := Options{Root: team.Root{Path: "/root"}, Team: "api", Instance: "a", State: home.Dir{Path: "/state/teams/api-1"}, Sockets: transport.SocketDirs{Dir: "/run/w/api-1"}}
	got := hidden(o, lead, m)
	for _, want := range []string{"/state", "/run/w", "/root/teams", "/root/tasks", "/trees/api"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not hidden: %v", want, got)
		}
	}
	for _, want := range []string{"/trees/api/ann/.git", "/trees/api/ann/.claude", "/proj/waggle.yaml"} {
		if !slices.Contains(guarded(lead, m), want) {
			t.Errorf("%s is not guarded: %v", want, guarded(lead, m))
		}
	}
	if files, sockets := boxDir(o), doorsDir(o); filepath.Dir(files) != "/state/teams/api-1" || filepath.Dir(sockets) != "/run/w/api-1" {
		t.Errorf("its files are in %s, its sockets in %s", files, sockets)
	}
}
