package tui_test

import (
	"strings"
	"testing"

	"waggle/internal/tui"
	"waggle/policy"
)

// The keys of a person replace the default ones, and every hint shows them.
func TestOwnKeys(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		if err := p.Keyed(map[string][]string{"allow": {"o"}, "deny": {"y", "f2"}}); err != nil {
			t.Fatal(err)
		}
		p.Ask(request(1, "alice", "ls", policy.RiskLow))
		p.Wait(second)
		if s := p.Text(); !strings.Contains(s, "o allow once  y deny") {
			t.Error(s)
		}
		p.Keys("a")
		p.Wait(second)
		p.Keys("?")
		if s := p.Text(); !strings.Contains(s, "y f2              deny it") {
			t.Error(s)
		}
		p.Keys("esc")
		p.Wait(second)
		p.Keys("o")
		p.Wait(second)
		if a := sole(t, d); a.Verb != tui.Allow {
			t.Errorf("%+v", a)
		}
	})
}

func TestKeyMapRefuses(t *testing.T) {
	for want, bad := range map[string]map[string][]string{
		"there is no command alow":          {"alow": {"o"}},
		"o is the key of allow and of deny": {"allow": {"o"}, "deny": {"o"}},
		"digits jump":                       {"allow": {"1"}},
		"no key is left for quit":           {"quit": {}},
		"no key is left for back":           {"allow": {"esc"}},
	} {
		if _, err := tui.KeyMap(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
