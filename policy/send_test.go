package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"waggle/policy"
	"waggle/protocol"
)

// allKinds is every kind constant of the protocol.
var allKinds = []protocol.Kind{
	"task_assignment", "task_progress", "task_completed", "idle_notification",
	"plan_approval_request", "plan_approval_response", "permission_request", "permission_response",
	"sandbox_permission_request", "sandbox_permission_response", "mode_set_request", "team_permission_update",
	"shutdown_request", "shutdown_approved", "shutdown_rejected", "teammate_terminated",
	"join_request", "join_approved", "join_rejected", "system_init", "text", "unknown", "invalid",
}

// effects are the only control sends that have an effect: "from to channel" to
// the kinds, written out by hand from trust §1 and protocol §1.
var effects = map[string]string{
	"leader worker journal": "permission_response sandbox_permission_response plan_approval_response " +
		"mode_set_request team_permission_update shutdown_request task_assignment",
	"worker leader journal": "permission_request sandbox_permission_request plan_approval_request " +
		"shutdown_approved shutdown_rejected idle_notification task_progress task_completed",
	"operator worker journal": "mode_set_request team_permission_update shutdown_request task_assignment",
}

func TestMaySendEveryCell(t *testing.T) {
	cells := 0
	for _, k := range allKinds {
		for _, from := range policy.Roles() {
			for _, to := range policy.Roles() {
				for _, by := range policy.Channels() {
					kinds := strings.Fields(effects[fmt.Sprintf("%s %s %s", from, to, by)])
					want := k == "text" || k == "system_init"
					for _, e := range kinds {
						want = want || e == string(k)
					}
					ok, why := policy.MaySend(k, from, to, by)
					if ok != want {
						t.Errorf("%s from %s to %s by %s: %v (%s)", k, from, to, by, ok, why)
					}
					if ok != (why == "") {
						t.Errorf("%s from %s to %s by %s: %v, because %q", k, from, to, by, ok, why)
					}
					cells++
				}
			}
		}
	}
	if cells != 23*5*5*3 {
		t.Errorf("%d cells", cells)
	}
}

func TestMaySendKnowsEveryKindOfTheProtocol(t *testing.T) {
	for _, k := range allKinds {
		if _, why := policy.MaySend(k, policy.RoleWorker, policy.RoleWorker, policy.ChannelFile); strings.Contains(why, "not a kind") {
			t.Errorf("%s: %s", k, why)
		}
	}
	for _, c := range []struct {
		k        protocol.Kind
		from, to policy.Role
		by       policy.Channel
	}{
		{"shutdown_response", policy.RoleLeader, policy.RoleWorker, policy.ChannelJournal},
		{"", policy.RoleLeader, policy.RoleWorker, policy.ChannelJournal},
		{"Text", policy.RoleLeader, policy.RoleWorker, policy.ChannelJournal},
		{"text", "Leader", policy.RoleWorker, policy.ChannelJournal},
		{"text", policy.RoleLeader, "", policy.ChannelJournal},
		{"permission_response", policy.RoleLeader, policy.RoleWorker, ""},
	} {
		if ok, why := policy.MaySend(c.k, c.from, c.to, c.by); ok || why == "" {
			t.Errorf("%+v: %v, %q", c, ok, why)
		}
	}
	_, why := policy.MaySend("permission_response", policy.RoleWorker, policy.RoleWorker, policy.ChannelFile)
	if !strings.Contains(why, "leader to worker by journal") {
		t.Errorf("the reason does not name the row: %s", why)
	}
}

// An entry without a matching record has no effect, except with members recorded as trust: file;
// assignments never have one, and modes and rules only where they narrow.
func TestMaySendFile(t *testing.T) {
	effects := map[string]string{
		"leader worker": "permission_response sandbox_permission_response plan_approval_response shutdown_request mode_set_request team_permission_update text system_init",
		"worker leader": "permission_request sandbox_permission_request plan_approval_request shutdown_approved shutdown_rejected " +
			"idle_notification task_progress task_completed text system_init",
	}
	for _, k := range allKinds {
		for _, from := range policy.Roles() {
			for _, to := range policy.Roles() {
				want := k == "text" || k == "system_init"
				for _, e := range strings.Fields(effects[string(from)+" "+string(to)]) {
					want = want || e == string(k)
				}
				if ok, why := policy.MaySendFile(k, from, to); ok != want || ok != (why == "") {
					t.Errorf("%s from %s to %s: %v (%s)", k, from, to, ok, why)
				}
				if ok, _ := policy.MaySend(k, from, to, policy.ChannelFile); ok && k != "text" && k != "system_init" {
					t.Errorf("%s from %s to %s has an effect by file", k, from, to)
				}
			}
		}
	}
}

func TestSendTable(t *testing.T) {
	for _, row := range policy.SendTable() {
		if row.Name == "" || len(row.Kinds) == 0 || len(row.By) == 0 {
			t.Errorf("an empty row: %+v", row)
		}
		for _, k := range row.Kinds {
			for _, by := range row.By {
				if ok, _ := policy.MaySend(k, row.From, row.To, by); ok == row.FileTrust {
					t.Errorf("%s: %s is %v", row, k, ok)
				}
			}
			if ok, _ := policy.MaySendFile(k, row.From, row.To); row.FileTrust && !ok {
				t.Errorf("%s: %s is not for trust: file", row, k)
			}
		}
	}
	policy.SendTable()[0].Kinds[0] = "text"
	if policy.SendTable()[0].Kinds[0] == "text" {
		t.Error("SendTable gives its own table away")
	}
}

// TestAgentKinds: every kind that the table of kinds lets an agent send has a row in the table of
// senders, and the two tables have the same kinds.
func TestAgentKinds(t *testing.T) {
	rows := map[protocol.Kind]bool{}
	for _, row := range policy.SendTable() {
		for _, k := range row.Kinds {
			rows[k] = true
		}
	}
	for _, info := range protocol.Kinds() {
		if (info.Agent || info.Effect) && !rows[info.Kind] {
			t.Errorf("%s: an agent sends it or it has an effect, and no row has it", info.Kind)
		}
		if info.Legacy && rows[info.Kind] {
			t.Errorf("%s is legacy and has a row", info.Kind)
		}
		delete(rows, info.Kind)
	}
	for k := range rows {
		t.Errorf("%s has a row and is no kind", k)
	}
}
