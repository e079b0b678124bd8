package team_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/team"
)

// deletable is a team with mail and tasks, beside a team whose name has the same beginning.
func deletable(t *testing.T) (team.Root, *team.Team) {
	t.Helper()
	r := newRoot(t)
	tm := create(t, r, team.Config{Name: "api", Members: []team.Member{{Name: "w"}}})
	create(t, r, team.Config{Name: "api-2"})
	write(t, filepath.Join(r.InboxesDir("api"), "w.json"), oldMail)
	write(t, filepath.Join(r.TasksDir("api"), "1.json"), `{"id":"1"}`)
	write(t, filepath.Join(r.TasksDir("api"), ".lock"), "")
	write(t, filepath.Join(r.TasksDir("api"), "w", "artifacts", "a.txt"), "made")
	return r, tm
}

func TestMoveTo(t *testing.T) {
	t.Parallel()
	places := map[string]string{"same file system": t.TempDir()}
	if dir, err := os.MkdirTemp("/dev/shm", "waggle-test-"); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		places["perhaps another"] = dir
	}
	for what, place := range places {
		for _, tasks := range []bool{false, true} {
			dir := filepath.Join(place, strconv.FormatBool(tasks))
			testenv.Must(t, os.Mkdir(dir, 0o700))
			r, tm := deletable(t)
			if err := tm.MoveTo(t.Context(), dir, tasks); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if got := read(t, filepath.Join(dir, "team", "inboxes", "w.json")); got != oldMail {
				t.Errorf("%s: %q", what, got)
			}
			if _, err := os.Lstat(filepath.Join(dir, "team", "config.json.lock")); err == nil {
				t.Errorf("%s: the lock was moved along", what)
			}
			if exists := isThere(r.TasksDir("api")); exists == tasks {
				t.Errorf("%s: tasks are there: %v", what, exists)
			}
			if tasks && read(t, filepath.Join(dir, "tasks", "w", "artifacts", "a.txt")) != "made" {
				t.Errorf("%s: artifacts are lost", what)
			}
			if got := children(t, filepath.Dir(r.TeamDir("api"))); !slices.Equal(got, []string{"api-2"}) {
				t.Errorf("%s: %q is left", what, got)
			}
			if err := tm.MoveTo(t.Context(), dir, tasks); !errors.As(err, new(*team.NotFoundError)) {
				t.Errorf("%s: again: %v", what, err)
			}
		}
	}
}

