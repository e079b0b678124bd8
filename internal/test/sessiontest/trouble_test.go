//go:build unix

package sessiontest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waggle/internal/claude/session"
	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
	"waggle/record"
)

// troubled runs a test of a failure in all versions with WAGGLE_TEST=soak, else in the newest.
func troubled(t *testing.T, test func(t *testing.T, version string)) {
	if testenv.Soak() {
		claudetest.Each(t, test)
		return
	}
	t.Parallel()
	versions := claudetest.Versions()
	test(t, versions[len(versions)-1])
}

// gone waits until a process has ended.
func (w *world) gone(what string, pid int) {
	w.T.Helper()
	claudetest.Until(w.T, func() string { return what + " runs on" }, func() bool { return syscall.Kill(pid, 0) != nil })
}

// A hook that is killed or timed out, and a program that is missing, do not change the dialog: nothing
// runs until the person answers it, and the list names the place to answer.
func TestDeadHook(t *testing.T) {
	troubled(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.ByMarker(map[string]claudetest.Next{
			"marker-killed": claudetest.Script(claudetest.Mark("killed"), claudetest.Mark("missing"), claudetest.Mark("back"), claudetest.Say("over")),
			"marker-late":   claudetest.Script(claudetest.Mark("late"), claudetest.Say("over")),
		}))
		s := w.H.Start("--permission-mode", "default", "marker-killed")
		r := w.asked(">>killed")
		s.WaitScreen(`killed\s(?s:.*)` + dialog)
		testenv.Must(t, syscall.Kill(r.Hook.PID, syscall.SIGKILL))
		w.gone("the hook", r.Hook.PID)
		if out := w.OK("pending", "--json"); strings.Contains(out, r.Handle) {
			t.Errorf("pending lists what takes no answer: %s", out)
		}
		w.refused("dialog", "approve", r.Handle)
		if !regexp.MustCompile(dialog).MatchString(s.Screen()) {
			t.Errorf("the dialog is gone with its hook:\n%s", s.Screen())
		}
		w.Ran("killed", 0)

		// From now on the hook's program is missing.
		testenv.Must(t, os.Rename(w.Bin, w.Bin+".away"))
		s.Choose(`killed\s(?s:.*)`+dialog, "1")
		s.WaitScreen(`missing\s(?s:.*)` + dialog)
		w.Ran("killed", 1)
		w.Ran("missing", 0)
		s.Choose(`missing\s(?s:.*)`+dialog, "1")
		s.WaitScreen(`back\s(?s:.*)` + dialog)
		w.Ran("missing", 1)
		if _, found := w.find(">>missing"); found {
			t.Error("without a program a request is on record")
		}
		testenv.Must(t, os.Rename(w.Bin+".away", w.Bin))
		s.Choose(`back\s(?s:.*)`+dialog, "1")
		w.Result(2)
		w.Ran("back", 1)

		// The client's own time-out for a hook.
		w.timeout(2)
		late := w.H.Start("--permission-mode", "default", "marker-late")
		late.WaitScreen(`late\s(?s:.*)` + dialog)
		r = w.state(">>late", session.StateClosed)
		w.refused("", "approve", r.Handle)
		if !regexp.MustCompile(dialog).MatchString(late.Screen()) {
			t.Errorf("the dialog is gone with its hook:\n%s", late.Screen())
		}
		w.Ran("late", 0)
		late.Choose(`late\s(?s:.*)`+dialog, "1")
		late.WaitScreen("over")
		w.Ran("late", 1)
	})
}

