package control_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// leadFold folds a team of the lead's agent and one member, and what follows.
func leadFold(t *testing.T, set record.PolicySet, more ...journal.Draft) *control.Leader {
	t.Helper()
	set.Policy.Version, set.By = 1, policy.RoleOperator
	fold := control.NewLeader(nil)
	j := journal.NewMemory("uid", journal.Leader, nil).Open(fold)
	_, err := j.Append(t.Context(), journal.Writer{Operator: true, PID: 1}, func() ([]journal.Draft, error) {
		return append([]journal.Draft{
			{Kind: record.KindOpened, Must: true, Body: record.Opened{Team: "api", UID: "uid", Instance: "1ead", Name: protocol.Lead, Epoch: 1}},
			{Kind: record.KindPolicy, Must: true, Body: set},
			{Kind: record.KindJoined, Must: true, Body: record.Joined{Instance: "b055", Name: protocol.Lead, Lead: "boss", Agent: "exec", Trust: record.Cooperative}},
			{Kind: record.KindJoined, Must: true, Body: record.Joined{Instance: "ada", Name: "ada", Agent: "exec", Trust: record.Cooperative}},
			{Kind: record.KindProcess, Must: true, Body: record.Process{Instance: "ada", Epoch: 1}},
			{Kind: record.KindProcess, Must: true, Body: record.Process{Instance: "b055", Epoch: 1}}}, more...), nil
	})
	testenv.Must(t, err)
	return fold
}

// TestNewsOfEnds: a member that dies or leaves is an event for the lead's agent; the end of the
// lead's agent itself is none.
func TestNewsOfEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		then []journal.Draft
		want []string
	}{
		{"died", []journal.Draft{{Kind: record.KindDied, Must: true, Body: record.Died{Instance: "ada", Epoch: 1, GaveUp: true}}},
			[]string{"ada failed it died too often, and is not started again"}},
		{"died and let go", []journal.Draft{{Kind: record.KindDied, Must: true, Body: record.Died{Instance: "ada", Epoch: 1}},
			{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: "ada", How: record.LeftDied}}}, []string{"ada failed it died"}},
		{"left", []journal.Draft{{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: "ada", How: record.LeftStopped}}}, []string{"ada left stopped"}},
		{"the lead", []journal.Draft{{Kind: record.KindDied, Must: true, Body: record.Died{Instance: "b055", Epoch: 1}},
			{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: "b055", How: record.LeftDied}}}, nil},
		{"died, to be started", []journal.Draft{{Kind: record.KindDied, Must: true, Body: record.Died{Instance: "ada", Epoch: 1, Again: &start}}},
			[]string{"ada failed it died, and is started again"}},
		{"died, and nobody saw it", []journal.Draft{{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: "ada", How: record.LeftDied}}}, []string{"ada failed it died"}},
		{"died, and let go otherwise", []journal.Draft{{Kind: record.KindDied, Must: true, Body: record.Died{Instance: "ada", Epoch: 1}},
			{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: "ada", How: record.LeftStopped}}}, []string{"ada failed it died"}},
	} {
		var got []string
		for _, n := range leadFold(t, record.PolicySet{}, c.then...).NewsAfter(0) {
			got = append(got, string(n.Member)+" "+string(n.What)+" "+n.Note)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestLeadPolicy: the lead's agent is judged by what the policy gives the lead, and by
// what it denies the team; members are not.
func TestLeadPolicy(t *testing.T) {
	l := leadFold(t, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault, Allow: policy.MustRules("Bash(make:*)"), Deny: policy.MustRules("Bash(rm:*)")},
		Lead: &policy.Policy{Mode: policy.ModeDefault, Allow: policy.MustRules("Bash(npm:*)")}})
	for _, c := range []struct {
		instance record.Instance
		command  string
		want     policy.Decision
	}{
		{"b055", "npm ci", policy.Allow}, {"b055", "make all", policy.Ask}, {"b055", "rm x", policy.Deny},
		{"ada", "npm ci", policy.Ask}, {"ada", "make all", policy.Allow}, {"ada", "rm x", policy.Deny},
	} {
		w := control.NewWorker(nil)
		w.Instance = c.instance
		v := w.Judge(protocol.KindPermissionRequest, record.Ask{Tool: "Bash", Input: `{"command":"` + c.command + `"}`, Cwd: "/work"}, l, start)
		if v.Decision != c.want {
			t.Errorf("%s of %s: %s, want %s", c.command, c.instance, v.Decision, c.want)
		}
	}
}