// TestMoveToDespiteALock: a lock that another program does not release keeps neither the files nor the name of a team that
// has ended; Delete, which keeps nothing, waits for it.
func TestMoveToDespiteALock(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{filepath.Join("teams", "api", "config.json.lock"), filepath.Join("tasks", "api", ".lock.lock")} {
		r, _ := deletable(t)
		tm := openTeam(t, r, "api", team.Options{Deadline: 20 * time.Millisecond})
		testenv.Must(t, os.Mkdir(filepath.Join(r.Path, lock), 0o700))
		if err := tm.Delete(t.Context(), true); !errors.As(err, new(*team.LockedError)) || !isThere(r.ConfigPath("api")) {
			t.Errorf("delete beside %s: %v", lock, err)
		}
		dir := t.TempDir()
		if err := tm.MoveTo(t.Context(), dir, true); err != nil {
			t.Errorf("beside %s: %v", lock, err)
		}
		if read(t, filepath.Join(dir, "team", "inboxes", "w.json")) != oldMail || isThere(r.TeamDir("api")) || isThere(r.TasksDir("api")) {
			t.Errorf("%s: not moved", lock)
		}
		create(t, r, team.Config{Name: "api"})
	}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestMoveToTakesWhatWasLeft: MoveTo also takes the team that a process left which was killed
// between hiding the team and copying it to another file system.
func TestMoveToTakesWhatWasLeft(t *testing.T) {
	t.Parallel()
	r, tm := deletable(t)
	write(t, filepath.Join(r.Path, "teams", ".api.moving-0123", "inboxes", "v.json"), oldMail)
	dir := t.TempDir()
	testenv.Must(t, tm.MoveTo(t.Context(), dir, false))
	if got := read(t, filepath.Join(dir, "team-2", "inboxes", "v.json")); got != oldMail {
		t.Errorf("%q", got)
	}
	if got := children(t, filepath.Join(r.Path, "teams")); !slices.Equal(got, []string{"api-2"}) {
		t.Errorf("%q is left", got)
	}
}

// helperDispose deletes or moves a team and kills itself at a step.
func helperDispose(role string) error {
	step, err := strconv.Atoi(os.Getenv(envStep))
	if err != nil {
		return err
	}
	root := os.Getenv(envRoot)
	tm, err := team.Open(team.Root{Path: root}, "api", team.Options{Hook: dieAt(step)})
	if err != nil {
		return err
	}
	if role == "delete" {
		return tm.Delete(context.Background(), true)
	}
	return tm.MoveTo(context.Background(), filepath.Join(root, "kept"), true)
}

// TestKilledWhileDisposing kills a process at every step of deleting and moving a team: the next
// process finishes it, keeps all files that the move keeps, and touches no other file.
func TestKilledWhileDisposing(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	for _, role := range []string{"delete", "move"} {
		steps := 0
		for step := 0; ; step++ {
			r, _ := deletable(t)
			kept := filepath.Join(r.Path, "kept")
			testenv.Must(t, os.Mkdir(kept, 0o700))
			out, err := helper(t.Context(), role, r.Path, strconv.Itoa(step)).Output()
			if err == nil {
				break
			}
			steps++
			at := role + " " + strings.TrimSpace(string(out))
			if tm, err := team.Open(r, "api", team.Options{}); err == nil {
				if role == "delete" {
					err = tm.Delete(t.Context(), true)
				} else {
					again := filepath.Join(kept, "again")
					testenv.Must(t, os.Mkdir(again, 0o700))
					err = tm.MoveTo(t.Context(), again, true)
				}
				if err != nil {
					t.Errorf("%s: again: %v", at, err)
				}
			}
			if isThere(r.TeamDir("api")) || isThere(r.TasksDir("api")) || !isThere(r.ConfigPath("api-2")) {
				t.Errorf("%s: %q %q", at, children(t, filepath.Join(r.Path, "teams")), children(t, filepath.Join(r.Path, "tasks")))
			}
			var mail, made int
			for _, line := range tree(t, kept) {
				mail += strings.Count(line, "inboxes/w.json")
				made += strings.Count(line, "a.txt")
			}
			if role == "move" && (mail != 1 || made != 1) {
				t.Errorf("%s: %d mailboxes and %d artifacts kept", at, mail, made)
			}
			// A new team of that name is one, and sweeps what the killed one left.
			create(t, r, team.Config{Name: "api"})
			for _, dir := range []string{"teams", "tasks"} {
				if got := children(t, filepath.Join(r.Path, dir)); !slices.Equal(got, []string{"api", "api-2"}) {
					t.Errorf("%s: %q", at, got)
				}
			}
		}
		if steps < 6 {
			t.Errorf("%s: only %d steps: this test shows little", role, steps)
		}
	}
}

func TestDeleteTakesMailboxesOfTheOldSpelling(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	write(t, r.ConfigPath("my-team"), `{"name":"My Team","leadAgentId":"team-lead@My Team","createdAt":1,"members":[]}`)
	write(t, filepath.Join(r.Path, "teams", "My-Team", "inboxes", "w.json"), oldMail)
	write(t, filepath.Join(r.Path, "teams", "My-Team", "notes.txt"), "not ours")
	tm := openTeam(t, r, "my-team", team.Options{})
	testenv.Must(t, tm.Delete(t.Context(), true))
	if got := children(t, filepath.Join(r.Path, "teams")); !slices.Equal(got, []string{"My-Team"}) {
		t.Errorf("%q", got)
	}
	if got := children(t, filepath.Join(r.Path, "teams", "My-Team")); !slices.Equal(got, []string{"notes.txt"}) {
		t.Errorf("%q", got)
	}
}

func TestDeleteRefusesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	r, tm := deletable(t)
	if err := os.Chown(r.TeamDir("api"), 12345, 12345); err != nil {
		t.Skip("cannot give a directory away: ", err)
	}
	for _, err := range []error{tm.Delete(t.Context(), true), tm.MoveTo(t.Context(), t.TempDir(), true)} {
		if err == nil || !strings.Contains(err.Error(), "belongs to user 12345 and stays") {
			t.Error(err)
		}
	}
	if !isThere(r.TasksDir("api")) || !isThere(r.ConfigPath("api")) {
		t.Error("something is gone")
	}
}
