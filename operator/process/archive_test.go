package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// TestArchive: Archive ends a team of which no member runs and moves its files out of the wire tree.
// The task list of a deleted team stays.
func TestArchive(t *testing.T) {
	t.Parallel()
	for how, tasksStay := range map[string]bool{process.EndedDown: false, process.EndedRun: false, process.EndedDeleted: true} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r, s := rig(t)
			o := process.Of(r.Op)
			_, id := r.Sleeper(s, "ann")
			testenv.Value(board.Of(r.Op).AddTask(t.Context(), "api", board.NewTask{Subject: "A"}))(t)
			_, err := o.Archive(t.Context(), s, how)
			operatortest.Is(t, "ann runs", err, operator.Refused, "")
			if err == nil || !strings.Contains(err.Error(), "ann runs as process") || s.Lead.Ended != nil {
				t.Errorf("%v", err)
			}
			if _, err := o.Stop(t.Context(), "api", "ann", process.StopOptions{Force: true}); err != nil || id.Alive() {
				t.Fatal(err)
			}
			r.Enlist(s, "bob")
			place, err := o.Archive(t.Context(), s, how)
			testenv.Must(t, err)
			if m, _ := s.Lead.Member("bob"); m.Left == nil || m.Left.How != how || s.Lead.Ended == nil || s.Lead.Ended.How != how {
				t.Errorf("bob %+v, the team %+v", m.Left, s.Lead.Ended)
			}
			if filepath.Dir(place) != s.Dir.Archive() || there(r.Op.Root.TeamDir("api")) || there(r.Op.Root.TasksDir("api")) != tasksStay || there(filepath.Join(place, "tasks")) == tasksStay {
				t.Errorf("archived in %s", place)
			}
			if _, err := o.Archive(t.Context(), s, how); err != nil || !there(place) {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// TestArchiveWhileLed: Archive waits a while for a process that only makes a pass, and does not wait
// for one that leads.
func TestArchiveWhileLed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rig(t)
		o := process.Of(r.Op)
		release, held, err := s.Dir.TryLead()
		if err != nil || !held {
			t.Fatal(held, err)
		}
		began := time.Now()
		_, err = o.Archive(t.Context(), s, process.EndedDown)
		operatortest.Is(t, "somebody leads", err, operator.Locked, "")
		if d := time.Since(began); !errors.Is(err, leader.ErrLeading) || d < 3*time.Second || d > 4*time.Second { // the bubble's clock
			t.Errorf("after %s: %v", d, err)
		}
		if _, err := o.LeadAs(t.Context(), s, o.LeaderOptions(s, true)); !errors.Is(err, leader.ErrLeading) {
			t.Errorf("to lead it: %v", err)
		}
		err = o.EndAll(t.Context(), s, brief, false, nil)
		operatortest.Is(t, "to end it", err, operator.Locked, "")
		over := make(chan error)
		go func() {
			time.Sleep(time.Second) // the bubble's clock: a pass that takes long
			over <- release()
		}()
		free, err := o.HoldLease(t.Context(), s)
		testenv.Must(t, err)
		if err := errors.Join(<-over, free()); err != nil {
			t.Error(err)
		}
	})
}

// TestAwait: Await tests a condition until it holds or the time is over, and once more at the end.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := process.Of(operatortest.New(t))
		n := 0
		if !o.Await(t.Context(), time.Minute, func() bool { n++; return n == 3 }) || n != 3 {
			t.Errorf("looked %d times", n)
		}
		began := time.Now()
		if o.Await(t.Context(), time.Second, func() bool { return false }) || time.Since(began) < time.Second || time.Since(began) > 2*time.Second { // the bubble's clock
			t.Errorf("after %s", time.Since(began))
		}
		last := false
		if !o.Await(t.Context(), time.Second, func() bool { last = time.Since(began) > 2*time.Second; return last }) { // the bubble's clock
			t.Error("it held at the end")
		}
	})
}

