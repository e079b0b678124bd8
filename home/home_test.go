package home_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/home"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// open makes a team's state with its first record.
func open(t *testing.T, h home.Home, root string, team protocol.TeamName, uid record.TeamUID, at time.Time) home.Dir {
	t.Helper()
	d, err := h.Create(root, team, uid)
	testenv.Must(t, err)
	j, err := d.Journals().Open(journal.Leader, control.NewLeader(nil), journal.Options{Now: func() time.Time { return at }})
	testenv.Must(t, err)
	if _, err := j.Append(t.Context(), journal.Writer{Operator: true}, func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindOpened, Must: true, Body: record.Opened{Team: team, Root: root, UID: uid, Instance: "i", Name: protocol.Lead, Epoch: 1}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestFind: a team is found by root and name, oldest first; the same name in
// another root is another team (trust §2).
func TestFind(t *testing.T) {
	h := home.Home{Path: filepath.Join(t.TempDir(), "state")}
	now := time.Now()
	late := open(t, h, "file:///a", "api", "uid-2", now)
	early := open(t, h, "file:///a", "api", "uid-1", now.Add(-time.Hour))
	other := open(t, h, "file:///b", "api", "uid-1", now)
	open(t, h, "file:///a", "api-2", "uid-3", now)

	got, err := h.Find("file:///a", "api")
	if err != nil || len(got) != 2 || got[0] != early || got[1] != late {
		t.Errorf("found %v, %v; want %v then %v", got, err, early, late)
	}
	if got, err := h.Find("file:///b", "api"); err != nil || len(got) != 1 || got[0] != other {
		t.Errorf("found %v, %v; want %v", got, err, other)
	}
	if got, err := h.Find("file:///c", "api"); err != nil || len(got) != 0 {
		t.Errorf("found %v, %v in a root without teams", got, err)
	}
	if early.Path == other.Path {
		t.Error("two roots share a directory")
	}
}

// TestFindSkipsWhatIsNoTeam: Find counts a directory only when its journal gives the directory's
// own name.
func TestFindSkipsWhatIsNoTeam(t *testing.T) {
	h := home.Home{Path: t.TempDir()}
	d := open(t, h, "file:///a", "api", "uid-1", time.Now())
	// The journal of a renamed directory gives another name than the directory's.
	moved := filepath.Join(filepath.Dir(d.Path), "api-00000000")
	testenv.Must(t, os.Rename(d.Path, moved))
	testenv.Must(t, os.MkdirAll(filepath.Join(h.Path, "teams", "api-11111111", "journal"), 0o700))
	if got, err := h.Find("file:///a", "api"); err != nil || len(got) != 0 {
		t.Errorf("found %v, %v", got, err)
	}
}

// TestPrivate: STATE is 0700, also when it was there with other rights.
func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	h := home.Home{Path: filepath.Join(t.TempDir(), "state")}
	testenv.Must(t, os.Mkdir(h.Path, 0o777))
	testenv.Must(t, os.Chmod(h.Path, 0o777))
	d, err := h.Create("file:///a", "api", "uid")
	testenv.Must(t, err)
	for _, p := range []string{h.Path, d.Path, d.Archive(), filepath.Dir(d.ProcessLease("x"))} {
		st, err := os.Stat(p)
		if err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", p, st.Mode().Perm(), err)
		}
	}
	for _, p := range []string{d.LeaderLease(), d.TeamFile(), d.LeaderJournal(), d.JournalOf("x")} {
		if !strings.HasPrefix(p, d.Path+string(filepath.Separator)) {
			t.Errorf("%s lies outside", p)
		}
	}
}

// TestMend: a path of a directory of the state that is not a directory is set aside, whole;
// directories stay, also behind a link; missing directories are made again.
func TestMend(t *testing.T) {
	d := open(t, home.Home{Path: filepath.Join(t.TempDir(), "state")}, "file:///a", "api", "uid", time.Now())
	elsewhere := t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(d.Path, "set-aside"), []byte("x"), 0o600),
		os.WriteFile(filepath.Join(d.Path, "tools"), nil, 0o600),
		os.Symlink("/nowhere", filepath.Join(d.Path, "started")),
		os.Symlink(elsewhere, filepath.Join(d.Path, "worktrees")),
		os.Remove(d.Processes()),
	} {
		if err != nil {
			t.Skip(err) // links need a right on some systems
		}
	}
	d.Mend(time.Now())
	for _, name := range []string{"tools", "started"} {
		if _, err := os.Lstat(filepath.Join(d.Path, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	kept, err := os.ReadDir(d.Quarantine())
	if err != nil || len(kept) != 2 {
		t.Errorf("set aside %v, %v", kept, err)
	}
	if beside, _ := filepath.Glob(d.Quarantine() + "-*"); len(beside) != 1 {
		t.Errorf("what had the place of set-aside is in %v", beside)
	}
	if to, err := os.Readlink(d.Worktrees()); err != nil || to != elsewhere {
		t.Errorf("worktrees: %q %v", to, err)
	}
	if info, err := os.Stat(d.Processes()); err != nil || !info.IsDir() {
		t.Errorf("processes: %v", err)
	}
}

// TestRunning: the running processes of every team are listed by team, whatever its wire tree;
// processes that ended, or whose pid another process has now, are not.
func TestRunning(t *testing.T) {
	h := home.Home{Path: filepath.Join(t.TempDir(), "state")}
	if got, err := h.Running(); err != nil || len(got) > 0 {
		t.Fatalf("without a team: %v, %v", got, err)
	}
	self, err := spawn.Identify(os.Getpid())
	testenv.Must(t, err)
	recycled := self
	recycled.Start += "0"
	note := func(root, team, name string, id spawn.Identity) {
		t.Helper()
		d := open(t, h, root, protocol.TeamName(team), "uid", time.Now())
		testenv.Must(t, d.NoteStarted(home.Started{Team: protocol.TeamName(team), Root: root, Name: protocol.MemberName(name), ID: id}))
	}
	note("file:///b", "web", "team-lead", self)
	note("file:///a", "api", "team-lead", self)
	note("file:///a", "old", "team-lead", recycled)
	got, err := h.Running()
	if err != nil || len(got) != 2 || got[0].Team != "api" || got[1].Team != "web" || got[1].Root != "file:///b" {
		t.Errorf("%+v, %v", got, err)
	}
}
