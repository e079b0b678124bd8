package tui_test

import (
	"errors"
	"strings"
	"testing"

	"waggle/internal/face/tui"
	"waggle/internal/test/testenv"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/policy"
	"waggle/record"
)

// The keys of a person replace the default ones, and every hint shows them.
func TestOwnKeys(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		testenv.Must(t, p.Keyed(map[string][]string{"allow": {"o"}, "deny": {"y", "f2"}}))
		p.Stand(request(1, "alice", "ls", policy.RiskLow))
		shows(t, p, "o allow once  y deny")
		p.Press("a")
		p.Keys("?")
		shows(t, p, "y f2              deny it")
		p.Press("esc")
		p.Press("o")
		if a := sole(t, d); a.Verb != tui.Allow {
			t.Errorf("%+v", a)
		}
	})
}

func TestKeyMapRefuses(t *testing.T) {
	for want, bad := range map[string]map[string][]string{
		"there is no command alow":           {"alow": {"o"}},
		"o is the key of allow and of deny":  {"allow": {"o"}, "deny": {"o"}},
		"digits jump":                        {"allow": {"1"}},
		"no key is left for quit":            {"quit": {}},
		"no key is left for back":            {"allow": {"esc"}},
		"there is no key \"Enter\"":          {"allow": {"Enter"}},
		"there is no key \"ctl+n\"":          {"new": {"ctl+n"}},
		"there is no key \"shift+a\"":        {"new": {"shift+a"}},
		"there is no key \" \"":              {"new": {" "}},
		"a of allow and A of message differ": {"message": {"A"}},
		"D of deny and d of view differ":     {"deny": {"D"}, "view": {"d"}},
	} {
		if _, err := tui.KeyMap(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if _, err := tui.KeyMap(map[string][]string{"allow": {"a", "A", "ö", "f12", "ctrl+alt+y", "shift+tab", "alt+enter"}, "send": {"M"}, "new": nil}); err != nil {
		t.Error(err)
	}
}

// Tab goes to the next row that needs the person, and to none else.
func TestNextThatNeedsMe(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		due := member("fay", inspect.StateIdle, "")
		due.Refused = &process.RefusedMerge{Why: "the check failed"}
		p.Man(tui.Crew{Members: []tui.Member{member("erin", inspect.StateWorking, ""), due}})
		p.Ask(request(1, "alice", "ls", policy.RiskLow), request(2, "bob", "make", policy.RiskLow))
		for _, want := range []string{"K001", "K002", "fay", "K001"} {
			if p.On() != want {
				t.Fatalf("on %s, want %s\n%s", p.On(), want, p.Text())
			}
			p.Keys("tab")
		}
		p.Ask(request(1, "alice", "ls", policy.RiskLow))
		p.Man(tui.Crew{Members: []tui.Member{member("erin", inspect.StateWorking, "")}})
		p.Keys("home", "tab")
		if on := p.On(); on != "K001" || !strings.Contains(p.Text(), "nothing else needs you") {
			t.Errorf("on %s\n%s", on, p.Text())
		}
	})
}

// The arrows show each tab in turn, both ways; a row without a request has no tab Ask. v goes to what is whole, and back.
func TestTabsAndWhole(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Man(tui.Crew{Members: []tui.Member{member("erin", inspect.StateWorking, "")}})
		p.Stand(request(1, "alice", "ls", policy.RiskLow))
		shows := func(name string) {
			t.Helper()
			if !strings.Contains(p.Text(), "["+name+"]") {
				t.Errorf("not on %s:\n%s", name, p.Text())
			}
		}
		for _, tab := range []string{"Output", "Diff", "Log", "Why", "Tasks", "Today", "Ask"} {
			p.Keys("right")
			shows(tab)
		}
		for _, tab := range []string{"Today", "Tasks"} {
			p.Keys("left")
			shows(tab)
		}
		p.Keys("esc")
		shows("Ask")
		p.Keys("v")
		if strings.Contains(p.Text(), "Needs you (1)") {
			t.Errorf("the list is there:\n%s", p.Text())
		}
		p.Keys("v", "end")
		shows("Output")
		p.Keys("left")
		shows("Today")
		p.Keys("right")
		shows("Output")
		p.Keys("v")
		shows("Diff")
		p.Keys("v")
		shows("Output")
		p.Keys("w")
		shows("Why")
	})
}

