package view_test

import (
	"testing"

	"waggle/internal/face/view"
	"waggle/operator/supervise"
	"waggle/record"
)

func TestResume(t *testing.T) {
	p := &supervise.ResumePlan{Team: "api", Led: true, PID: 7, File: "/w/api.yaml", Changed: true, Tasks: 2, Undelivered: 3, Pending: []string{"perm-1"},
		Members: []supervise.ResumeMember{{Name: "ann", Action: supervise.ResumeStart, Session: "0123456789ab", PID: 9, Why: "process 9 is gone"}, {Name: "bob", Action: supervise.ResumeTake}},
		Unknown: []string{"ann perm-2: Bash make"}, Leftover: []string{"ann: pid 11 (sleep 9)"}}
	golden(t, "resume", p)
	golden(t, "resume_empty", &supervise.ResumePlan{})
	samePage(t, "resume", view.ResumePage(p))
	samePage(t, "resume_empty", view.ResumePage(&supervise.ResumePlan{Team: "api"}))
}

func TestSpawned(t *testing.T) {
	golden(t, "spawned", &supervise.Spawned{Team: "api", Name: "ann", Session: "0123", PID: 7, Backend: "process", Task: "1", Ready: &record.Ready{Epoch: 1, Agent: "exec"}})
	golden(t, "spawned_empty", &supervise.Spawned{})
}
