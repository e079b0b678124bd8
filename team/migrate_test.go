package team_test

import (
	"context"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/protocol"
	"waggle/team"
)

var update = flag.Bool("update", false, "write what migrations make into testdata")

// migrated copies a frozen directory, migrates the one team in it, and compares
// what came of it with after. Old mail goes to kept, beside teams and tasks.
func migrated(t *testing.T, frozen string) *team.Migration {
	t.Helper()
	before, after := filepath.Join("testdata", "migrate", frozen, "before"), filepath.Join("testdata", "migrate", frozen, "after")
	r, tm := thawed(t, before)
	frost := contents(t, r.Path)
	dry, err := tm.Migrate(t.Context(), true)
	testenv.Must(t, err)
	if diff := cmp.Diff(frost, contents(t, r.Path)); diff != "" {
		t.Errorf("a dry run changed %s", diff)
	}
	m, err := tm.Migrate(t.Context(), false)
	testenv.Must(t, err)
	equal(t, "a dry run says otherwise", dry, m)
	got := contents(t, r.Path)
	if *update {
		testenv.Must(t, os.RemoveAll(after))
		for name, data := range got {
			write(t, filepath.Join(after, name), data)
		}
	}
	equal(t, "files", contents(t, after), got)
	again, err := tm.Migrate(t.Context(), false)
	if err != nil || len(again.Steps) > 0 || again.From != team.SchemaVersion || !maps.Equal(got, contents(t, r.Path)) {
		t.Errorf("again: %+v %v", again, err)
	}
	return m
}

// thawed is a copy of a frozen directory, and the team in it.
func thawed(t *testing.T, frozen string) (team.Root, *team.Team) {
	t.Helper()
	r := newRoot(t)
	testenv.Must(t, os.CopyFS(r.Path, os.DirFS(frozen)))
	names, err := r.Names()
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	tm := openTeam(t, r, names[0], team.Options{})
	return r, tm.KeepIn(filepath.Join(r.Path, "kept"))
}

// changes are the changes of one step of a migration.
func changes(t *testing.T, m *team.Migration, number int) []string {
	t.Helper()
	for _, s := range m.Steps {
		if s.Number == number {
			return s.Changes
		}
	}
	t.Errorf("there was no step %d: %+v", number, m)
	return nil
}

func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"99.0.0": "newer", "1.0": "not a version", "v1": "not a version", "1.0.01": "not a version"} {
		r := newRoot(t)
		tm := create(t, r, team.Config{Name: "api", SchemaVersion: version})
		before := contents(t, r.Path)
		_, err := tm.Migrate(t.Context(), false)
		if !errors.As(err, new(*team.VersionError)) || !strings.Contains(err.Error(), want) || !maps.Equal(before, contents(t, r.Path)) {
			t.Errorf("%s: %v", version, err)
		}
	}
	r := newRoot(t)
	tm := create(t, r, team.Config{Name: "session-0123abcd"})
	if _, err := tm.Migrate(t.Context(), false); !errors.As(err, new(*team.VersionError)) {
		t.Errorf("a session's team: %v", err)
	}
}

// TestMigrateBetweenVersions: a registry whose version is between two of ours gets the steps of the
// later versions.
func TestMigrateBetweenVersions(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	tm := create(t, r, team.Config{Name: "api", SchemaVersion: "1.1.7"})
	m, err := tm.Migrate(t.Context(), false)
	if err != nil || len(m.Steps) == 0 || m.Steps[0].Version != "1.2.0" || load(t, tm).SchemaVersion != team.SchemaVersion {
		t.Errorf("%+v %v", m, err)
	}
}