// No key is one of a decision but for Shift, whatever it does.
func TestNoKeyByShift(t *testing.T) {
	keys, err := tui.KeyMap(nil)
	testenv.Must(t, err)
	for k := range keys {
		if low := strings.ToLower(k); low != k && k != "S" {
			if _, taken := keys[low]; taken {
				t.Errorf("%s and %s", k, low)
			}
		}
	}
	for _, k := range []string{"A", "D", "R", "B", "E", "G", "T", "y", "x"} {
		play(t, func(t *testing.T, p *tui.Player, d *desk) {
			p.Stand(request(1, "alice", "ls", policy.RiskLow), request(2, "bob", "ls", policy.RiskLow))
			before := strings.Split(p.Text(), "\n")[1]
			p.Press(k)
			if len(d.acts) > 0 || p.Answers() || strings.Split(p.Text(), "\n")[1] != before || !strings.Contains(p.Text(), k+" has no meaning here") {
				t.Errorf("%s: %+v\n%s", k, d.acts, p.Text())
			}
		})
	}
}

// A click on the line at the bottom begins a task, and what the keys do is said beside it.
func TestTaskLine(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		if s := p.Text(); !strings.Contains(s, "> n: a task for a new member") {
			t.Fatal(s)
		}
		p.Click(10, 22)
		p.Type("fix it")
		if s := p.Text(); !strings.Contains(s, "> new task, of a new member: fix it_") || !strings.Contains(s, "Enter starts it") {
			t.Fatal(s)
		}
		p.Press("enter")
		if a := sole(t, d); a.Verb != tui.NewMember || a.Text != "fix it" {
			t.Errorf("%+v", a)
		}
	})
}

// t gives the terminal to the client of a member's session; one without a session is not taken.
func TestTakesASession(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		erin, fay := member("erin", inspect.StateWorking, ""), member("fay", inspect.StateIdle, "")
		erin.Conversation = &record.Conversation{}
		p.Man(tui.Crew{Members: []tui.Member{erin, fay}})
		p.Press("home", "t")
		if s := p.Text(); strings.Join(p.Taken, " ") != "api/erin" || !strings.Contains(s, "erin goes on by itself") {
			t.Errorf("%q\n%s", p.Taken, s)
		}
		p.Failed = errors.New("exit status 6")
		p.Press("t")
		shows(t, p, "erin was not taken, or its client failed: exit status 6")
		p.Press("end", "t")
		if s := p.Text(); len(p.Taken) != 2 || !strings.Contains(s, "fay has no session") {
			t.Errorf("%q\n%s", p.Taken, s)
		}
	})
}

// Where nothing is selected no tab is marked, but those that need no row: the keys of the others say so.
func TestTabsWithoutRows(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, _ *desk) {
		p.Ask()
		p.Man(tui.Crew{})
		p.Wait(second)
		for key, want := range map[string]string{"w": "nothing is selected", "v": "nothing is selected"} {
			if p.Keys(key); !strings.Contains(p.Text(), want) {
				t.Errorf("%s: %s", key, p.Text())
			}
			p.Wait(second)
		}
		for _, want := range []string{"", "[Tasks]", "[Today]", "", "[Tasks]"} {
			if s := p.Text(); want == "" && (strings.Contains(s, "[") || !strings.Contains(s, "Nothing waits for you")) || !strings.Contains(s, want) {
				t.Errorf("want %q:\n%s", want, s)
			}
			p.Press("right")
		}
		p.Keys("left", "left")
		p.Man(tui.Crew{Members: []tui.Member{member("erin", inspect.StateWorking, "")}})
		if p.Wait(second); !strings.Contains(p.Text(), "[Output]") {
			t.Error(p.Text())
		}
	})
}

// What just happened is told in two lines where one has no room for it, and the line that is typed stays.
func TestFlashInTwoLines(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		d.err = errors.New("no coding agent is installed (" + strings.Repeat("long ", 14) + "waggle new exec CMD starts a command)")
		p.Man(tui.Crew{Members: []tui.Member{member("erin", inspect.StateIdle, "")}})
		p.Keys("n")
		p.Type("fix it")
		p.Press("enter")
		lines := strings.Split(p.Text(), "\n")
		last := lines[len(lines)-2:]
		if !strings.HasPrefix(last[0], "no coding agent") || !strings.Contains(last[1], "starts a command)") || len(lines) != 24 {
			t.Errorf("%q", last)
		}
		p.Press("m")
		shows(t, p, "> message to erin: _", "Enter sends it")
	})
}

// While a request is not what the right side shows, the bar names the key that goes back to it.
func TestHintGoesBack(t *testing.T) {
	play(t, func(t *testing.T, p *tui.Player, d *desk) {
		p.Man(tui.Crew{Members: []tui.Member{member("alice", inspect.StateHuman, "")}})
		p.Stand(request(1, "alice", "ls", policy.RiskLow))
		p.Press("w")
		shows(t, p, "esc the request")
		p.Press("esc")
		shows(t, p, "[Ask]")
		hides(t, p, "esc the request")
	})
}
