package team_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/protocol"
	"waggle/team"
)

func add(t *testing.T, tm *team.Team, m team.Member, dedupe bool) (team.Member, string) {
	t.Helper()
	added, archived, err := tm.Add(t.Context(), m, dedupe)
	testenv.Must(t, err)
	return added, archived
}

func TestAddNamesAndColours(t *testing.T) {
	t.Parallel()
	r, tm := newTeam(t)
	for i := range 10 {
		m, archived := add(t, tm, team.Member{Name: "tester"}, true)
		want := protocol.MemberName("tester")
		if i > 0 {
			want += protocol.MemberName("-" + string("0123456789:"[i+1]))
			if i == 9 {
				want = "tester-10"
			}
		}
		if m.Name != want || m.AgentID != protocol.NewAgentID(want, "api") || m.Color != team.Palette[i%8] || archived != "" {
			t.Errorf("%d: %+v %q", i, m, archived)
		}
		if got := read(t, filepath.Join(r.InboxesDir("api"), string(want)+".json")); got != "[]" {
			t.Errorf("%s: %q", want, got)
		}
	}
	if _, _, err := tm.Add(t.Context(), team.Member{Name: "TESTER"}, false); !errors.Is(err, team.ErrTaken) {
		t.Errorf("taken in another case: %v", err)
	}
	if m, _ := add(t, tm, team.Member{Name: "Tester"}, true); m.Name != "Tester-11" {
		t.Errorf("case does not make a name free: %s", m.Name)
	}
	for _, name := range []protocol.MemberName{"team-lead", "lead", "main", "../x", "42", "", "a.b", "nul"} {
		if _, _, err := tm.Add(t.Context(), team.Member{Name: name}, true); err == nil {
			t.Errorf("%q was added", name)
		}
	}
	if got := len(load(t, tm).Members); got != 12 {
		t.Errorf("%d members", got)
	}
}

func TestColourIsNotThatOfAPresentMember(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	tm := create(t, r, team.Config{Name: "session-0badcafe"})
	add(t, tm, team.Member{Name: "a"}, false)
	add(t, tm, team.Member{Name: "b"}, false)
	testenv.Must(t, tm.Remove(t.Context(), "a", noon))
	if m, _ := add(t, tm, team.Member{Name: "c"}, false); m.Color != "yellow" {
		t.Errorf("index 1 is green, which b has: %s", m.Color)
	}
	if m, _ := add(t, tm, team.Member{Name: "d", Color: "#123456"}, false); m.Color != "#123456" {
		t.Errorf("a given colour stays: %s", m.Color)
	}
}

func TestAddFillsTheEntryIn(t *testing.T) {
	t.Parallel()
	r, _ := newTeam(t)
	tm := openTeam(t, r, "api", options())
	got, _ := add(t, tm, team.Member{Name: "w", AgentID: "liar@other", Model: "opus", Prompt: "go", Cwd: "/w", TmuxPaneID: "%4", BackendType: "tmux", IsActive: new(true), ShutdownAt: noon}, false)
	if got.AgentID != "w@api" || got.Gone() || got.AgentType != "general-purpose" || !got.JoinedAt.Equal(noon) {
		t.Errorf("%+v", got)
	}
	want := `    {
      "agentId": "w@api",
      "name": "w",
      "color": "blue",
      "joinedAt": 1795176000123,
      "tmuxPaneId": "%4",
      "subscriptions": [],
      "agentType": "general-purpose",
      "model": "opus",
      "prompt": "go",
      "planModeRequired": false,
      "cwd": "/w",
      "backendType": "tmux",
      "isActive": true
    }
`
	if file := read(t, r.ConfigPath("api")); !strings.Contains(file, want) {
		t.Errorf("%s\nlacks\n%s", file, want)
	}
}

func TestAddMovesALeftoverMailboxAside(t *testing.T) {
	t.Parallel()
	r, _ := newTeam(t)
	tm := openTeam(t, r, "api", options())
	inbox := filepath.Join(r.InboxesDir("api"), "w.json")
	mail := `[{"from":"x","text":"old","timestamp":"2026-01-01T00:00:00.000Z"}]`
	for i, want := range []string{"w-20261120T120000.123Z.json", "w-20261120T120000.123Z-2.json"} {
		write(t, inbox, mail)
		m, archived := add(t, tm, team.Member{Name: "w"}, false)
		if m.Name != "w" || filepath.Base(archived) != want || filepath.Dir(archived) != filepath.Join(r.TeamDir("api"), "archive") {
			t.Errorf("%d: %s %s", i, m.Name, archived)
		}
		if read(t, archived) != mail || read(t, inbox) != "[]" {
			t.Errorf("%d: archive %q, mailbox %q", i, read(t, archived), read(t, inbox))
		}
		testenv.Must(t, tm.Remove(t.Context(), "w", noon))
	}
	// An empty mailbox is not archived, and a broken one is archived as it is.
	if _, archived := add(t, tm, team.Member{Name: "w"}, false); archived != "" {
		t.Errorf("archived an empty mailbox: %s", archived)
	}
	write(t, filepath.Join(r.InboxesDir("api"), "v.json"), "{oops")
	if _, archived := add(t, tm, team.Member{Name: "v"}, false); read(t, archived) != "{oops" {
		t.Errorf("%s", archived)
	}
	if c := load(t, tm); len(c.Members) != 3 {
		t.Errorf("an entry that has left is replaced: %+v", c.Members)
	}
}

