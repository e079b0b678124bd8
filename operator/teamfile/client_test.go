package teamfile_test

import (
	"strings"
	"testing"

	"waggle/agent"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/teamfile"
)

// TestClientMember: waggle does not start a member whose client connects by itself.
func TestClientMember(t *testing.T) {
	f := testenv.Value(teamfile.ParseFile("/proj/waggle.yaml", []byte("team: api\nmembers:\n  - {name: ed, agent: mcp, plan: required, mode: plan}\n")))(t)
	if m := f.Members[0]; m.Agent != agent.KindMCP || m.Backend != operator.BackendMCP || m.Restart != nil || !m.PlanRequired || m.Mode != "plan" || m.Spec != nil {
		t.Errorf("%+v", m)
	}
	for line, want := range map[string]string{
		"{name: ed, agent: mcp, backend: process}":     "members[0].backend: nothing is started",
		"{name: ed, agent: mcp, restart: never}":       "members[0].restart: nothing is started",
		"{name: ed, agent: mcp, command: [x]}":         "command is for agent exec",
		"{name: ed, agent: exec, backend: mcp}":        `backend "mcp" is not one of`,
		"{name: ed, agent: MCP}":                       `agent "MCP" is not one of`,
		"{name: ed, agent: mcp, steps: [{wait: 1s}]}":  "steps are for agent script",
		"{name: ed, agent: mcp, on_mail: [{say: hi}]}": "on_mail is for agent script",
	} {
		if _, err := teamfile.ParseFile("/proj/waggle.yaml", []byte("team: api\nmembers:\n  - "+line+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
