package view_test

import (
	"testing"
	"time"

	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
	"waggle/team"
)

func TestTeam(t *testing.T) {
	made := view.CreatedDocument{Path: "/t/api", Team: "api"}
	m := team.Member{Name: "ann", AgentID: "ann@api", Color: "blue"}
	deleted := &teams.Deleted{Team: "api", State: "deleted", Ended: []inspect.Running{{Name: "ann", PID: 17}}, Archive: "/a", Tasks: "kept"}
	golden(t, "team_created", made)
	golden(t, "team_registered", view.RegisteredDocument{AgentID: string(m.AgentID), Archived: "/old", Color: m.Color, Member: string(m.Name)})
	golden(t, "team_unregistered", view.UnregisteredDocument{Member: "ann", State: "removed"})
	golden(t, "team_deleted", deleted)
	golden(t, "team_deleted_empty", &teams.Deleted{})
	p := append(view.CreatedPage(made), view.RegisteredPage(m)...)
	samePage(t, "team", append(append(p, view.UnregisteredPage("ann", "api")...), view.DeletedPage(deleted)...))
}

func TestBackup(t *testing.T) {
	made := view.BackupDocument{Files: 1, Bytes: 5, Skipped: []team.Skipped{{Path: "x", Why: "is a pipe"}}, Path: "/f", Team: "api"}
	golden(t, "backup", made)
	golden(t, "backup_empty", view.BackupDocument{Path: "/f", Team: "api"})
	samePage(t, "backup", append(view.SkippedPage(made.Skipped), view.BackupPage(made)...))
	rs := &teams.Restored{Team: "copy", From: "api", Files: 2, Authority: teams.AuthorityNew, History: "/h", Replaced: "/r",
		Ended: []inspect.Running{{Name: "ann", PID: 17}}, Skipped: made.Skipped}
	kept := &teams.Restored{Team: "api", From: "api", Verified: true, Authority: teams.AuthorityKept}
	golden(t, "restored", rs)
	golden(t, "restored_empty", &teams.Restored{})
	plan := &teams.RestorePlan{Team: "copy", From: "api", Files: 2, Authority: teams.AuthorityNew, Replaces: true, Running: rs.Ended, Skipped: made.Skipped}
	golden(t, "restore_plan", plan)
	golden(t, "restore_plan_empty", &teams.RestorePlan{})
	samePage(t, "restore_plan", append(view.RestorePlanPage(plan), view.RestorePlanPage(&teams.RestorePlan{Team: "api", From: "api", Verified: true, Authority: teams.AuthorityKept})...))
	p := append(view.RestoredPage(rs), view.RestoredNotes(rs)...)
	p = append(append(p, view.RestoredPage(kept)...), view.RestoredNotes(kept)...)
	samePage(t, "restored", append(p, view.RestoredNotes(&teams.Restored{Verified: true, Authority: teams.AuthorityNone})...))
}

func TestAdopted(t *testing.T) {
	a := &teams.Adopted{Team: "api", Name: "ann", Instance: "i-1", PID: 17, Start: "99", Session: "s", Above: true, Trust: record.FileTrust,
		Controls: []teams.Control{{What: "watch", Can: true, How: operator.Sentence{Text: "by its process", Do: operator.Next{Step: operator.NextAdoptedStatus}}}, {What: "gate", How: operator.Sentence{Text: "it is not ours"}}}}
	golden(t, "adopted", a)
	golden(t, "adopted_empty", &teams.Adopted{})
	samePage(t, "adopted", append(view.AdoptedPage(a, spell), view.AdoptedNotes(a)...))
	if p := view.AdoptedNotes(&teams.Adopted{}); len(p) != 0 {
		t.Error(p)
	}
}

func TestMigrated(t *testing.T) {
	m := &teams.Migrated{Team: "api", Layout: "jsonl", Changed: true, Members: []protocol.MemberName{"ann", "bob"}, Notes: []string{"one"}}
	golden(t, "migrated", m)
	golden(t, "migrated_empty", &teams.Migrated{Layout: "array"})
	samePage(t, "migrated", append(view.MigratedPage(m), view.MigratedPage(&teams.Migrated{Team: "api", Layout: "array"})...))
	s := &teams.MigratedSchema{Team: "api", Migration: team.Migration{From: "1.0", To: "1.1", Steps: []team.StepDone{{Number: 2, Version: "1.1", What: "names", Changes: []string{"a"}}}}}
	dry, same := *s, &teams.MigratedSchema{Team: "api", Migration: team.Migration{To: "1.1"}}
	dry.DryRun = true
	golden(t, "migrated_schema", s)
	samePage(t, "migrated_schema", append(append(view.MigratedSchemaPage(s), view.MigratedSchemaPage(&dry)...), view.MigratedSchemaPage(same)...))
}

func TestProblems(t *testing.T) {
	ps := []teams.Problem{{Path: "config.json", Pointer: "/name", Message: "is missing"}, {Path: "x", Message: "is no JSON"}}
	golden(t, "problems", map[string]any{"problems": ps})
	golden(t, "problems_empty", map[string]any{"problems": []teams.Problem(nil)})
	samePage(t, "problems", append(view.ProblemsPage(ps, "api"), view.ProblemsPage(nil, "api")...))
}

func TestToken(t *testing.T) {
	m := teams.Minted{Team: "api", Member: "ann", Token: "api:secret", Expires: at(1)}
	golden(t, "token", m)
	samePage(t, "token", view.TokenPage(m))
}

func TestExport(t *testing.T) {
	e := &teams.TeamExport{Team: "api", Created: protocol.FormatTime(at(0)), ActiveMembers: []protocol.MemberName{"ann"}, TotalMembers: 2, Description: "builds", Dialect: "session", Layout: "array", SchemaVersion: "1.1",
		Members:   []teams.TeamMember{{Name: "ann", AgentID: "ann@api", Type: "t", Model: "m", Color: "blue", Backend: "process", Cwd: "/w", Prompt: "be\nkind", Joined: at(1), Files: []string{"a.txt"}}, {Name: "bob", Left: at(2)}},
		Mailboxes: []teams.TeamMailbox{{Member: "ann", Entries: []mail.InboxEntry{entry()}}, {Member: "bob"}},
		Tasks:     []teams.TeamTask{{ID: "1", Subject: "build", Owner: "ann", Status: task.Completed}, {ID: "2", Subject: "test", Status: task.Pending, BlockedBy: []task.ID{"1"}, Blocked: true}},
		Problems:  []string{"x"}}
	golden(t, "export", e)
	golden(t, "export_empty", &teams.TeamExport{Created: protocol.FormatTime(time.Time{})})
	golden(t, "export_state", view.ExportStateDocument{ActiveMembers: e.ActiveMembers, Created: e.Created, Team: e.Team, TotalMembers: e.TotalMembers})
	same(t, "export.md", view.ExportMarkdown(e))
	same(t, "export_empty.md", view.ExportMarkdown(&teams.TeamExport{Team: "api", Created: protocol.FormatTime(time.Time{})}))
}
