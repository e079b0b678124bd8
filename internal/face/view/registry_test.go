package view_test

import (
	"testing"

	"waggle/internal/face/view"
	"waggle/internal/test/testenv"
	"waggle/operator/inspect"
	"waggle/team"
)

func TestTeams(t *testing.T) {
	golden(t, "teams", map[string]any{"teams": []inspect.TeamRow{{Name: "api", Dialect: "named", Layout: "array", Members: 2, Live: 1}, {Name: "zero", Dialect: "unreadable", Layout: "array"}}})
	golden(t, "teams_empty", map[string]any{"teams": []inspect.TeamRow(nil)})
}

func TestRegistry(t *testing.T) {
	cfg, _, err := team.ParseConfig([]byte(`{"name":"api","theirs":{"a":1},"live":"theirs","createdAt":1700000000000,"leadAgentId":"team-lead@api","members":[{"agentId":"team-lead@api","name":"team-lead","joinedAt":1700000000000}]}`))
	testenv.Must(t, err)
	doc, err := view.Registry(&inspect.TeamView{Team: "api", Config: cfg, Layout: "array", Live: []inspect.Running{{Name: "team-lead", PID: 7}}, Ours: true, Sockets: map[string]string{"ann": "uds:/s"}})
	testenv.Must(t, err)
	golden(t, "registry", doc)
}
