package home_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/home"
	"waggle/protocol"
	"waggle/spawn"
)

// TestRunning: the running processes of every team are listed by team, whatever its wire tree;
// processes that ended, or whose pid another process has now, are not.
func TestRunning(t *testing.T) {
	h := home.Home{Path: filepath.Join(t.TempDir(), "state")}
	if got, err := h.Running(); err != nil || len(got) > 0 {
		t.Fatalf("without a team: %v, %v", got, err)
	}
	self, err := spawn.Identify(os.Getpid())
	must(t, err)
	recycled := self
	recycled.Start += "0"
	note := func(root, team, name string, id spawn.Identity) {
		t.Helper()
		d := open(t, h, root, protocol.TeamName(team), "uid", time.Now())
		must(t, d.NoteStarted(home.Started{Team: protocol.TeamName(team), Root: root, Name: protocol.MemberName(name), ID: id}))
	}
	note("file:///b", "web", "team-lead", self)
	note("file:///a", "api", "team-lead", self)
	note("file:///a", "old", "team-lead", recycled)
	got, err := h.Running()
	if err != nil || len(got) != 2 || got[0].Team != "api" || got[1].Team != "web" || got[1].Root != "file:///b" {
		t.Errorf("%+v, %v", got, err)
	}
}
