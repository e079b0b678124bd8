package record_test

import (
	"testing"

	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// TestTeamFileByItsPath: the accepted team file is guarded, whatever its name.
func TestTeamFileByItsPath(t *testing.T) {
	set := record.PolicySet{Path: "/w/crew/night.yml", Policy: policy.Policy{Mode: policy.ModeAcceptEdits, Allow: policy.MustRules("Write(/w/crew/**)")}}
	for _, c := range []struct {
		cwd, input string
		want       policy.Decision
	}{
		{"/w", `{"file_path":"crew/night.yml"}`, policy.Ask},
		{"/w", `{"file_path":"crew/../crew/NIGHT.yml"}`, policy.Ask},
		{"/w", `{"file_path":"crew/day.yml"}`, policy.Allow},
		{"/elsewhere", `{"file_path":"/w/crew/night.yml"}`, policy.Ask},
		{"/elsewhere", `{"file_path":"/w/crew/day.yml"}`, policy.Allow},
	} {
		v := set.Judge("i", policy.ModeAcceptEdits, protocol.KindPermissionRequest, record.Ask{Tool: "Write", Input: c.input, Cwd: c.cwd}, start)
		if v.Decision != c.want {
			t.Errorf("%s in %s: %+v, want %s", c.input, c.cwd, v, c.want)
		}
	}
}