// TestPutAway: the files of a team that has ended are moved also when its registry is gone, or is no
// file; the files of another team of that name stay.
func TestPutAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, r *operatortest.Rig, s *operator.State)
		moved string // in the archive
		code  operator.Kind
	}{
		"whole":              {func(*testing.T, *operatortest.Rig, *operator.State) {}, "config.json", 0},
		"without a registry": {func(t *testing.T, r *operatortest.Rig, s *operator.State) { testenv.Must(t, os.Remove(config(r))) }, "inboxes", 0},
		"with a broken one": {func(t *testing.T, r *operatortest.Rig, s *operator.State) {
			testenv.Must(t, os.WriteFile(config(r), []byte("{"), 0o600))
		}, "config.json", 0},
		"without anything": {func(t *testing.T, r *operatortest.Rig, s *operator.State) {
			testenv.Must(t, os.RemoveAll(r.Op.Root.TeamDir("api")))
		}, "", 0},
		"with a file instead":  {func(t *testing.T, r *operatortest.Rig, s *operator.State) { replace(t, r.Op.Root.TeamDir("api")) }, "api", 0},
		"with a file as tasks": {func(t *testing.T, r *operatortest.Rig, s *operator.State) { replace(t, r.Op.Root.TasksDir("api")) }, "api", 0},
		"of another team": {func(t *testing.T, r *operatortest.Rig, s *operator.State) {
			b, err := os.ReadFile(config(r))
			testenv.Must(t, err)
			uid := s.Dir.UID
			text := strings.NewReplacer(session(string(uid)), "00000000-0000-4000-8000-000000000000").Replace(string(b))
			testenv.Must(t, os.WriteFile(config(r), []byte(text), 0o600))
		}, "", operator.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s := rig(t)
			o := process.Of(r.Op)
			operatortest.Append(t, r.Op, s, journal.Draft{Kind: record.KindEnded, Must: true, Body: record.Ended{How: process.EndedDown}})
			c.spoil(t, r, s)
			place, err := o.PutAway(t.Context(), s, false)
			operatortest.Is(t, name, err, c.code, "")
			if err != nil {
				if !there(config(r)) {
					t.Error("its files were moved")
				}
				return
			}
			if there(r.Op.Root.TeamDir("api")) || c.moved != "" && !holds(t, place, c.moved) {
				t.Errorf("in %s is no %s", place, c.moved)
			}
			if done, err := o.Finish(t.Context(), "api"); done || err != nil {
				t.Errorf("there is something left: %v, %v", done, err)
			}
		})
	}
}

// TestFinish: Finish moves the files of a team whose end is on record.
func TestFinish(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	o := process.Of(r.Op)
	if done, err := o.Finish(t.Context(), "api"); done || err != nil {
		t.Errorf("a team that goes on: %v, %v", done, err)
	}
	operatortest.Append(t, r.Op, s, journal.Draft{Kind: record.KindEnded, Must: true, Body: record.Ended{How: process.EndedDown}})
	if done, err := o.Finish(t.Context(), "api"); !done || err != nil || there(r.Op.Root.TeamDir("api")) {
		t.Errorf("a team that has ended: %v, %v", done, err)
	}
}

// TestPlaces: files that are put away get a directory of their own, named by the time, in the archive
// of the last team of their name, or beside the teams' directories.
func TestPlaces(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	r.Op.Minter.Now = func() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 7e6, time.FixedZone("", 3600)) }
	o := process.Of(r.Op)
	place, err := o.NewArchiveDir(s.Dir.Archive())
	if err != nil || place != filepath.Join(s.Dir.Archive(), "20260203T030506.007Z") || !there(place) {
		t.Errorf("%s, %v", place, err)
	}
	if again, err := o.NewLeftoverDir("api"); err != nil || again != place {
		t.Errorf("%s, %v", again, err)
	}
	if other, err := o.NewLeftoverDir("web"); err != nil || filepath.Dir(other) != r.Op.Home.Leftover(r.Op.RootURL, "web") || !there(other) {
		t.Errorf("%s, %v", other, err)
	}
}

