package protocol_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"waggle/protocol"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, tc := range []struct {
		name                string
		team, member, fresh bool // who accepts it
		why                 string
	}{
		{"w1", true, true, true, ""},
		{"kv-review-2", true, true, true, ""},
		{"A_b-9", true, true, true, ""},
		{"7up", true, true, true, ""},
		{long, true, true, true, ""},
		{long + "a", false, false, false, "longer than 64 bytes"},
		{"", false, false, false, "empty"},
		{"-a", false, false, false, "begin with"},
		{"_a", false, false, false, "begin with"},
		{".", false, false, false, "may hold only"},
		{"..", false, false, false, "may hold only"},
		{"../a", false, false, false, "may hold only"},
		{"a/b", false, false, false, "may hold only"},
		{`a\b`, false, false, false, "may hold only"},
		{"a.json", false, false, false, "may hold only"},
		{"a b", false, false, false, "may hold only"},
		{"a@b", false, false, false, "may hold only"},
		{"a\x00", false, false, false, "may hold only"},
		{"müller", false, false, false, "may hold only"},
		{"a\u202eb", false, false, false, "may hold only"},
		{"CON", false, false, false, "device"},
		{"nul", false, false, false, "device"},
		{"Com1", false, false, false, "device"},
		{"lpt9", false, false, false, "device"},
		{"com10", true, true, true, ""},
		{"console", true, true, true, ""},
		{"12", true, false, false, "digits only"},
		{"main", true, false, false, "reserved"},
		{"lead", true, false, false, "reserved"},
		{"system", true, false, false, "reserved"},
		{"User", true, false, false, "reserved"},
		{"operator", true, false, false, "reserved"},
		{"team-lead", true, true, false, "lead's name"},
		{"Team-Lead", true, false, false, "only in case"},
	} {
		check := func(what string, err error, ok bool) {
			var name *protocol.NameError
			switch {
			case ok && err != nil:
				t.Errorf("%s %q: %v", what, tc.name, err)
			case !ok && !errors.As(err, &name):
				t.Errorf("%s %q: error %v", what, tc.name, err)
			case !ok && !strings.Contains(err.Error(), tc.why):
				t.Errorf("%s %q: %v, want %q", what, tc.name, err, tc.why)
			}
		}
		team, err := protocol.ParseTeam(tc.name)
		check("team", err, tc.team)
		member, err := protocol.ParseMember(tc.name)
		check("member", err, tc.member)
		fresh, err := protocol.ParseNewMember(tc.name)
		check("new member", err, tc.fresh)
		for _, got := range []string{string(team), string(member), string(fresh)} {
			if got != "" && got != tc.name {
				t.Errorf("%q became %q", tc.name, got)
			}
		}
	}
}

func TestNameErrorIsSafe(t *testing.T) {
	_, err := protocol.ParseMember("a\x1b[2J\n\u202e" + strings.Repeat("x", 1000))
	if s := err.Error(); len(s) > 200 || strings.ContainsFunc(s, unicode.IsControl) || strings.Contains(s, "\u202e") {
		t.Errorf("%q", s)
	}
}

func TestAgentID(t *testing.T) {
	m, team, err := protocol.AgentID("w1@ours").Parse()
	if m != "w1" || team != "ours" || err != nil {
		t.Error(m, team, err)
	}
	if id := protocol.NewAgentID("w1", "ours"); id != "w1@ours" {
		t.Error(id)
	}
	for _, id := range []protocol.AgentID{"", "w1", "@ours", "w1@", "w1@a@b", "12@ours", "a/b@ours"} {
		if _, _, err := id.Parse(); err == nil {
			t.Errorf("%q parses", id)
		}
	}
}

func TestUnique(t *testing.T) {
	long := protocol.MemberName(strings.Repeat("a", 64))
	for _, tc := range []struct {
		name  protocol.MemberName
		taken []protocol.MemberName
		want  protocol.MemberName
	}{
		{"w", nil, "w"},
		{"w", []protocol.MemberName{"v"}, "w"},
		{"w", []protocol.MemberName{"W"}, "w-2"},
		{"w", []protocol.MemberName{"w", "W-2", "w-4"}, "w-3"},
		{"w-2", []protocol.MemberName{"w-2"}, "w-2-2"},
		{long, []protocol.MemberName{long}, long[:62] + "-2"},
	} {
		if got := protocol.Unique(tc.name, tc.taken); got != tc.want {
			t.Errorf("Unique(%s, %v) = %s, want %s", tc.name, tc.taken, got, tc.want)
		}
	}
	var taken []protocol.MemberName
	for range 120 {
		name := protocol.Unique(long, taken)
		if _, err := protocol.ParseMember(string(name)); err != nil {
			t.Fatal(err)
		}
		taken = append(taken, name)
	}
}

var grammar = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// TestNameGrammar: nothing outside the grammar is a name, and a unique name is
// one too.
func TestNameGrammar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Za-z0-9._/-]{0,70}`)).Draw(t, "name")
		name, err := protocol.ParseMember(s)
		if err == nil && !grammar.MatchString(s) {
			t.Fatalf("%q is accepted", s)
		}
		if err != nil {
			return
		}
		taken := rapid.SliceOf(rapid.Just(name)).Draw(t, "taken")
		if _, err := protocol.ParseMember(string(protocol.Unique(name, taken))); err != nil {
			t.Fatal(err)
		}
	})
}
