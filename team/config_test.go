package team_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"waggle/internal/test/testenv"
	"waggle/protocol"
	"waggle/team"
)

func fixtures(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/config/*.json")
	if err != nil || len(paths) < 7 {
		t.Fatalf("testdata: %v, %d files", err, len(paths))
	}
	files := map[string][]byte{}
	for _, path := range paths {
		if files[strings.TrimSuffix(filepath.Base(path), ".json")], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func mustParse(t testing.TB, data []byte) *team.Config {
	t.Helper()
	c, _, err := team.ParseConfig(data)
	testenv.Must(t, err)
	return c
}

func sameBytes(t *testing.T, name string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: changed by an unchanged rewrite: %s", name, cmp.Diff(string(want), string(got)))
	}
}

func TestUnchangedRewriteIsIdentity(t *testing.T) {
	t.Parallel()
	for name, data := range fixtures(t) {
		c := mustParse(t, data)
		sameBytes(t, name, c.AppendJSON(nil), data)
		// Only the layout of the file is corrected.
		var compact bytes.Buffer
		testenv.Must(t, json.Compact(&compact, data))
		sameBytes(t, name+" from compact", mustParse(t, compact.Bytes()).AppendJSON(nil), data)
		crlf := bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		sameBytes(t, name+" from BOM and CRLF", mustParse(t, append([]byte("\xef\xbb\xbf"), crlf...)).AppendJSON(nil), data)
	}
}

// TestCaptures reads configs that real Claude Code processes wrote.
func TestCaptures(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("WAGGLE_CAPTURES")
	if dir == "" {
		t.Skip("WAGGLE_CAPTURES is not set: no captured files to read")
	}
	read := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		base := filepath.Base(path)
		inboxes := strings.Contains(path, "inbox")
		if err != nil || d.IsDir() || inboxes || !strings.HasSuffix(base, ".json") || !strings.Contains(base, "config") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		c, problems, err := team.ParseConfig(data)
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v %q", path, err, problems)
			return nil
		}
		sameBytes(t, path, c.AppendJSON(nil), data)
		if got := team.Validate(data); len(got) > 0 {
			t.Errorf("%s: %v", path, got)
		}
		if c.Name == "" || len(c.Members) == 0 || !c.Members[0].IsLead() || c.CreatedAt.Year() != 2026 {
			t.Errorf("%s: %+v", path, c)
		}
		return nil
	})
	if err != nil || read < 6 {
		t.Errorf("%d captured configs: %v", read, err)
	}
}

func ms(n int64) time.Time { return time.UnixMilli(n).UTC() }

func TestParseEveryEra(t *testing.T) {
	t.Parallel()
	iso := time.Date(2026, 2, 16, 10, 35, 0, 0, time.UTC)
	for name, want := range map[string]team.Config{
		"2.1.32": {
			Name: "harbor-survey", Description: "Survey the harbour — find <leaks> & mend them", CreatedAt: ms(1770650000123),
			LeadAgentID: "team-lead@harbor-survey", LeadSessionID: "0d7f6f1e-5a0b-4d8c-9a44-1f5f5b0c7a11",
			Members: []team.Member{
				{AgentID: "team-lead@harbor-survey", Name: "team-lead", AgentType: "team-lead", Model: "claude-opus-4-6", JoinedAt: ms(1770650000123), Cwd: "/srv/harbor"},
				{AgentID: "diver@harbor-survey", Name: "diver", AgentType: "general-purpose", Model: "haiku", Prompt: "Look below the waterline.\n\n1. \"Hull\"\n2. Chain\tand anchor", Color: "blue", JoinedAt: ms(1770650011456), TmuxPaneID: "in-process", Cwd: "/srv/harbor", BackendType: "in-process"},
				{AgentID: "chart-maker@harbor-survey", Name: "chart-maker", AgentType: "Explore", Model: "claude-sonnet-4-5-20250929", Prompt: "Draw what the diver finds. 日本語も可。", Color: "green", PlanModeRequired: true, JoinedAt: ms(1770650022789), TmuxPaneID: "%3", Cwd: "/srv/harbor/charts", BackendType: "tmux"},
			},
		},
		"2.1.211": {
			Name: "session-0badcafe", CreatedAt: ms(1784000000010), LeadAgentID: "team-lead@session-0badcafe", LeadSessionID: "0badcafe-1111-4222-8333-444455556666",
			Members: []team.Member{
				{AgentID: "team-lead@session-0badcafe", Name: "team-lead", AgentType: "team-lead", JoinedAt: ms(1784000000010), TmuxPaneID: "leader", Cwd: "/srv/kiln", BackendType: "in-process"},
				{AgentID: "potter-2@session-0badcafe", Name: "potter-2", Color: "blue", JoinedAt: ms(1784000009999), TmuxPaneID: "%7", AgentType: "clay:potter", Model: "sonnet", Prompt: "Throw a pot.", Cwd: "/srv/kiln", BackendType: "tmux", IsActive: new(false)},
			},
		},
		"s2": {
			Name: "orchard-team", Description: "Harvest figures for the autumn", CreatedAt: iso.Add(-5 * time.Minute), SchemaVersion: "1.0.0",
			Metadata: json.RawMessage("{\n    \"project\": \"autumn\",\n    \"budget_tokens\": 100000\n  }"),
			Members: []team.Member{
				{AgentID: "picker-1@orchard-team", Name: "picker-1", AgentType: "general-purpose", Model: "haiku", Prompt: "Count the apples.", Color: "magenta", TmuxPaneID: "%88", BackendType: "tmux", IsActive: new(true), JoinedAt: iso, SpawnedAt: iso,
					Metadata: json.RawMessage("{\n        \"tasks_completed\": 5,\n        \"ratio\": 0.5\n      }")},
				{AgentID: "picker-2@orchard-team", Name: "picker-2", AgentType: "specialized", Model: "sonnet", Prompt: "Count the pears.", Color: "green", TmuxPaneID: "%89", BackendType: "tmux", IsActive: new(false), JoinedAt: iso.Add(time.Minute), SpawnedAt: iso.Add(time.Minute), ShutdownAt: iso.Add(70 * time.Minute)},
			},
		},
	} {
		c, problems, err := team.ParseConfig(fixtures(t)[name])
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v %q", name, err, problems)
			continue
		}
		equal(t, name, &want, c, cmpopts.IgnoreUnexported(team.Config{}, team.Member{}), cmpopts.EquateEmpty())
	}
}

func TestUnknownKeys(t *testing.T) {
	t.Parallel()
	c := mustParse(t, fixtures(t)["2.1.329"])
	raw, ok := c.Unknown("leadProcess")
	if !ok || !bytes.Contains(raw, []byte("4711")) {
		t.Errorf("leadProcess: %s", raw)
	}
	if raw, ok := c.Members[1].Unknown("futureKey"); !ok || !bytes.Contains(raw, []byte("deep")) {
		t.Errorf("futureKey: %s", raw)
	}
	for _, key := range []string{"name", "members", "nothing"} {
		if _, ok := c.Unknown(key); ok {
			t.Errorf("%s is not unknown", key)
		}
	}
	if _, ok := c.Members[1].Unknown("isActive"); ok {
		t.Error("isActive is not unknown")
	}
}

// TestEditTouchesOnlyWhatChanged compares line by line.
func TestEditTouchesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file        string
		edit        func(*team.Config)
		gone, added []string // lines, trimmed
	}{
		{"2.1.329", func(c *team.Config) { c.Members[1].IsActive = new(true) }, []string{`"isActive": false,`}, []string{`"isActive": true,`}},
		{"2.1.329", func(c *team.Config) { *c.Members[1].IsActive = true }, []string{`"isActive": false,`}, []string{`"isActive": true,`}},
		{
			"2.1.329", func(c *team.Config) { c.Members[2].TmuxPaneID, c.Members[2].BackendType = "%2", "tmux" },
			[]string{`"tmuxPaneId": "",`, `"cwd": "/srv/loom"`},
			[]string{`"tmuxPaneId": "%2",`, `"cwd": "/srv/loom",`, `"backendType": "tmux"`},
		},
		{"2.1.150", func(c *team.Config) { c.Description = "" }, []string{`"description": "Grind",`}, nil},
		{"2.1.211", func(c *team.Config) { c.Description = "New <one>" }, nil, []string{`"description": "New <one>",`}},
		{"2.1.150", func(c *team.Config) { c.CreatedAt = ms(5) }, []string{`"createdAt": 1777000000001,`}, []string{`"createdAt": 5,`}},
		{"s2", func(c *team.Config) { c.CreatedAt = ms(5) }, []string{`"createdAt": "2026-02-16T10:30:00.000Z",`}, []string{`"createdAt": "1970-01-01T00:00:00.005Z",`}},
		{"s2", func(c *team.Config) { c.Members[0].JoinedAt = ms(5) }, []string{`"spawnedAt": "2026-02-16T10:35:00.000Z",`}, []string{`"spawnedAt": "1970-01-01T00:00:00.005Z",`}},
		{
			"s2", func(c *team.Config) { c.Members[0].IsActive, c.Members[0].ShutdownAt = new(false), ms(5) },
			[]string{`"isActive": true,`}, []string{`"isActive": false,`, `"shutdownAt": "1970-01-01T00:00:00.005Z",`},
		},
		{"2.1.150", func(c *team.Config) { c.Members[1].Mode = "plan" }, []string{`"mode": "acceptEdits"`}, []string{`"mode": "plan"`}},
		{"odd", func(c *team.Config) { c.Members[1].Color = "red" }, []string{`"color": "#ff00aa"`}, []string{`"color": "red"`}},
	} {
		before := fixtures(t)[c.file]
		config := mustParse(t, before)
		c.edit(config)
		after := config.AppendJSON(nil)
		gone, added := lineDiff(string(before), string(after))
		if diff := cmp.Diff(c.gone, gone, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: lines gone: %s\n%s", c.file, diff, after)
		}
		if diff := cmp.Diff(c.added, added, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: lines added: %s\n%s", c.file, diff, after)
		}
	}
}

// lineDiff returns the lines that are only in a and only in b, in order.
func lineDiff(a, b string) (gone, added []string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	longest := make([][]int, len(x)+1)
	for i := range longest {
		longest[i] = make([]int, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if x[i] == y[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && longest[i+1][j] >= longest[i][j+1]:
			gone = append(gone, strings.TrimSpace(x[i]))
			i++
		default:
			added = append(added, strings.TrimSpace(y[j]))
			j++
		}
	}
	return gone, added
}

func TestHiddenEntriesKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	names := func(c *team.Config) string {
		var got map[string]any // a struct's fields would match keys of another case
		testenv.Must(t, json.Unmarshal(c.AppendJSON(nil), &got))
		var names []string
		for _, m := range got["members"].([]any) {
			if o, ok := m.(map[string]any); ok {
				names = append(names, o["name"].(string))
			} else {
				names = append(names, "?")
			}
		}
		return strings.Join(names, " ")
	}
	fresh := func() *team.Config { return mustParse(t, fixtures(t)["odd"]) }
	c := fresh()
	c.Members = append(c.Members, team.Member{Name: "new"})
	if got := names(c); got != "team-lead ? ../../etc/passwd w1 W1 new" {
		t.Errorf("append: %s", got)
	}
	c = fresh()
	c.Members = slices.Delete(c.Members, 1, 2)
	if got := names(c); got != "team-lead ? ../../etc/passwd W1" {
		t.Errorf("remove: %s", got)
	}
	c = fresh()
	c.Members = slices.Insert(c.Members, 0, team.Member{Name: "first"})
	if got := names(c); got != "first team-lead ? ../../etc/passwd w1 W1" {
		t.Errorf("insert: %s", got)
	}
	c = fresh()
	c.Members = nil
	if got := names(c); got != "? ../../etc/passwd W1" {
		t.Errorf("all gone: %s", got)
	}
	// An entry of another parse is an ordinary new one.
	c = fresh()
	c.Members = append(c.Members, mustParse(t, fixtures(t)["2.1.329"]).Members[1])
	if got := names(c); got != "team-lead ? ../../etc/passwd w1 W1 weaver" {
		t.Errorf("foreign: %s", got)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in      string
		want    []string
		members []string
	}{
		{`{"name":"a","members":[]}`, nil, nil},
		{`{"name":"a"}`, []string{"members is missing"}, nil},
		{`{"Name":"a","members":[]}`, []string{`name: team "": is empty`}, nil},
		{`{"name":"a","name":"b","members":[]}`, []string{`key "name" occurs more than once`}, nil},
		{`{"name":"a","members":[],"createdAt":"soon","description":7}`, []string{"description is number, want string", "createdAt is a string that is not an ISO 8601 time"}, nil},
		{`{"name":"../x","members":[]}`, []string{`name: team "../x": `}, nil},
		{`{"name":"a","leadAgentId":"nobody","members":[]}`, []string{`leadAgentId: agent id "nobody": `}, nil},
		{
			`{"name":"a","members":[{"name":"w"},{"name":"W","agentId":"W@a"},{"agentId":"x@a","name":"x","name":"y"},7,{"agentId":"q@a","name":"z"},{"agentId":"?","name":"k"}]}`,
			[]string{
				"members[0]: agentId is missing", `members[1]: name "W" occurs more than once`, `members[2]: key "name" occurs more than once`,
				`members[2]: agentId "x@a" does not belong to the name "y"`, "members[3]: is number, want object",
				`members[4]: agentId "q@a" does not belong to the name "z"`, `members[5]: agentId: agent id "?": `,
			},
			[]string{"w", "y", "z", "k"},
		},
		// A member that has left may share its name with one that is here.
		{`{"name":"a","members":[{"name":"w","agentId":"w@a","shutdownAt":1},{"name":"w","agentId":"w@a"}]}`, nil, []string{"w", "w"}},
	} {
		config, problems, err := team.ParseConfig([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if !slices.EqualFunc(problems, c.want, strings.HasPrefix) || !slices.Equal(problems, config.Problems()) {
			t.Errorf("%s: %q, want %q", c.in, problems, c.want)
		}
		var members []string
		for _, m := range config.Members {
			members = append(members, string(m.Name))
		}
		if !slices.Equal(members, c.members) {
			t.Errorf("%s: members %q, want %q", c.in, members, c.members)
		}
	}
	for in, offset := range map[string]int64{``: 0, `[]`: 0, `{"name":"a","members":{}}`: 0, `{"name":"a"}}`: 12, `{"name":"a","mem`: 16} {
		_, _, err := team.ParseConfig([]byte(in))
		if bad, ok := errors.AsType[*team.CorruptError](err); !ok || bad.Offset != offset {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestMemberFindsWithoutCase(t *testing.T) {
	t.Parallel()
	c := mustParse(t, []byte(`{"name":"a","members":[{"name":"Tester","agentId":"Tester@a","shutdownAt":5,"model":"old"},{"name":"tester","agentId":"tester@a"}]}`))
	m, ok := c.Member("TESTER")
	if !ok || m.Gone() || m != &c.Members[1] {
		t.Errorf("%+v", m)
	}
	if m, ok := c.Member("nobody"); ok {
		t.Errorf("%+v", m)
	}
	equal(t, "present", []protocol.MemberName{"tester"}, c.Present())
}

func TestNear(t *testing.T) {
	t.Parallel()
	c := mustParse(t, []byte(`{"name":"api","members":[{"name":"team-lead","agentId":"team-lead@api"},{"name":"tester","agentId":"tester@api"},{"name":"tester-2","agentId":"tester-2@api"},{"name":"doc-writer","agentId":"doc-writer@api"},{"name":"reviewer","agentId":"reviewer@api"},{"name":"ghost","agentId":"ghost@api","shutdownAt":1}]}`))
	for _, q := range []struct {
		in   string
		want []string
	}{
		{"TESTER", []string{"tester", "tester-2"}},
		{"@tester", []string{"tester", "tester-2"}},
		{"tester@api", []string{"tester", "tester-2"}},
		{"test", []string{"tester", "tester-2"}},
		{"tseter", []string{"tester"}},
		{"tester-3", []string{"tester", "tester-2"}},
		{"lead", []string{"team-lead"}},
		{"Leader", []string{"team-lead"}},
		{"teamlead", []string{"team-lead"}},
		{"docwriter", []string{"doc-writer"}},
		{"writer", []string{"doc-writer"}},
		{"doc_writer", []string{"doc-writer"}},
		{"ghost", nil},
		{"zzz", nil},
		{"", nil},
		{"@", nil},
		{strings.Repeat("x", 1<<20), nil},
	} {
		got := c.Near(q.in)
		slices.Sort(got)
		if !slices.Equal(got, q.want) {
			t.Errorf("%.20q: %q, want %q", q.in, got, q.want)
		}
	}
	if got := c.Near("tester"); got[0] != "tester" {
		t.Errorf("best first: %q", got)
	}
	many := &team.Config{}
	for _, n := range []string{"ab", "ac", "ad", "ae"} {
		many.Members = append(many.Members, team.Member{Name: protocol.MemberName(n)})
	}
	if got := many.Near("aa"); !slices.Equal(got, []string{"ab", "ac", "ad"}) {
		t.Errorf("at most three, alphabetical: %q", got)
	}
}

func TestNewConfigHasTheOrderOfEraB(t *testing.T) {
	t.Parallel()
	at := ms(1795198543120)
	c := team.Config{
		Name: "api", Description: "All of it", CreatedAt: at, LeadAgentID: "team-lead@api", LeadSessionID: "5a22f79a-0f84-4c2e-83f7-d93771874e76",
		Members: []team.Member{
			{AgentID: "team-lead@api", Name: "team-lead", AgentType: "team-lead", JoinedAt: at, TmuxPaneID: "leader", Cwd: "/w", BackendType: "in-process"},
			{AgentID: "w@api", Name: "w", Color: "blue", JoinedAt: at, TmuxPaneID: "%1", AgentType: "general-purpose", Model: "opus", Prompt: "p\u2028", Cwd: "/w", BackendType: "tmux", IsActive: new(true)},
			{AgentID: "v@api", Name: "v", JoinedAt: at, WorktreePath: "/wt", SessionID: "s", Mode: "plan", PlanModeRequired: true, ShutdownAt: at},
		},
	}
	want := `{
  "name": "api",
  "description": "All of it",
  "createdAt": "2026-11-20T18:15:43.120Z",
  "leadAgentId": "team-lead@api",
  "leadSessionId": "5a22f79a-0f84-4c2e-83f7-d93771874e76",
  "members": [
    {
      "agentId": "team-lead@api",
      "name": "team-lead",
      "agentType": "team-lead",
      "joinedAt": 1795198543120,
      "tmuxPaneId": "leader",
      "cwd": "/w",
      "subscriptions": [],
      "backendType": "in-process"
    },
    {
      "agentId": "w@api",
      "name": "w",
      "color": "blue",
      "joinedAt": 1795198543120,
      "tmuxPaneId": "%1",
      "subscriptions": [],
      "agentType": "general-purpose",
      "model": "opus",
      "prompt": "p` + "\u2028" + `",
      "planModeRequired": false,
      "cwd": "/w",
      "backendType": "tmux",
      "isActive": true
    },
    {
      "agentId": "v@api",
      "name": "v",
      "joinedAt": 1795198543120,
      "tmuxPaneId": "",
      "subscriptions": [],
      "planModeRequired": true,
      "cwd": "",
      "worktreePath": "/wt",
      "sessionId": "s",
      "mode": "plan",
      "shutdownAt": "2026-11-20T18:15:43.120Z"
    }
  ]
}`
	equal(t, "written", want, string(c.AppendJSON(nil)))
	c.Members = c.Members[:1]
	c.Description = ""
	era := mustParse(t, c.AppendJSON(nil))
	sameBytes(t, "parsed again", era.AppendJSON(nil), c.AppendJSON(nil))
}

func TestDialect(t *testing.T) {
	t.Parallel()
	for name, want := range map[protocol.TeamName]team.Dialect{
		"session-0badcafe": team.DialectSession, "session-0badcaf": team.DialectNamed, "session-0BADCAFE": team.DialectNamed,
		"session-0badcafe0": team.DialectNamed, "xsession-0badcafe": team.DialectNamed, "api": team.DialectNamed,
	} {
		if got := (&team.Config{Name: name}).Dialect(); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

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