func TestAddRefusesAPlantedMailbox(t *testing.T) {
	t.Parallel()
	r, tm := newTeam(t)
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, "keep me")
	if err := os.Symlink(secret, filepath.Join(r.InboxesDir("api"), "w.json")); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	if _, _, err := tm.Add(t.Context(), team.Member{Name: "w"}, false); err == nil {
		t.Error("added over a symbolic link")
	}
	outside := t.TempDir()
	testenv.Must(t, errors.Join(os.RemoveAll(r.InboxesDir("api")), os.Symlink(outside, r.InboxesDir("api"))))
	if _, _, err := tm.Add(t.Context(), team.Member{Name: "v"}, false); err == nil {
		t.Error("added through a linked inboxes directory")
	}
	if read(t, secret) != "keep me" || len(children(t, outside)) != 0 || len(load(t, tm).Members) != 1 {
		t.Errorf("%q %q", read(t, secret), children(t, outside))
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	for _, name := range []protocol.TeamName{"api", "session-0badcafe"} {
		tm := create(t, r, team.Config{Name: name, Members: []team.Member{{Name: "tester"}, {Name: "writer"}}})
		var missing *team.NotFoundError
		if err := tm.Remove(t.Context(), "testre", noon); !errors.As(err, &missing) || missing.What != "member" || !slices.Equal(missing.Near, []string{"tester"}) {
			t.Errorf("unknown: %v", err)
		}
		if err := tm.Remove(t.Context(), protocol.Lead, noon); !errors.Is(err, team.ErrLead) {
			t.Errorf("the lead: %v", err)
		}
		testenv.Must(t, tm.Remove(t.Context(), "TESTER", noon))
		c := load(t, tm)
		equal(t, "present", []protocol.MemberName{"team-lead", "writer"}, c.Present())
		m, kept := c.Member("tester")
		if named := name == "api"; kept != named || kept && (!m.ShutdownAt.Equal(noon) || *m.IsActive) {
			t.Errorf("%s: %+v", name, m)
		}
		before := read(t, r.ConfigPath(name))
		err := tm.Remove(t.Context(), "tester", noon.Add(time.Hour))
		if gone := errors.As(err, &missing); gone == (name == "api") || read(t, r.ConfigPath(name)) != before {
			t.Errorf("%s: removed twice: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(r.InboxesDir(name), "tester.json")); err != nil {
			t.Errorf("the mailbox stays: %v", err)
		}
	}
}

func TestAddKeepsWhatARealLeadWrote(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	data := fixtures(t)["2.1.329"]
	write(t, r.ConfigPath("session-a1b2c3d4"), string(data))
	tm := openTeam(t, r, "session-a1b2c3d4", options())
	add(t, tm, team.Member{Name: "gopher"}, false)
	testenv.Must(t, tm.Remove(t.Context(), "gopher", noon))
	if got := read(t, r.ConfigPath("session-a1b2c3d4")); !bytes.Equal([]byte(got), data) {
		t.Error(cmp.Diff(string(data), got))
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	tm := create(t, r, team.Config{Name: "api", Members: []team.Member{{Name: "w"}}})
	create(t, r, team.Config{Name: "api-2"})
	other := tree(t, r.TeamDir("api-2"))
	outside := t.TempDir()
	write(t, filepath.Join(outside, "precious"), "keep me")
	if err := os.Symlink(outside, filepath.Join(r.TeamDir("api"), "inboxes", "link")); err != nil {
		t.Log("no symbolic links: ", err)
	}
	write(t, filepath.Join(r.TasksDir("api"), "1.json"), "{}")
	write(t, filepath.Join(r.Path, "teams", ".api.deleted-0123", "config.json"), "{}") // of a killed process
	testenv.Must(t, tm.Delete(t.Context(), false))
	if got := children(t, filepath.Join(r.Path, "teams")); !slices.Equal(got, []string{"api-2"}) {
		t.Errorf("teams: %q", got)
	}
	if got := children(t, filepath.Join(r.Path, "tasks")); !slices.Equal(got, []string{"api", "api-2"}) {
		t.Errorf("tasks: %q", got)
	}
	if err := tm.Delete(t.Context(), true); !errors.As(err, new(*team.NotFoundError)) {
		t.Errorf("deleted twice: %v", err)
	}
	if got := children(t, filepath.Join(r.Path, "tasks")); !slices.Equal(got, []string{"api-2"}) {
		t.Errorf("tasks: %q", got)
	}
	equal(t, "another team", other, tree(t, r.TeamDir("api-2")))
	if read(t, filepath.Join(outside, "precious")) != "keep me" {
		t.Error("a link was followed")
	}
	create(t, r, team.Config{Name: "api"})
}

func TestDeleteRefusesALinkedTaskDirectory(t *testing.T) {
	t.Parallel()
	r, tm := newTeam(t)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "precious"), "keep me")
	if err := errors.Join(os.Remove(r.TasksDir("api")), os.Symlink(outside, r.TasksDir("api"))); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	if err := tm.Delete(t.Context(), true); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Errorf("%v", err)
	}
	if read(t, filepath.Join(outside, "precious")) != "keep me" {
		t.Error("a link was followed")
	}
}
