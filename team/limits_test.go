package team_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"waggle/protocol"
	"waggle/team"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"api": "", "a-1-b": "", strings.Repeat("a", 64): "",
		"ab":                     "shorter than 3",
		"Api":                    "kebab case",
		"a_b_c":                  "kebab case",
		"a--b":                   "kebab case",
		"api-":                   "kebab case",
		"session-0123abcd":       "Claude Code",
		"../evil":                "letters a to z",
		strings.Repeat("a", 65):  "longer than 64",
		"":                       "is empty",
		"con":                    "Windows",
		"session-0123abcde-more": "",
	} {
		got, err := team.CheckName(name)
		if (err == nil) != (want == "") || err == nil && string(got) != name || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q %v", name, got, err)
		}
	}
}

func TestCheckDescription(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "one\nline\ttwo": "", strings.Repeat("é", 500): "",
		strings.Repeat("é", 501): "501 characters", "a\x1b[31m": "control", "\xff": "UTF-8",
	} {
		err := team.CheckDescription(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func TestMemberLimits(t *testing.T) {
	t.Parallel()
	r, tm := newTeam(t)
	before := read(t, r.ConfigPath("api"))
	for what, m := range map[string]team.Member{
		"colour":     {Name: "w", Color: "beige"},
		"prompt":     {Name: "w", Prompt: strings.Repeat("x", team.MaxPrompt+1)},
		"agent type": {Name: "w", AgentType: strings.Repeat("x", 129)},
		"model":      {Name: "w", Model: "a\nb"},
	} {
		_, _, err := tm.Add(t.Context(), m, false)
		if !errors.As(err, new(*team.LimitError)) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := read(t, r.ConfigPath("api")); got != before {
		t.Errorf("a refused member changed the registry: %s", got)
	}
	if got := children(t, r.InboxesDir("api")); len(got) != 1 {
		t.Errorf("a refused member left %q", got)
	}
	add(t, tm, team.Member{Name: "w", Color: "#fa0", Prompt: strings.Repeat("x", team.MaxPrompt), Model: "any-model"}, false)
}

func TestMemberCount(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	c := team.Config{Name: "api"}
	for i := range team.MaxMembers - 1 {
		c.Members = append(c.Members, team.Member{Name: protocol.MemberName(fmt.Sprintf("w%d", i))})
	}
	tm := create(t, r, c)
	_, _, err := tm.Add(t.Context(), team.Member{Name: "more"}, false)
	if !errors.As(err, new(*team.LimitError)) || !strings.Contains(err.Error(), "1000 entries") {
		t.Error(err)
	}
}

func TestSGR(t *testing.T) {
	t.Parallel()
	for color, want := range map[string]string{
		"blue": "34", "green": "32", "yellow": "33", "magenta": "35", "purple": "35", "cyan": "36", "red": "31",
		"orange": "38;5;208", "pink": "38;5;213", "#ff8000": "38;2;255;128;0", "#f80": "38;2;255;136;0",
	} {
		if got, ok := team.SGR(color); !ok || got != want {
			t.Errorf("%s: %q", color, got)
		}
	}
	for _, color := range []string{"", "Blue", "#ff80", "#gggggg", "#+12345", "31m\x1b]0;x", "system"} {
		if got, ok := team.SGR(color); ok {
			t.Errorf("%q is %q", color, got)
		}
	}
	for _, color := range append(team.Palette, team.SeedPalette...) {
		if _, ok := team.SGR(color); !ok {
			t.Errorf("%s has no code", color)
		}
	}
}

func TestColorsOfASeedTeam(t *testing.T) {
	t.Parallel()
	c := mustParse(t, []byte(`{"name":"api","description":"d","createdAt":"2026-02-16T10:30:00.000Z","members":[
		{"agentId":"a@api","name":"a","color":"blue"},{"agentId":"b@api","name":"b","color":"yellow"},{"agentId":"c@api","name":"c","color":"green"}]}`))
	if got := c.Color(); got != "magenta" {
		t.Errorf("the fourth colour of seed 002 is %s", got)
	}
	c = mustParse(t, []byte(`{"name":"api","leadAgentId":"team-lead@api","members":[
		{"agentId":"a@api","name":"a","color":"blue"},{"agentId":"b@api","name":"b","color":"magenta"},{"agentId":"c@api","name":"c","color":"green"}]}`))
	if got := c.Color(); got != "orange" {
		t.Errorf("purple looks like the magenta that is taken; got %s", got)
	}
}
