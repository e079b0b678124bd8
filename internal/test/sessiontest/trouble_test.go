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
	w.t.Helper()
	claudetest.Until(w.t, func() string { return what + " runs on" }, func() bool { return syscall.Kill(pid, 0) != nil })
}

// A hook that is killed or timed out, and a program that is missing, do not change the dialog: nothing
// runs until the person answers it, and the list names the place to answer.
func TestDeadHook(t *testing.T) {
	troubled(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.ByMarker(map[string]claudetest.Next{
			"marker-killed": claudetest.Script(mark("killed"), mark("missing"), mark("back"), claudetest.Say("over")),
			"marker-late":   claudetest.Script(mark("late"), claudetest.Say("over")),
		}))
		s := w.h.Start("--permission-mode", "default", "marker-killed")
		r := w.asked(">>killed")
		s.WaitScreen(`killed\s(?s:.*)` + dialog)
		if err := syscall.Kill(r.Hook.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		w.gone("the hook", r.Hook.PID)
		if out := w.ok("pending", "--json"); strings.Contains(out, r.Handle) {
			t.Errorf("pending lists what takes no answer: %s", out)
		}
		w.refused("dialog", "approve", r.Handle)
		if !regexp.MustCompile(dialog).MatchString(s.Screen()) {
			t.Errorf("the dialog is gone with its hook:\n%s", s.Screen())
		}
		w.ran("killed", 0)

		// From now on the hook's program is missing.
		if err := os.Rename(w.bin, w.bin+".away"); err != nil {
			t.Fatal(err)
		}
		s.Choose(`killed\s(?s:.*)`+dialog, "1")
		s.WaitScreen(`missing\s(?s:.*)` + dialog)
		w.ran("killed", 1)
		w.ran("missing", 0)
		s.Choose(`missing\s(?s:.*)`+dialog, "1")
		s.WaitScreen(`back\s(?s:.*)` + dialog)
		w.ran("missing", 1)
		if _, found := w.find(">>missing"); found {
			t.Error("without a program a request is on record")
		}
		if err := os.Rename(w.bin+".away", w.bin); err != nil {
			t.Fatal(err)
		}
		s.Choose(`back\s(?s:.*)`+dialog, "1")
		w.result(2)
		w.ran("back", 1)

		// The client's own time-out for a hook.
		w.timeout(2)
		late := w.h.Start("--permission-mode", "default", "marker-late")
		late.WaitScreen(`late\s(?s:.*)` + dialog)
		r = w.state(">>late", session.StateClosed)
		w.refused("", "approve", r.Handle)
		if !regexp.MustCompile(dialog).MatchString(late.Screen()) {
			t.Errorf("the dialog is gone with its hook:\n%s", late.Screen())
		}
		w.ran("late", 0)
		late.Choose(`late\s(?s:.*)`+dialog, "1")
		late.WaitScreen("over")
		w.ran("late", 1)
	})
}

