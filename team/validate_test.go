package team_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/team"
)

func TestValidateAcceptsEveryEra(t *testing.T) {
	t.Parallel()
	for name, data := range fixtures(t) {
		if got := team.Validate(data); (len(got) > 0) != (name == "odd") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	const s2 = `{"name":"my-team","description":"d","members":[M],"createdAt":"2026-02-16T10:30:00.000Z"}`
	const member = `{"agentId":"w@my-team","name":"w","model":"haiku","tmuxPaneId":"%1","isActive":true}`
	one := strings.Replace(s2, "M", member, 1)
	for _, c := range []struct {
		what, from, to string
		want           []string // pointers, with the beginning of the message
	}{
		{"as it is", "", "", nil},
		{"no object", one, "[]", []string{": byte 0: a JSON object is expected, this is array"}},
		{"no name", `"name":"my-team",`, "", []string{"/name: is missing", `/members/0/agentId: "w@my-team" is not`}},
		{"short", "my-team", "my", []string{`/name: "my" is not kebab case`}},
		{"camel", "my-team", "myTeam", []string{`/name: "myTeam" is not kebab case`}},
		{"no description", `"d"`, `""`, []string{"/description: has 0 characters"}},
		{"long", `"d"`, `"` + strings.Repeat("é", 501) + `"`, []string{"/description: has 501 characters"}},
		{"five hundred", `"d"`, `"` + strings.Repeat("é", 500) + `"`, nil},
		{"members", `"members":[` + member + `],`, ``, []string{"/members: is missing"}},
		{"members object", `[` + member + `]`, `{}`, []string{"/members: is object, want array"}},
		{"time", `"2026-02-16T10:30:00.000Z"`, `1771237800000`, []string{"/createdAt: is not an ISO 8601 time"}},
		{"id", "w@my-team", "v@my-team", []string{`/members/0/agentId: "v@my-team" is not`}},
		{"no id", `"agentId":"w@my-team",`, "", []string{"/members/0/agentId: is missing"}},
		{"model", "haiku", "gpt", []string{`/members/0/model: "gpt" is not haiku`}},
		{"pane", "%1", "1", []string{`/members/0/tmuxPaneId: "1" is not %`}},
		{"active", `true`, `"yes"`, []string{"/members/0/isActive: is string, want boolean"}},
		{"twice", member, member + "," + member, []string{`/members/1/name: "w" is the name of an earlier member`}},
		{"left", member, strings.Replace(member, "}", `,"shutdownAt":"2026-02-16T11:30:00.000Z"}`, 1) + "," + member, nil},
		{"key twice", `"name":"w"`, `"name":"w","a/b~c":1,"a/b~c":2`, []string{"/members/0/a~1b~0c: occurs more than once"}},
		{"no member", member, `7`, []string{"/members/0: is number, want object"}},
		{"claude without a lead", `"members"`, `"leadAgentId":"team-lead@my-team","members"`, []string{"/members: has no team-lead"}},
		{"claude is freer", s2, `{"name":"A","leadAgentId":"team-lead@A","createdAt":5,"members":[{"agentId":"team-lead@A","name":"team-lead","tmuxPaneId":"leader"}]}`, nil},
	} {
		in := one
		if c.from == s2 {
			in = c.to
		} else if c.from != "" {
			in = strings.ReplaceAll(one, c.from, c.to)
		}
		if c.what == "id" || c.what == "key twice" {
			in = strings.Replace(one, c.from, c.to, 1)
		}
		var got []string
		for i, p := range team.Validate([]byte(in)) {
			s := p.String()
			if i < len(c.want) && strings.HasPrefix(s, c.want[i]) {
				s = c.want[i]
			}
			got = append(got, s)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s\n%s", c.what, diff, in)
		}
	}
}

func TestTeamValidateNamesTheFile(t *testing.T) {
	t.Parallel()
	r, tm := newTeam(t)
	if got, err := tm.Validate(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("a team of our own: %v %v", got, err)
	}
	write(t, r.ConfigPath("api"), `{"name":"api"}}`)
	got, err := tm.Validate(t.Context())
	want := []team.Problem{{Path: r.ConfigPath("api"), Message: "byte 14: invalid character '}' after top-level value"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
