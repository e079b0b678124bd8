package tui_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"waggle/internal/face/ask"
	"waggle/internal/face/tui"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/operator/fresh"
	"waggle/operator/teamfile"
	"waggle/policy"
)

// foundSetup is a team file that was found, with a setup.
func foundSetup(t testing.TB, runs string) *fresh.Found {
	t.Helper()
	f, err := teamfile.ParseFile("/src/waggle.yaml", []byte(fmt.Sprintf("team: api\ncheck: make test\nworktree: {link: [.cache], setup: [%q]}\nmembers: []\n", runs)))
	testenv.Must(t, err)
	return &fresh.Found{File: f, Included: []string{".env"}}
}

// begins types a task for a new member.
func begins(p *tui.Player, task string) {
	p.Keys("n")
	p.Type(task)
	p.Keys("enter")
	p.Wait(2 * ask.Repeat)
}

// A setup that was only found is shown whole, and y starts the member with exactly what was shown.
func TestSetupAccepted(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Ask(request(1, "alice", "ls", policy.RiskLow))
		d.found = foundSetup(t, "npm ci")
		begins(p, "fix it")
		shows(t, p, "new task: fix it", "/src/waggle.yaml", "| npm ci", "copied         .env", "linked         .cache", "check before", "| make test", "a start with it  d start without it  esc start nothing")
		p.Press("a")
		p.Press("a", "a")
		p.Keys("1", "j", "?")
		p.Click(3, 2)
		p.Wheel(3, 2)
		p.Wait(second)
		if len(d.acts) != 0 {
			t.Fatalf("a key that was early or not alone: %+v", d.acts)
		}
		p.Press("a")
		a := sole(t, d)
		if a.Verb != tui.NewMember || a.Text != "fix it" || a.NoSetup || a.Setup == nil || a.Setup.File.SHA256 != d.found.File.SHA256 {
			t.Errorf("%+v", a)
		}
		shows(t, p, "K001  low risk")
		hides(t, p, "npm ci")
	})
}

// x starts the member without the setup; n and esc start nothing.
func TestSetupDeclined(t *testing.T) {
	for _, key := range []string{"d", "esc"} {
		play(t, func(t *testing.T, p *tui.Player, d *desk) {
			d.found = foundSetup(t, "npm ci")
			begins(p, "fix it")
			p.Wait(second)
			p.Press(key)
			if key != "d" {
				if len(d.acts) != 0 {
					t.Errorf("%s: %+v", key, d.acts)
				}
				shows(t, p, "nothing was started: fix it")
				return
			}
			if a := sole(t, d); a.Verb != tui.NewMember || a.Text != "fix it" || !a.NoSetup || a.Setup != nil {
				t.Errorf("%+v", a)
			}
		})
	}
}

// A file that has changed since it was shown is shown again.
func TestSetupChanged(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		d.found = foundSetup(t, "npm ci")
		begins(p, "fix it")
		p.Wait(second)
		d.found = foundSetup(t, "npm install")
		p.Press("a")
		none(t, d)
		shows(t, p, "npm install")
		p.Wait(second)
		p.Press("a")
		if a := sole(t, d); a.Setup.File.SHA256 != d.found.File.SHA256 {
			t.Errorf("%+v", a)
		}
	})
}

// A setup that is longer than the screen is read page by page before it can be accepted.
func TestSetupLong(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		d.found = foundSetup(t, strings.Repeat("make it ", 200))
		begins(p, "fix it")
		p.Wait(second)
		p.Press("a")
		shows(t, p, "more lines to read")
		none(t, d)
		for range 20 {
			p.Press("space")
		}
		p.Press("a")
		sole(t, d)
	})
}

// A setup waits for a line that is typed, and for the setup before it.
func TestSetupWaits(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		one, two := make(chan struct{}), make(chan struct{})
		d.found, d.until = foundSetup(t, "npm ci"), one
		begins(p, "one")
		d.mu.Lock()
		d.until = two
		d.mu.Unlock()
		begins(p, "two")
		p.Keys("n")
		p.Type("three")
		close(one)
		p.Wait(second)
		close(two)
		p.Wait(second)
		p.Type(" more")
		p.Press("esc")
		shows(t, p, "new task: one")
		p.Press("d")
		shows(t, p, "new task: two")
		p.Press("esc")
		if a := sole(t, d); a.Text != "one" {
			t.Errorf("%+v", a)
		}
	})
}

// proposed is a proposal of a new member.
func proposed(n int, task string) decide.Request {
	q := request(n, "ann", "", policy.RiskMedium)
	q.Team, q.Kind, q.Tool, q.Command, q.Suggest = decide.SessionTeam, decide.KindProposal, "new", "", nil
	q.Input = json.RawMessage(fmt.Sprintf(`{"task":%q}`, task))
	return q
}

// TestProposal: a starts exactly the proposal that stood on the screen, once; its setup is asked about first, and it is
// neither edited nor in a batch. d refuses it.
func TestProposal(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		q := proposed(1, "fix the login")
		p.Stand(q, proposed(2, "another"))
		shows(t, p, "| fix the login", "a start it  d deny")
		for _, k := range []string{"e", "r", "b"} {
			p.Press(k)
		}
		d.found = foundSetup(t, "npm ci")
		p.Press("a")
		shows(t, p, "new task: fix the login", "| npm ci")
		p.Press("esc")
		if shows(t, p, "nothing was started: fix the login", "2 need you"); len(d.acts) != 0 {
			t.Fatalf("%+v", d.acts)
		}
		p.Press("up")
		p.Keys("a")
		p.Wait(2 * second)
		p.Press("a")
		if a := sole(t, d); a.Verb != tui.Allow || len(a.Requests) != 1 || a.Requests[0].Digest != q.Digest || a.Setup == nil || a.NoSetup {
			t.Errorf("%+v", a)
		}
		shows(t, p, "1 need you")
		d.acts = nil
		p.Wait(second)
		p.Keys("d")
		p.Type("not now")
		p.Press("enter")
		if a := sole(t, d); a.Verb != tui.Deny || a.Reason != "not now" || a.Requests[0].Handle != "K002" {
			t.Errorf("%+v", a)
		}
	})
}
