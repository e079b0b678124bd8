package team_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonobj"
	"waggle/internal/test/testenv"
	"waggle/protocol"
	"waggle/team"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 123e6, time.UTC)

// equal compares what should be with what is.
func equal(t testing.TB, what string, want, got any, o ...cmp.Option) {
	t.Helper()
	if d := cmp.Diff(want, got, o...); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func options() team.Options {
	return team.Options{Now: func() time.Time { return noon }}
}

func newRoot(t *testing.T) team.Root { return team.Root{Path: filepath.Join(t.TempDir(), "root")} }

func create(t *testing.T, r team.Root, c team.Config) *team.Team {
	t.Helper()
	made, err := team.Create(t.Context(), r, c, team.Options{})
	testenv.Must(t, err)
	return made
}

// newTeam is a team without members.
func newTeam(t *testing.T) (team.Root, *team.Team) {
	t.Helper()
	r := newRoot(t)
	return r, create(t, r, team.Config{Name: "api"})
}

func openTeam(t *testing.T, r team.Root, name protocol.TeamName, o team.Options) *team.Team {
	t.Helper()
	tm, err := team.Open(r, name, o)
	testenv.Must(t, err)
	return tm
}

func load(t *testing.T, tm *team.Team) *team.Config {
	t.Helper()
	c, err := tm.Load(t.Context())
	testenv.Must(t, err)
	return c
}

func write(t *testing.T, path, content string) {
	t.Helper()
	testenv.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)))
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	testenv.Must(t, err)
	return string(data)
}

// tree lists everything below dir but locks' own files, with modes.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir || strings.HasSuffix(path, ".flk") {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err == nil {
			found = append(found, fmt.Sprintf("%#o %s", info.Mode().Perm(), filepath.ToSlash(rel)))
		}
		return err
	})
	testenv.Must(t, err)
	return found
}

