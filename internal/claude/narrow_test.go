package claude

import "testing"

// TestLacks: the tools of a type only narrow the client's tools; the tools that reach people stay.
func TestLacks(t *testing.T) {
	all := Spec{}
	some := Spec{Tools: []string{"Read", "mcp__github"}, NoTools: []string{"mcp__github__merge"}}
	none := Spec{Tools: []string{}}
	for _, c := range []struct {
		s    Spec
		tool string
		has  bool
	}{
		{all, "Bash", true}, {some, "Read", true}, {some, "Bash", false}, {some, "ReadX", false}, {some, "mcp__github__list", true},
		{some, "mcp__githubx__list", false}, {some, "mcp__github__merge", false}, {none, "Read", false}, {none, "AskUserQuestion", true}, {none, "ExitPlanMode", true},
		{Spec{NoTools: []string{"Bash"}}, "Bash", false}, {Spec{NoTools: []string{"Bash"}}, "Edit", true},
	} {
		if why := c.s.lacks(c.tool); (why == "") != c.has {
			t.Errorf("%+v, %s: %q", c.s, c.tool, why)
		}
	}
	if got := some.offered(); got != "Read,AskUserQuestion,ExitPlanMode,SendMessage" {
		t.Error(got)
	}
	if got := all.offered(); got != "" {
		t.Error(got)
	}
	for _, bad := range []string{"", "Bash(git:*)", "*", "a b", "--x"} {
		if CheckTools([]string{bad}) == nil {
			t.Errorf("%q is a tool", bad)
		}
	}
}
