package record_test

import (
	"testing"

	"waggle/record"
)

// TestSandboxAsked: a member that requires its sandbox is enforced, and one with auto or off is
// trusted to cooperate; nothing is confined with off, or without a sandbox.
func TestSandboxAsked(t *testing.T) {
	for _, c := range []struct {
		s     *record.Sandbox
		trust record.Level
		asked bool
	}{
		{nil, record.Cooperative, false},
		{&record.Sandbox{Mode: record.SandboxOff}, record.Cooperative, false},
		{&record.Sandbox{Mode: record.SandboxAuto}, record.Cooperative, true},
		{&record.Sandbox{Mode: record.SandboxRequired}, record.Enforced, true},
	} {
		if trust, asked := c.s.Trust(), c.s.Asked(); trust != c.trust || asked != c.asked {
			t.Errorf("%+v: %s, asked %v", c.s, trust, asked)
		}
	}
}

// TestHeldLevels: a start that found no sandbox has the level off, and the network is held only
// where all of the sandbox holds.
func TestHeldLevels(t *testing.T) {
	var none *record.Held
	if record.LevelOf(nil) != record.HeldOff || record.LevelOf(&record.Ready{}) != record.HeldOff || none.Enforces() {
		t.Error("nothing was found, and something holds")
	}
	for level, network := range map[record.HeldLevel]bool{record.HeldOff: false, record.HeldFilesOnly: false, record.HeldEnforced: true} {
		h := &record.Held{Level: level}
		if got := record.LevelOf(&record.Ready{Sandbox: h}); got != level || h.Enforces() != network {
			t.Errorf("%s: %s, the network %v", level, got, h.Enforces())
		}
	}
}

// TestShellOnly: the level of a start whose program runs outside of the sandbox says so (shell
// only); the network of its commands is held where the level is enforced.
func TestShellOnly(t *testing.T) {
	for level, want := range map[record.HeldLevel]record.HeldLevel{record.HeldOff: "off", record.HeldFilesOnly: "files only (shell only)", record.HeldEnforced: "enforced (shell only)"} {
		h := &record.Held{Level: level, Shell: true}
		if got := record.LevelOf(&record.Ready{Sandbox: h}); got != want || got.Enforces() != (level == record.HeldEnforced) || h.Enforces() != got.Enforces() {
			t.Errorf("%s is %q, the network %v", level, got, got.Enforces())
		}
	}
}

// TestWeakest: a team is held as well as its least held member; a level that is not known holds
// nothing.
func TestWeakest(t *testing.T) {
	const off, files, all = record.HeldOff, record.HeldFilesOnly, record.HeldEnforced
	shell := (&record.Held{Level: all, Shell: true}).Word()
	for _, c := range []struct {
		levels []record.HeldLevel
		want   record.HeldLevel
	}{
		{nil, off}, {[]record.HeldLevel{off}, off}, {[]record.HeldLevel{files}, files}, {[]record.HeldLevel{all}, all},
		{[]record.HeldLevel{all, files}, files}, {[]record.HeldLevel{files, all}, files}, {[]record.HeldLevel{all, off, files}, off},
		{[]record.HeldLevel{all, "of a later program"}, off},
		{[]record.HeldLevel{all, shell}, shell}, {[]record.HeldLevel{shell, files}, files}, {[]record.HeldLevel{shell}, shell},
	} {
		if got := record.Weakest(c.levels...); got != c.want {
			t.Errorf("%q: %s, want %s", c.levels, got, c.want)
		}
	}
}