func TestCreate(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	tm, err := team.Create(t.Context(), r, team.Config{
		Name: "api", LeadSessionID: "5a22f79a-0f84-4c2e-83f7-d93771874e76",
		Members: []team.Member{{Name: "w1"}, {Name: protocol.Lead, Cwd: "/w"}},
	}, options())
	testenv.Must(t, err)
	if tm.Name() != "api" || tm.Root() != r {
		t.Errorf("%s in %v", tm.Name(), tm.Root())
	}
	want := []string{
		"0700 tasks", "0700 tasks/api", "0700 teams", "0700 teams/api", "0600 teams/api/config.json", "0700 teams/api/inboxes",
		"0600 teams/api/inboxes/team-lead.json", "0600 teams/api/inboxes/w1.json",
	}
	if runtime.GOOS == "windows" {
		want = nil
	}
	if diff := cmp.Diff(want, tree(t, r.Path)); want != nil && diff != "" {
		t.Error(diff)
	}
	config := `{
  "name": "api",
  "createdAt": "2026-11-20T12:00:00.123Z",
  "leadAgentId": "team-lead@api",
  "leadSessionId": "5a22f79a-0f84-4c2e-83f7-d93771874e76",
  "members": [
    {
      "agentId": "team-lead@api",
      "name": "team-lead",
      "agentType": "team-lead",
      "joinedAt": 1795176000123,
      "tmuxPaneId": "leader",
      "cwd": "/w",
      "subscriptions": [],
      "backendType": "in-process"
    },
    {
      "agentId": "w1@api",
      "name": "w1",
      "color": "blue",
      "joinedAt": 1795176000123,
      "tmuxPaneId": "",
      "subscriptions": [],
      "agentType": "general-purpose",
      "planModeRequired": false,
      "cwd": ""
    }
  ]
}`
	equal(t, "the file", config, read(t, r.ConfigPath("api")))
	for _, name := range []string{"team-lead", "w1"} {
		if got := read(t, filepath.Join(r.InboxesDir("api"), name+".json")); got != "[]" {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, name := range []protocol.TeamName{"api", "API"} {
		if _, err := team.Create(t.Context(), r, team.Config{Name: name}, options()); !errors.Is(err, team.ErrExists) {
			t.Errorf("%s again: %v", name, err)
		}
	}
	equal(t, "changed by a refused create", config, read(t, r.ConfigPath("api")))
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	for _, c := range []team.Config{
		{Name: "../x"}, {Name: ""}, {Name: "a/b"}, {Name: "con"},
		{Name: "ok", Members: []team.Member{{Name: "../w"}}},
		{Name: "ok", Members: []team.Member{{Name: "w"}, {Name: "W"}}},
		{Name: "ok", Members: []team.Member{{Name: "7"}}},
	} {
		if _, err := team.Create(t.Context(), r, c, options()); err == nil {
			t.Errorf("%q %v: created", c.Name, c.Members)
		}
	}
	if names, err := r.Names(); err != nil || len(names) > 0 {
		t.Errorf("%v %v", names, err)
	}
	write(t, filepath.Join(r.TeamDir("half"), "inboxes", "w.json"), "[]")
	if _, err := team.Create(t.Context(), r, team.Config{Name: "half"}, options()); !errors.Is(err, team.ErrExists) {
		t.Errorf("a directory is there: %v", err)
	}
	equal(t, "left over", []string{"half"}, children(t, filepath.Dir(r.TeamDir("half"))))
}

func children(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testenv.Must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestCreateOfAnotherConfig brings back a team from what was read elsewhere.
func TestCreateOfAnotherConfig(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	for name, data := range fixtures(t) {
		if name == "s2-empty" || name == "odd" {
			continue
		}
		c := mustParse(t, data)
		tm := create(t, r, *c)
		after := load(t, tm)
		for _, m := range c.Members {
			got, ok := after.Member(m.Name)
			if diff := cmp.Diff(&m, got, cmpopts.IgnoreUnexported(team.Member{})); !ok || diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if len(after.Problems()) > 0 || !after.Members[0].IsLead() {
			t.Errorf("%s: %q %v", name, after.Problems(), after.Members[0])
		}
		if name != "s2" { // which gets a lead
			sameBytes(t, name, []byte(read(t, r.ConfigPath(c.Name))), data)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	if _, err := team.Open(r, "api", options()); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no root: %v", err)
	}
	for _, name := range []protocol.TeamName{"api", "api-docs", "web", "session-0badcafe"} {
		create(t, r, team.Config{Name: name})
	}
	write(t, filepath.Join(r.Path, "teams", "api.deleted-1", "config.json"), "{}")
	write(t, filepath.Join(r.Path, "teams", "bare", "inboxes", "w.json"), "[]")
	names, err := r.Names()
	if diff := cmp.Diff([]protocol.TeamName{"api", "api-docs", "session-0badcafe", "web"}, names); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for name, near := range map[protocol.TeamName][]string{
		"API2": {"api"}, "bare": nil, "wbe": {"web"}, "session": {"session-0badcafe"},
	} {
		_, err := team.Open(r, name, options())
		if missing, ok := errors.AsType[*team.NotFoundError](err); !ok || missing.What != "team" || !slices.Equal(missing.Near, near) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := team.Open(r, "../teams/api", options()); err == nil {
		t.Error("a path is no name")
	}
	if _, err := team.Open(r, "web", options()); err != nil {
		t.Error(err)
	}
}

func TestSymlinkedTeamIsRefused(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	create(t, r, team.Config{Name: "real"})
	if err := os.Symlink(r.TeamDir("real"), r.TeamDir("link")); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	before := tree(t, r.TeamDir("real"))
	if _, err := team.Open(r, "link", options()); err == nil {
		t.Error("opened through a link")
	}
	names, err := r.Names()
	if diff := cmp.Diff([]protocol.TeamName{"real"}, names); err != nil || diff != "" {
		t.Error(err, diff)
	}
	// A directory that becomes a link after it was opened.
	tm := create(t, r, team.Config{Name: "later"})
	moved := filepath.Join(r.Path, "moved")
	testenv.Must(t, errors.Join(os.Rename(r.TeamDir("later"), moved), os.Symlink(moved, r.TeamDir("later"))))
	if err := tm.Delete(t.Context(), false); err == nil {
		t.Error("deleted through a link")
	}
	if _, _, err := tm.Add(t.Context(), team.Member{Name: "w"}, false); err == nil {
		t.Error("added through a link")
	}
	equal(t, "files", before, tree(t, r.TeamDir("real")))
	if _, err := os.Stat(filepath.Join(moved, "config.json")); err != nil {
		t.Error(err)
	}
}

func TestNameIsThatOfTheDirectory(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	body := `{
  "name": "My Team.x",
  "createdAt": 1795193125905,
  "leadAgentId": "team-lead@My Team.x",
  "members": [
    {"agentId":"team-lead@My Team.x","name":"team-lead","agentType":"team-lead","joinedAt":1795193125905,"tmuxPaneId":"","cwd":"/w","subscriptions":[]}
  ]
}`
	write(t, r.ConfigPath("my-team-x"), body)
	tm := openTeam(t, r, "my-team-x", options())
	c := load(t, tm)
	if c.Name != "my-team-x" || len(c.Problems()) != 0 || len(c.Notes()) != 1 {
		t.Errorf("what a client made is a note: %q %q %q", c.Name, c.Problems(), c.Notes())
	}
	if found := team.Validate([]byte(body)); len(found) != 0 {
		t.Errorf("%v", found)
	}
	if got := tm.InboxesDir(); got != r.InboxesDir("my-team-x") {
		t.Errorf("no mailboxes yet: %s", got)
	}
	write(t, filepath.Join(r.InboxesDir("My-Team-x"), "team-lead.json"), "[]")
	if got := tm.InboxesDir(); got != r.InboxesDir("My-Team-x") {
		t.Errorf("2.1.150 keeps them under the raw name: %s", got)
	}
	testenv.Must(t, tm.Update(t.Context(), func(c *team.Config) error { c.Description = "d"; return nil }))
	if got := read(t, r.ConfigPath("my-team-x")); !strings.Contains(got, `"name": "My Team.x"`) {
		t.Errorf("the file's name changed: %s", got)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	tm := create(t, r, team.Config{Name: "api", Members: []team.Member{{Name: "w"}}})
	path := r.ConfigPath("api")
	testenv.Must(t, os.Chmod(path, 0o644))
	identity := func() atomicfile.Identity {
		id, err := atomicfile.Identify(path)
		testenv.Must(t, err)
		return id
	}
	before := identity()
	if err := tm.Update(t.Context(), func(*team.Config) error { return nil }); err != nil || identity() != before {
		t.Errorf("nothing changed, yet it was written: %v", err)
	}
	boom := errors.New("boom")
	for what, fn := range map[string]func(*team.Config) error{
		"fn's error": func(c *team.Config) error { c.Description = "x"; return boom },
		"renamed":    func(c *team.Config) error { c.Name = "web"; return nil },
		"bad name":   func(c *team.Config) error { c.Members[1].Name = "../w"; return nil },
		"taken":      func(c *team.Config) error { c.Members = append(c.Members, team.Member{Name: "W"}); return nil },
	} {
		err := tm.Update(t.Context(), fn)
		if err == nil || identity() != before {
			t.Errorf("%s: %v", what, err)
		}
		if what == "fn's error" && !errors.Is(err, boom) || what == "taken" && !errors.Is(err, team.ErrTaken) {
			t.Errorf("%s: %v", what, err)
		}
	}
	testenv.Must(t, tm.Update(t.Context(), func(c *team.Config) error { c.Description = "all of it"; return nil }))
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o644 {
		t.Errorf("mode is not kept: %v %v", info.Mode(), err)
	}
	if got := load(t, tm).Description; got != "all of it" {
		t.Error(got)
	}
	config := read(t, path)
	testenv.Must(t, os.Remove(path))
	if err := tm.Update(t.Context(), func(*team.Config) error { return nil }); !errors.As(err, new(*team.NotFoundError)) {
		t.Errorf("no config.json: %v", err)
	}
	write(t, path, config)
	testenv.Must(t, os.RemoveAll(r.TeamDir("api")))
	if err := tm.Update(t.Context(), func(*team.Config) error { return nil }); !errors.As(err, new(*team.NotFoundError)) {
		t.Errorf("deleted: %v", err)
	}
	if _, err := tm.Load(t.Context()); !errors.As(err, new(*team.NotFoundError)) {
		t.Errorf("deleted: %v", err)
	}
	if _, err := os.Stat(r.TeamDir("api")); err == nil {
		t.Error("a deleted team came back")
	}
}

// rewriteInPlace writes as the real client does, in two parts: open, write,
// ftruncate (protocol §2.3).
func rewriteInPlace(path string, content []byte, pause time.Duration) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	half := len(content) / 2
	if _, err := f.Write(content[:half]); err != nil {
		return err
	}
	time.Sleep(pause) // real clock: a slow writer without a lock
	if _, err := f.Write(content[half:]); err != nil {
		return err
	}
	time.Sleep(pause) // real clock: a slow writer without a lock
	return f.Truncate(int64(len(content)))
}

// TestLoadOutlastsTornWrites: a read in the middle of an in-place write is repeated, and gets what the
// writer completes.
func TestLoadOutlastsTornWrites(t *testing.T) {
	t.Parallel()
	r, _ := newTeam(t)
	path := r.ConfigPath("api")
	long := mustParse(t, []byte(read(t, path)))
	long.Description = strings.Repeat("long ", 500)
	contents := []string{read(t, path), string(long.AppendJSON(nil))}
	whole, torn := "", 0
	tm, err := team.Open(r, "api", team.Options{Deadline: 50 * time.Millisecond, Hook: func(step string) {
		if step == "torn" { // the writer goes on after the first look
			torn++
			write(t, path, whole)
		}
	}})
	testenv.Must(t, err)
	for i := range 20 {
		whole = contents[(i+1)%2]
		half := whole[:len(whole)/2]
		if old := contents[i%2]; len(old) > len(half) {
			half += old[len(half):] // in place, the rest of the old content is there still
		}
		write(t, path, half)
		torn = 0
		testenv.Must(t, os.Mkdir(path+".lock", 0o777)) // the writer's lock: only a second read can succeed
		if c := load(t, tm); torn != 1 || (c.Description != "") != (whole == contents[1]) {
			t.Errorf("round %d: %d torn reads, then the description %.20q", i, torn, c.Description)
		}
		testenv.Must(t, os.Remove(path+".lock"))
	}
}

func TestBrokenConfigIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	r, tm := newTeam(t)
	path := r.ConfigPath("api")
	for content, offset := range map[string]int64{"": 0, `{"name": "api"}}`: 15, `{"name": "api"`: 14, "[]": 0, "\x00\x00\x00": 0} {
		write(t, path, content)
		_, err := tm.Load(t.Context())
		_, _, errAdd := tm.Add(t.Context(), team.Member{Name: "w"}, true)
		errUpdate := tm.Update(t.Context(), func(c *team.Config) error { c.Description = "x"; return nil })
		for _, err := range []error{err, errAdd, errUpdate} {
			if bad, ok := errors.AsType[*team.CorruptError](err); !ok || bad.Path != path || bad.Offset != offset || !strings.Contains(err.Error(), fmt.Sprint("byte ", offset)) {
				t.Errorf("%q: %v", content, err)
			}
		}
		if got := read(t, path); got != content {
			t.Errorf("%q became %q", content, got)
		}
	}
	if got := children(t, r.InboxesDir("api")); !slices.Equal(got, []string{"team-lead.json"}) {
		t.Errorf("mailboxes of members that were not registered: %q", got)
	}
}

func TestLocked(t *testing.T) {
	t.Parallel()
	r, _ := newTeam(t)
	tm := openTeam(t, r, "api", team.Options{Deadline: 50 * time.Millisecond})
	testenv.Must(t, os.Mkdir(r.ConfigPath("api")+".lock", 0o777))
	load(t, tm) // reading takes no lock
	_, _, errAdd := tm.Add(t.Context(), team.Member{Name: "w"}, true)
	for what, err := range map[string]error{
		"update": tm.Update(t.Context(), func(c *team.Config) error { c.Description = "x"; return nil }),
		"add":    errAdd,
		"delete": tm.Delete(t.Context(), true),
	} {
		if !errors.As(err, new(*team.LockedError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	write(t, r.ConfigPath("api"), "{")
	var locked *team.LockedError
	if _, err := tm.Load(t.Context()); !errors.As(err, &locked) {
		t.Errorf("broken and locked: %v", err)
	}
}

// TestLoadRetries: a write without the lock is torn for two reads, or another process holds the
// lock for good. Every read calls the clock once.
func TestLoadRetries(t *testing.T) {
	t.Parallel()
	r, _ := newTeam(t)
	path := r.ConfigPath("api")
	whole, reads := read(t, path), 0
	tm, err := team.Open(r, "api", team.Options{Deadline: 30 * time.Millisecond, Now: func() time.Time {
		if reads++; reads == 2 {
			write(t, path, whole)
		}
		return time.Now()
	}})
	testenv.Must(t, err)
	write(t, path, whole+"}")
	testenv.Must(t, os.Mkdir(path+".lock", 0o777))
	if c := load(t, tm); len(c.Members) != 1 || reads != 3 {
		t.Errorf("after %d reads: %+v", reads, c)
	}
}

// TestAddTriedAgain: a program that does not lock changes config.json while a
// member is added. The mailbox is not moved aside twice.
func TestAddTriedAgain(t *testing.T) {
	t.Parallel()
	r, _ := newTeam(t)
	path, inbox := r.ConfigPath("api"), filepath.Join(r.InboxesDir("api"), "w.json")
	const mail = `[{"from":"x","text":"old","timestamp":"2026-01-01T00:00:00.000Z"}]`
	write(t, inbox, mail)
	changed := false
	tm, err := team.Open(r, "api", team.Options{Hook: func(step string) {
		if step == "temp-created" && !changed {
			changed = true
			write(t, path, strings.Replace(read(t, path), `"members"`, `"vendor": 1, "members"`, 1))
		}
	}})
	testenv.Must(t, err)
	m, archived := add(t, tm, team.Member{Name: "w"}, true)
	if m.Name != "w" || archived == "" || read(t, archived) != mail || !changed {
		t.Errorf("%s %q", m.Name, archived)
	}
	if got := len(children(t, filepath.Dir(archived))); got != 1 {
		t.Errorf("%d files in the archive", got)
	}
	c := load(t, tm)
	if _, ok := c.Unknown("vendor"); !ok || len(c.Members) != 2 {
		t.Errorf("the other program's change is lost: %s", read(t, path))
	}
}

// TestAddWaitsForAMailbox: another process writes to the leftover mailbox.
func TestAddWaitsForAMailbox(t *testing.T) {
	t.Parallel()
	r, _ := newTeam(t)
	tm := openTeam(t, r, "api", team.Options{Deadline: 40 * time.Millisecond})
	inbox := filepath.Join(r.InboxesDir("api"), "w.json")
	write(t, inbox, "[1]")
	testenv.Must(t, os.Mkdir(inbox+".lock", 0o777))
	if _, _, err := tm.Add(t.Context(), team.Member{Name: "w"}, false); !errors.As(err, new(*team.LockedError)) {
		t.Errorf("%v", err)
	}
	if got := len(load(t, tm).Members); got != 1 || read(t, inbox) != "[1]" {
		t.Errorf("%d members, %q", got, read(t, inbox))
	}
}

// TestSweep: the next create and delete of a team remove the temporary files of killed processes,
// and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	teams := filepath.Dir(r.TeamDir("x"))
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{".api.new-1", ".api.new-2", ".api.deleted-1", ".api-2.new-1", ".web.deleted-1"} {
		write(t, filepath.Join(teams, name, "config.json"), "{}")
		if name != ".api.new-2" {
			testenv.Must(t, os.Chtimes(filepath.Join(teams, name), old, old))
		}
	}
	create(t, r, team.Config{Name: "api"})
	equal(t, "names", []string{".api-2.new-1", ".api.new-2", ".web.deleted-1", "api"}, children(t, teams))
}

// TestState compares every state with what it allows: a team is not deleted while its processes run, not
// restored over another, and nothing but its end follows once a deletion has begun.
func TestState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		facts                 team.Facts
		state                 team.State
		restore, join, remove bool
	}{
		{team.Facts{}, team.Absent, true, false, false},
		{team.Facts{Members: 1, Open: 1, Running: 1, Deleting: true}, team.Absent, true, false, false},
		{team.Facts{Exists: true}, team.Empty, false, true, true},
		{team.Facts{Exists: true, Open: 1}, team.Empty, false, true, true},
		{team.Facts{Exists: true, Members: 2}, team.Staffed, false, true, true},
		{team.Facts{Exists: true, Members: 1, Open: 1}, team.Assigned, false, true, true},
		{team.Facts{Exists: true, Running: 1}, team.Live, false, true, false},
		{team.Facts{Exists: true, Members: 1, Open: 1, Running: 1}, team.Live, false, true, false},
		{team.Facts{Exists: true, Deleting: true}, team.Deleting, false, false, true},
		{team.Facts{Exists: true, Deleting: true, Members: 1, Open: 1, Running: 1}, team.Deleting, false, false, true},
	} {
		if got := c.facts.State(); got != c.state {
			t.Errorf("%+v is %s, want %s", c.facts, got, c.state)
		}
		for on, allowed := range map[team.Event]bool{team.OnRestore: c.restore, team.OnJoin: c.join, team.OnDelete: c.remove} {
			err := c.state.May(on)
			var refused *team.StateError
			if (err == nil) != allowed || err != nil && (!errors.As(err, &refused) || refused.From != c.state || refused.On != on) {
				t.Errorf("%s, %s: %v", c.state, on, err)
			}
		}
	}
}

// Each field of the registry is removed, spelled in another case, or given another type: the file
// stays readable, no foreign key is lost, and a value of another type is reported. Only the two
// keys that name the member hide an entry when they are missing.
func TestRegistryMutations(t *testing.T) {
	t.Parallel()
	const member = `{"agentId":"w@api","name":"w","color":"blue","joinedAt":1795193125905,"tmuxPaneId":"%1","subscriptions":[],"agentType":"general-purpose","model":"none","prompt":"p","planModeRequired":true,"cwd":"/w","backendType":"tmux","isActive":true,"spawnedAt":"2026-11-20T18:15:43.000Z","metadata":{"k":1}}`
	const config = `{"name":"api","description":"d","createdAt":1795193125905,"leadAgentId":"team-lead@api","leadSessionId":"s","schemaVersion":"1.4.0","metadata":{"k":1}}`
	join := func(config, member string) []byte {
		return []byte(config[:len(config)-1] + `,"members":[` + member + `]}`)
	}
	mutate := func(text, key, how string) string {
		o, err := jsonobj.Parse([]byte(text))
		testenv.Must(t, err)
		raw, _ := o.Get(key)
		switch how {
		case "dropped":
			o.Delete(key)
		case "case":
			o.Delete(key)
			o.Set(strings.ToUpper(key[:1])+key[1:], raw)
		case "type":
			other := json.RawMessage(`["another type"]`)
			if raw[0] == '[' {
				other = json.RawMessage(`true`)
			}
			o.Set(key, other)
		}
		return string(o.Raw())
	}
	keys := func(text string) []string {
		o, err := jsonobj.Parse([]byte(text))
		testenv.Must(t, err)
		return o.Keys()
	}
	got := map[string]string{}
	check := func(what string, data []byte) {
		c, problems, err := team.ParseConfig(data)
		if err != nil {
			t.Errorf("%s: the registry cannot be read: %v", what, err)
			return
		}
		how := "same"
		switch {
		case len(c.Members) == 0:
			how = "hidden, said"
		case len(problems) > 0:
			how = "said"
		}
		got[what] = how
		c.Description = "another"
		if after := c.AppendJSON(nil); !strings.Contains(compact(t, after), compact(t, []byte(firstMember(t, data)))) {
			t.Errorf("%s: a rewrite changed the entry:\n%s", what, after)
		}
	}
	want := map[string]string{}
	for _, how := range []string{"dropped", "case", "type"} {
		for _, key := range keys(member) {
			what := fmt.Sprintf("member %s %s", key, how)
			check(what, join(config, mutate(member, key, how)))
			want[what] = "same"
			switch {
			case key == "name":
				want[what] = "hidden, said"
			case how == "type", key == "agentId":
				want[what] = "said"
			}
		}
		for _, key := range keys(config) {
			what := fmt.Sprintf("team %s %s", key, how)
			check(what, join(mutate(config, key, how), member))
			want[what] = "same"
			if how == "type" || key == "name" {
				want[what] = "said"
			}
		}
	}
	equal(t, "what is said", want, got)
}

func firstMember(t *testing.T, data []byte) string {
	o, err := jsonobj.Parse(data)
	testenv.Must(t, err)
	raw, _ := o.Get("members")
	list, _ := jsonobj.Elements(raw)
	return string(list[0])
}

func compact(t *testing.T, data []byte) string {
	var v any
	testenv.Must(t, json.Unmarshal(data, &v))
	b, err := jsonobj.Marshal(v)
	testenv.Must(t, err)
	return string(b)
}