// timeout gives the hook for requests other seconds, in the settings as they stand.
func (w *world) timeout(seconds int) {
	w.T.Helper()
	path := filepath.Join(w.H.Config, "settings.json")
	data, err := os.ReadFile(path)
	testenv.Must(w.T, err)
	var settings struct {
		Hooks map[string][]struct {
			Matcher string           `json:"matcher,omitempty"`
			Hooks   []map[string]any `json:"hooks"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(data, &settings); err != nil || len(settings.Hooks["PermissionRequest"]) != 1 {
		w.T.Fatalf("settings: %v: %s", err, data)
	}
	settings.Hooks["PermissionRequest"][0].Hooks[0]["timeout"] = seconds
	w.H.WriteJSON(path, settings)
}

// Two terminals answer at once: one of them has decided, the other gets a refusal, and the call runs
// according to that decision.
func TestTwoTerminals(t *testing.T) {
	troubled(t, func(t *testing.T, version string) {
		names := []string{"twice0", "twice1", "twice2"}
		var turns []claudetest.Turn
		for _, n := range names {
			turns = append(turns, claudetest.Mark(n))
		}
		w := newWorld(t, version, claudetest.Script(append(turns, claudetest.Say("over"))...))
		w.H.Start("--permission-mode", "default", "go on")
		for i, name := range names {
			r := w.asked(">>" + name)
			var answers [2]claudetest.Said
			var both sync.WaitGroup
			for n, args := range [][]string{{"approve", r.Handle}, {"deny", r.Handle, "-m", "no"}} {
				both.Go(func() { answers[n] = w.Run(args...) })
			}
			both.Wait()
			w.Result(i)
			r, _ = w.find(">>" + name)
			want := [2]int{0, 6}
			if r.Decided.Decision == record.DecisionDeny {
				want = [2]int{6, 0}
			}
			if got := [2]int{answers[0].Code, answers[1].Code}; got != want {
				t.Errorf("%s was decided as %s, approve and deny exit with %v: %+v", name, r.Decided.Decision, got, answers)
			}
			w.Ran(name, map[string]int{record.DecisionAllow: 1}[r.Decided.Decision])
		}
		w.once(len(names))
	})
}

// A session that is killed while it asks loses its row (the full run: within two seconds), its request takes no answer,
// and its call does not run.
func TestKilledSession(t *testing.T) {
	troubled(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(claudetest.Mark("never")))
		s := w.H.Start("--permission-mode", "default", "go on")
		r := w.asked(">>never")
		if out := w.OK("status", "--json"); !strings.Contains(out, r.Handle) {
			t.Errorf("status does not list %s: %s", r.Handle, out)
		}
		s.Kill()
		killed := time.Now()
		claudetest.Until(w.T, func() string { return "the session is listed on" }, func() bool {
			return len(w.store.List(w.H.Config, session.Looking(nil)).Rows) == 0
		})
		testenv.Within(t, "the row of a killed session", time.Since(killed), soon)
		w.refused("session has ended", "approve", r.Handle)
		w.gone("the hook", r.Hook.PID)
		w.Ran("never", 0)
	})
}

// With STATE full nothing is put on record, and the dialog is the same as without waggle.
func TestStateFull(t *testing.T) {
	troubled(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(claudetest.Mark("full0"), claudetest.Mark("full1"), claudetest.Say("over")))
		state := filepath.Dir(w.store.Dir)
		w.full(state)
		s := w.H.Start("--permission-mode", "default", "go on")
		for i, name := range []string{"full0", "full1"} {
			s.WaitScreen(name + `\s(?s:.*)` + dialog)
			if r, found := w.find(">>" + name); found {
				t.Errorf("in a full STATE %s is on record: %+v", name, r)
			}
			w.Ran(name, 0)
			s.Choose(name+`\s(?s:.*)`+dialog, "1")
			w.Result(i)
			w.Ran(name, 1)
		}
		s.WaitScreen("over")
	})
}

// full makes STATE a file system without room, or where none can be mounted, a
// directory in which nothing can be made.
func (w *world) full(state string) {
	w.T.Helper()
	size := "size=64k,mode=0777"
	if os.Geteuid() == 0 && exec.Command("mount", "-t", "tmpfs", "-o", size, "none", state).Run() == nil {
		w.T.Cleanup(func() {
			w.H.Kill()
			if out, err := exec.Command("umount", state).CombinedOutput(); err != nil {
				w.T.Errorf("umount: %v: %s", err, out)
			}
		})
		testenv.Must(w.T, os.MkdirAll(w.store.Dir, 0o777))
		testenv.Must(w.T, os.Chmod(w.store.Dir, 0o777))
		f, err := os.Create(filepath.Join(state, "filler"))
		testenv.Must(w.T, err)
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, 512))
		}
		w.T.Log("STATE is a tmpfs without room")
		return
	}
	testenv.Must(w.T, os.Chmod(state, 0o500))
	w.T.Cleanup(func() { _ = os.Chmod(state, 0o700) }) // for its removal
	w.T.Log("STATE is read-only")
}
