package leader

import (
	"cmp"
	"time"

	"waggle/control"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// Entry is a member's entry of the registry (config.json), built from the journal.
func Entry(name protocol.TeamName, m *control.Member) team.Member {
	backend := m.Backend
	if backend == "tmux-window" {
		backend = "tmux" // the name that other programs know
	}
	e := team.Member{AgentID: protocol.NewAgentID(m.Name, name), Name: m.Name, AgentType: "general-purpose", Model: cmp.Or(m.Model, "none"),
		Color: m.Color, PlanModeRequired: m.PlanRequired, JoinedAt: m.JoinedAt, Cwd: m.Cwd, Subscriptions: []string{}, BackendType: backend,
		IsActive: new(true), SpawnedAt: m.JoinedAt}
	if m.Worktree != nil {
		e.WorktreePath = m.Worktree.Path
	}
	return e
}

// Book is the phone book of a team of which only the records are left.
func Book(name protocol.TeamName, uid record.TeamUID, members []*control.Member, now time.Time) *team.Config {
	for _, m := range members {
		if m.JoinedAt.Before(now) {
			now = m.JoinedAt
		}
	}
	cfg := &team.Config{Name: name, Description: team.DescriptionOf(name), CreatedAt: now, SchemaVersion: team.SchemaVersion,
		LeadAgentID: protocol.NewAgentID(protocol.Lead, name), LeadSessionID: session(uid),
		Members: []team.Member{{AgentID: protocol.NewAgentID(protocol.Lead, name), Name: protocol.Lead, AgentType: string(protocol.Lead), Model: "none",
			JoinedAt: now, TmuxPaneID: "leader", Subscriptions: []string{}, BackendType: "in-process", IsActive: new(true), SpawnedAt: now}}}
	for _, m := range members {
		if m.Leads() {
			continue // the lead is there
		}
		cfg.Members = append(cfg.Members, Entry(name, m))
	}
	return cfg
}

// session is a team's uid in the form of a session id, as the registry has it.
func session(uid record.TeamUID) string {
	if len(uid) != 32 {
		return ""
	}
	return string(uid[:8] + "-" + uid[8:12] + "-" + uid[12:16] + "-" + uid[16:20] + "-" + uid[20:])
}
