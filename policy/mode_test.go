package policy_test

import (
	"strings"
	"testing"

	"waggle/policy"
)

func call(tool, input string) policy.Call {
	return policy.Call{Tool: tool, Input: []byte(input), Cwd: "/work/api"}
}

// samples has one call for each area, with an allow rule for it.
var samples = map[policy.Area]struct {
	call policy.Call
	rule string
}{
	policy.AreaReadInside:  {call("Read", `{"file_path":"/work/api/a.go"}`), "Read(a.go)"},
	policy.AreaReadOutside: {call("Read", `{"file_path":"/etc/hosts"}`), "Read(/etc/hosts)"},
	policy.AreaTeam:        {call("TaskList", `{}`), "TaskList"},
	policy.AreaSubmitPlan:  {call("ExitPlanMode", `{}`), "ExitPlanMode"},
	policy.AreaEditInside:  {call("Edit", `{"file_path":"/work/api/a.go"}`), "Edit(a.go)"},
	policy.AreaEditGuarded: {call("Write", `{"file_path":"/work/api/.git/hooks/pre-commit"}`), "Write(.git/**)"},
	policy.AreaEditOutside: {call("Edit", `{"file_path":"/etc/hosts"}`), "Edit(/etc/hosts)"},
	policy.AreaOther:       {bash("make"), "Bash(make)"},
}

// Every cell of the table of modes: what a call of the area gets without a rule,
// and with an allow rule for it. Columns: read inside, read outside, team, submit
// plan, edit inside, edit guarded, edit outside, other.
var cells = []struct {
	mode        policy.Mode
	plain, rule string
}{
	{policy.ModeDefault, "allow ask allow ask ask ask ask ask", "allow allow allow allow allow allow allow allow"},
	{"", "allow ask allow ask ask ask ask ask", "allow allow allow allow allow allow allow allow"},
	{policy.ModeAuto, "allow ask allow ask ask ask ask ask", "allow allow allow allow allow allow allow allow"},
	{policy.ModeAcceptEdits, "allow ask allow ask allow ask ask ask", "allow allow allow allow allow allow allow allow"},
	{policy.ModeDontAsk, "allow deny allow deny deny deny deny deny", "allow allow allow allow allow allow allow allow"},
	{policy.ModePlan, "allow ask allow ask deny deny deny deny", "allow allow allow ask deny deny deny deny"},
	{policy.ModeSafe, "allow ask allow ask ask ask ask ask", "allow allow allow ask ask ask ask ask"},
	{policy.ModeLockedDown, "allow deny allow deny deny deny deny deny", "allow allow allow deny deny deny deny deny"},
	{policy.ModeBypassPermissions, "allow allow allow allow allow allow allow allow", "allow allow allow allow allow allow allow allow"},
	{"delegate", "deny deny deny deny deny deny deny deny", "deny deny deny deny deny deny deny deny"},
	{"Default", "deny deny deny deny deny deny deny deny", "deny deny deny deny deny deny deny deny"},
}

func TestModeCells(t *testing.T) {
	for _, row := range cells {
		plain, ruled := strings.Fields(row.plain), strings.Fields(row.rule)
		for i, area := range policy.Areas() {
			s := samples[area]
			if got, ok := policy.AreaOf(s.call); !ok || got != area {
				t.Fatalf("the sample for %s is %s", area, got)
			}
			p := policy.Policy{Mode: row.mode}
			if v := p.Judge(s.call); v.Decision.String() != plain[i] {
				t.Errorf("mode %q, %s: %+v, want %s", row.mode, area, v, plain[i])
			}
			p.Allow = policy.MustRules(s.rule)
			if v := p.Judge(s.call); v.Decision.String() != ruled[i] {
				t.Errorf("mode %q, %s, allow %s: %+v, want %s", row.mode, area, s.rule, v, ruled[i])
			}
			p.Deny = policy.MustRules(s.call.Tool)
			if v := p.Judge(s.call); v.Decision != deny {
				t.Errorf("mode %q, %s, denied: %+v", row.mode, area, v)
			}
		}
	}
}

// TestModesTable: the table of modes has the decisions of Judge.
func TestModesTable(t *testing.T) {
	infos := policy.Modes()
	if len(infos) != 8 {
		t.Fatalf("%d modes", len(infos))
	}
	for _, info := range infos {
		if info.Meaning == "" {
			t.Errorf("%s means nothing", info.Mode)
		}
		for _, area := range policy.Areas() {
			want := info.Cell(area)
			if want == ask && info.Silent {
				want = deny
			}
			if v := (policy.Policy{Mode: info.Mode}).Judge(samples[area].call); v.Decision != want {
				t.Errorf("%s, %s: %s, the table says %s", info.Mode, area, v.Decision, want)
			}
		}
		if info.Cell(-1) != deny || info.Cell(99) != deny {
			t.Errorf("%s allows an area that does not exist", info.Mode)
		}
	}
	infos[0].Mode = "changed"
	if policy.Modes()[0].Mode == "changed" {
		t.Error("Modes gives its own table away")
	}
}

func TestParseMode(t *testing.T) {
	for _, info := range policy.Modes() {
		if m, err := policy.ParseMode(string(info.Mode)); err != nil || m != info.Mode || m.String() != string(info.Mode) {
			t.Errorf("%s: %v, %v", info.Mode, m, err)
		}
	}
	for _, bad := range []string{"", "Default", "delegate", "default ", "lockeddown"} {
		m, err := policy.ParseMode(bad)
		if err == nil {
			t.Errorf("%q is %q", bad, m)
		} else if !strings.Contains(err.Error(), "acceptEdits") || !strings.Contains(err.Error(), "locked-down") {
			t.Errorf("%q: %v does not list the modes", bad, err)
		}
	}
}

func TestMeet(t *testing.T) {
	for _, c := range []struct{ a, b, want policy.Mode }{
		{"default", "bypassPermissions", "default"},
		{"default", "acceptEdits", "default"},
		{"", "acceptEdits", "default"},
		{"acceptEdits", "bypassPermissions", "acceptEdits"},
		{"plan", "acceptEdits", "plan"},
		{"plan", "safe", "plan"},
		{"safe", "default", "safe"},
		{"dontAsk", "default", "dontAsk"},
		{"dontAsk", "bypassPermissions", "dontAsk"},
		{"dontAsk", "safe", "locked-down"},
		{"dontAsk", "plan", "locked-down"},
		{"locked-down", "plan", "locked-down"},
		{"locked-down", "dontAsk", "locked-down"},
		{"delegate", "bypassPermissions", "delegate"},
		{"locked-down", "delegate", "delegate"},
		{"plan", "plan", "plan"},
	} {
		if got := c.a.Meet(c.b); got != c.want {
			t.Errorf("%s and %s meet in %s, want %s", c.a, c.b, got, c.want)
		}
		if got := c.b.Meet(c.a); got != c.want {
			t.Errorf("%s and %s meet in %s, want %s", c.b, c.a, got, c.want)
		}
	}
	if m := policy.ModeAuto.Meet(policy.ModeDefault); m != policy.ModeAuto {
		t.Errorf("auto under default is %s", m)
	}
}
