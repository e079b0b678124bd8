package team_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"waggle/protocol"
	"waggle/team"
)

// TestNewerIsReadOnly: a registry of a newer version is read, and no writer changes it.
func TestNewerIsReadOnly(t *testing.T) {
	t.Parallel()
	r, tm := newTeam(t)
	if _, _, err := tm.Add(t.Context(), team.Member{Name: "ann"}, false); err != nil {
		t.Fatal(err)
	}
	must(t, tm.Update(t.Context(), func(c *team.Config) error { c.SchemaVersion = "99.0.0"; return nil }))
	path := r.ConfigPath("api")
	before, err := os.ReadFile(path)
	must(t, err)
	if tm, err = team.Open(r, "api", team.Options{}); err != nil {
		t.Fatal(err)
	}
	writers := map[string]func() error{
		"add":     func() error { _, _, err := tm.Add(t.Context(), team.Member{Name: "bob"}, true); return err },
		"remove":  func() error { return tm.Remove(t.Context(), "ann", time.Unix(1, 0)) },
		"move":    func() error { return tm.Move(t.Context(), "ann", "/elsewhere", "") },
		"place":   func() error { return tm.Place(t.Context(), "ann", "tmux", "%1") },
		"migrate": func() error { _, err := tm.Migrate(t.Context(), false); return err },
		"update": func() error {
			return tm.Update(t.Context(), func(c *team.Config) error { c.Description = "mine"; return nil })
		},
	}
	for what, write := range writers {
		if err := write(); !errors.As(err, new(*team.VersionError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("it was changed: %v\n%s", err, after)
	}
	if c, err := tm.Load(t.Context()); err != nil || c.Members[len(c.Members)-1].Name != protocol.MemberName("ann") {
		t.Errorf("it is not read: %v", err)
	}
}