// TestMigrateEveryEra: registries of every version that was seen keep what they
// say, and are as valid as before.
func TestMigrateEveryEra(t *testing.T) {
	t.Parallel()
	for name, data := range fixtures(t) {
		if name == "odd" {
			continue
		}
		r := newRoot(t)
		before := mustParse(t, data)
		if before.Name == "" || before.Dialect() == team.DialectSession {
			before.Name = "api"
			data = before.AppendJSON(nil)
		}
		write(t, r.ConfigPath(before.Name), string(data))
		tm := openTeam(t, r, before.Name, options())
		if _, err := tm.Migrate(t.Context(), false); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		after := load(t, tm)
		for _, m := range before.Members {
			if got, ok := after.Member(m.Name); !ok || got.Prompt != m.Prompt || !got.JoinedAt.Equal(m.JoinedAt) || got.Color != m.Color {
				t.Errorf("%s: %s was %+v, is %+v", name, m.Name, m, got)
			}
		}
		if got := team.Validate([]byte(read(t, r.ConfigPath(before.Name)))); len(got) > len(team.Validate(data)) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// helperMigrate migrates a team and kills itself at a step.
func helperMigrate() error {
	n, err := strconv.Atoi(os.Getenv(envStep))
	if err != nil {
		return err
	}
	root := team.Root{Path: os.Getenv(envRoot)}
	names, err := root.Names()
	if err != nil {
		return err
	}
	tm, err := team.Open(root, names[0], team.Options{Hook: dieAt(n)})
	if err != nil {
		return err
	}
	_, err = tm.KeepIn(filepath.Join(root.Path, "kept")).Migrate(context.Background(), false)
	return err
}

// TestKilledWhileMigrating: the next migration comes to the same end.
func TestKilledWhileMigrating(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	frozen := []string{"002", "005"}
	for _, dir := range frozen {
		kills := 0
		for n := 0; ; n += 7 {
			r, tm := thawed(t, filepath.Join("testdata", "migrate", dir, "before"))
			out, err := helper(t.Context(), "migrate", r.Path, strconv.Itoa(n)).Output()
			if err == nil {
				break
			}
			kills++
			if _, err := tm.Migrate(t.Context(), false); err != nil {
				t.Errorf("%s %s: %v", dir, out, err)
			}
			got := contents(t, r.Path)
			maps.DeleteFunc(got, func(name, _ string) bool { // what a killed writer leaves
				return strings.HasPrefix(filepath.Base(name), ".") && !strings.HasSuffix(name, "watermark")
			})
			if diff := cmp.Diff(contents(t, filepath.Join("testdata", "migrate", dir, "after")), got); diff != "" {
				t.Errorf("%s killed at %s: %s", dir, out, diff)
			}
		}
		if kills < 5 {
			t.Errorf("%s: only %d kills: this test shows little", dir, kills)
		}
	}
}

func TestMigrateStepsAreNumbered(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	m, err := create(t, r, team.Config{Name: "api"}).Migrate(t.Context(), true)
	testenv.Must(t, err)
	files, err := filepath.Glob("migrate_0*.go")
	testenv.Must(t, err)
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
	if len(files) != len(m.Steps) {
		t.Errorf("%d steps in %q", len(m.Steps), files)
	}
	for i, s := range m.Steps {
		if s.Number != i+1 || files[i] != filepath.Base(files[i]) || !strings.Contains(files[i], "00"+strconv.Itoa(i+1)) {
			t.Errorf("%+v in %s", s, files[i])
		}
		if _, err := os.Stat(strings.TrimSuffix(files[i], ".go") + "_test.go"); err != nil {
			t.Error(err)
		}
		if !isThere(filepath.Join("testdata", "migrate", "00"+strconv.Itoa(i+1), "before")) {
			t.Errorf("step %d has no frozen directory", i+1)
		}
	}
}

// TestNewerIsReadOnly: a registry of a newer version is read, and no writer changes it.
func TestNewerIsReadOnly(t *testing.T) {
	t.Parallel()
	r, tm := newTeam(t)
	if _, _, err := tm.Add(t.Context(), team.Member{Name: "ann"}, false); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, tm.Update(t.Context(), func(c *team.Config) error { c.SchemaVersion = "99.0.0"; return nil }))
	path := r.ConfigPath("api")
	before, err := os.ReadFile(path)
	testenv.Must(t, err)
	if tm, err = team.Open(r, "api", team.Options{}); err != nil {
		t.Fatal(err)
	}
	writers := map[string]func() error{
		"add":     func() error { _, _, err := tm.Add(t.Context(), team.Member{Name: "bob"}, true); return err },
		"remove":  func() error { return tm.Remove(t.Context(), "ann", time.Unix(1, 0)) },
		"move":    func() error { return tm.Move(t.Context(), "ann", "/elsewhere", "") },
		"place":   func() error { return tm.Place(t.Context(), "ann", "tmux", "%1") },
		"migrate": func() error { _, err := tm.Migrate(t.Context(), false); return err },
		"update": func() error {
			return tm.Update(t.Context(), func(c *team.Config) error { c.Description = "mine"; return nil })
		},
	}
	for what, write := range writers {
		if err := write(); !errors.As(err, new(*team.VersionError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("it was changed: %v\n%s", err, after)
	}
	if c, err := tm.Load(t.Context()); err != nil || c.Members[len(c.Members)-1].Name != protocol.MemberName("ann") {
		t.Errorf("it is not read: %v", err)
	}
}