// TestFreeLease: a lease that another program holds for longer than a pass is made free.
func TestFreeLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := rig(t)
		o := process.Of(r.Op)
		testenv.Must(t, o.FreeLease(t.Context(), s))
		release, held, err := s.Dir.TryLead()
		if err != nil || !held {
			t.Fatal(held, err)
		}
		defer func() { _ = release() }()
		began := time.Now()
		testenv.Must(t, o.FreeLease(t.Context(), s))
		if led, err := o.IsLed(s); led || err != nil || time.Since(began) < time.Second { // the bubble's clock
			t.Errorf("it is led: %v, %v, after %s", led, err, time.Since(began))
		}
	})
}

// TestMailLeft: mail that was written to a team that has ended is put into the team's archive, or
// beside the teams' directories when there was no team.
func TestMailLeft(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	o := process.Of(r.Op)
	if names, err := o.LeftMail(t.Context(), ""); err != nil || len(names) != 0 {
		t.Errorf("nothing is left: %v, %v", names, err)
	}
	testenv.Value(o.Archive(t.Context(), s, process.EndedDown))(t)
	write := func(name protocol.TeamName) {
		t.Helper()
		dir := filepath.Join(r.Op.Root.TeamDir(name), "inboxes")
		testenv.Must(t, os.MkdirAll(dir, 0o700))
		testenv.Must(t, os.WriteFile(filepath.Join(dir, "ann.json"), []byte("[]"), 0o600))
	}
	write("api")
	write("web")
	names, err := o.LeftMail(t.Context(), "")
	if slices.Sort(names); err != nil || !slices.Equal(names, []protocol.TeamName{"api", "web"}) {
		t.Errorf("%v, %v", names, err)
	}
	c, err := o.GC(t.Context(), "web", false)
	if err != nil || len(c.Found) != 1 || c.Found[0].Kind != process.GarbageMail || c.Found[0].Path != r.Op.Root.TeamDir("web") {
		t.Errorf("%+v, %v", c, err)
	}
	place, err := o.MailLeft(t.Context(), "api")
	if err != nil || filepath.Dir(place) != s.Dir.Archive() || there(r.Op.Root.TeamDir("api")) || !holds(t, place, "ann.json") {
		t.Errorf("%s, %v", place, err)
	}
	if c, err := o.GC(t.Context(), "web", true); err != nil || c.Undone() != 0 || len(c.Found) != 1 || there(r.Op.Root.TeamDir("web")) {
		t.Errorf("%+v, %v", c, err)
	}
	if !holds(t, r.Op.Home.Leftover(r.Op.RootURL, "web"), "ann.json") {
		t.Error("the mail to web is lost")
	}
	if place, err := o.MailLeft(t.Context(), "web"); place != "" || err != nil {
		t.Errorf("nothing is left: %s, %v", place, err)
	}
	testenv.Must(t, os.WriteFile(r.Op.Root.TeamDir("web"), []byte("x"), 0o600))
	if place, err := o.MailLeft(t.Context(), "web"); err != nil || place == "" || there(r.Op.Root.TeamDir("web")) {
		t.Errorf("a file in the way: %s, %v", place, err)
	}
	var missing *team.NotFoundError
	if _, err := o.GC(t.Context(), "apo", false); !errors.As(err, &missing) || !slices.Equal(missing.Near, []string{"api"}) {
		t.Errorf("a team that never was: %v", err)
	}
}

func config(r *operatortest.Rig) string {
	return filepath.Join(r.Op.Root.TeamDir("api"), "config.json")
}

// session is a uid as the registry has it.
func session(uid string) string {
	return uid[:8] + "-" + uid[8:12] + "-" + uid[12:16] + "-" + uid[16:20] + "-" + uid[20:]
}

// replace puts a file in the place of a directory.
func replace(t *testing.T, dir string) {
	t.Helper()
	testenv.Must(t, os.RemoveAll(dir))
	testenv.Must(t, os.WriteFile(dir, []byte("x"), 0o600))
}

// holds reports something of a name below a directory.
func holds(t *testing.T, dir, name string) (found bool) {
	t.Helper()
	testenv.Must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		found = found || strings.Contains(filepath.Base(path), name)
		return err
	}))
	return found
}