// timeout gives the hook for requests other seconds, in the settings as they stand.
func (w *world) timeout(seconds int) {
	w.t.Helper()
	path := filepath.Join(w.h.Config, "settings.json")
	data, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	var settings struct {
		Hooks map[string][]struct {
			Matcher string           `json:"matcher,omitempty"`
			Hooks   []map[string]any `json:"hooks"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(data, &settings); err != nil || len(settings.Hooks["PermissionRequest"]) != 1 {
		w.t.Fatalf("settings: %v: %s", err, data)
	}
	settings.Hooks["PermissionRequest"][0].Hooks[0]["timeout"] = seconds
	w.h.WriteJSON(path, settings)
}

// Two terminals answer at once: one of them has decided, the other gets a refusal, and the call runs
// according to that decision.
func TestTwoTerminals(t *testing.T) {
	troubled(t, func(t *testing.T, version string) {
		names := []string{"twice0", "twice1", "twice2"}
		var turns []claudetest.Turn
		for _, n := range names {
			turns = append(turns, mark(n))
		}
		w := newWorld(t, version, claudetest.Script(append(turns, claudetest.Say("over"))...))
		w.h.Start("--permission-mode", "default", "go on")
		for i, name := range names {
			r := w.asked(">>" + name)
			var answers [2]said
			var both sync.WaitGroup
			for n, args := range [][]string{{"approve", r.Handle}, {"deny", r.Handle, "-m", "no"}} {
				both.Go(func() { answers[n] = w.run(args...) })
			}
			both.Wait()
			w.result(i)
			r, _ = w.find(">>" + name)
			want := [2]int{0, 6}
			if r.Decided.Decision == record.DecisionDeny {
				want = [2]int{6, 0}
			}
			if got := [2]int{answers[0].code, answers[1].code}; got != want {
				t.Errorf("%s was decided as %s, approve and deny exit with %v: %+v", name, r.Decided.Decision, got, answers)
			}
			w.ran(name, map[string]int{record.DecisionAllow: 1}[r.Decided.Decision])
		}
		w.once(len(names))
	})
}

// A session that is killed while it asks loses its row (the full run: within two seconds), its request takes no answer,
// and its call does not run.
func TestKilledSession(t *testing.T) {
	troubled(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(mark("never")))
		s := w.h.Start("--permission-mode", "default", "go on")
		r := w.asked(">>never")
		if out := w.ok("status", "--json"); !strings.Contains(out, r.Handle) {
			t.Errorf("status does not list %s: %s", r.Handle, out)
		}
		s.Kill()
		killed := time.Now()
		claudetest.Until(w.t, func() string { return "the session is listed on" }, func() bool {
			return len(w.store.List(w.h.Config, session.Processes()).Rows) == 0
		})
		testenv.Within(t, "the row of a killed session", time.Since(killed), soon)
		w.refused("session has ended", "approve", r.Handle)
		w.gone("the hook", r.Hook.PID)
		w.ran("never", 0)
	})
}

// With STATE full nothing is put on record, and the dialog is the same as without waggle.
func TestStateFull(t *testing.T) {
	troubled(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(mark("full0"), mark("full1"), claudetest.Say("over")))
		state := filepath.Dir(w.store.Dir)
		w.full(state)
		s := w.h.Start("--permission-mode", "default", "go on")
		for i, name := range []string{"full0", "full1"} {
			s.WaitScreen(name + `\s(?s:.*)` + dialog)
			if r, found := w.find(">>" + name); found {
				t.Errorf("in a full STATE %s is on record: %+v", name, r)
			}
			w.ran(name, 0)
			s.Choose(name+`\s(?s:.*)`+dialog, "1")
			w.result(i)
			w.ran(name, 1)
		}
		s.WaitScreen("over")
	})
}

// full makes STATE a file system without room, or where none can be mounted, a
// directory in which nothing can be made.
func (w *world) full(state string) {
	w.t.Helper()
	size := "size=64k,mode=0777"
	if os.Geteuid() == 0 && exec.Command("mount", "-t", "tmpfs", "-o", size, "none", state).Run() == nil {
		w.t.Cleanup(func() {
			w.h.Kill()
			if out, err := exec.Command("umount", state).CombinedOutput(); err != nil {
				w.t.Errorf("umount: %v: %s", err, out)
			}
		})
		if err := os.MkdirAll(w.store.Dir, 0o777); err != nil {
			w.t.Fatal(err)
		}
		if err := os.Chmod(w.store.Dir, 0o777); err != nil {
			w.t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(state, "filler"))
		if err != nil {
			w.t.Fatal(err)
		}
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, 512))
		}
		w.t.Log("STATE is a tmpfs without room")
		return
	}
	if err := os.Chmod(state, 0o500); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = os.Chmod(state, 0o700) }) // for its removal
	w.t.Log("STATE is read-only")
}
