//go:build unix

package terminal_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
	"waggle/spawn/terminal"
)

func TestITerm2Backend(t *testing.T) {
	t.Parallel()
	f := newITerm(t)
	spawntest.TestBackend(t, terminal.ITerm2(f.options()))
	if left, err := os.ReadDir(f.profiles()); err != nil || len(left) > 0 {
		t.Errorf("profiles left behind: %v, %v", left, err)
	}
	for _, call := range f.calls() {
		if slices.Contains(call, "run") || slices.Contains(call, "send") {
			t.Errorf("typed into a session: %q", call)
		}
	}
}

// A team beside its leader: titled and coloured splits, the first beside the home
// session, each other below the last. One is closed, and only that one; in the end
// everything is as it was.
func TestITerm2Team(t *testing.T) {
	t.Parallel()
	f := newITerm(t)
	f.wrong(late)
	o := f.options()
	var ps []*spawn.Process
	for _, name := range []string{"ann", `bob\(1)`} {
		spec := spawntest.Spec(t, spawntest.ModePolite)
		spec.Title, spec.Color = name, "red"
		// The leader makes a backend for each start.
		ps = append(ps, spawntest.Start(t, terminal.ITerm2(o), spec))
		profile := f.last()
		if got, _ := profile["Name"].(string); !strings.HasPrefix(got, strings.ReplaceAll(name, `\`, "_")+" [") {
			t.Errorf("the session is named %q", got)
		}
		want := map[string]any{"Badge Text": strings.ReplaceAll(name, `\`, "_"), "Initial Text": "", "Custom Command": "Yes", "Use Tab Color": true,
			"Close Sessions On End": false}
		for k, v := range want {
			if profile[k] != v {
				t.Errorf("%s is %v, want %v", k, profile[k], v)
			}
		}
		if profile["Tab Color"] == nil {
			t.Error("no colour")
		}
	}
	ann, bob := ps[0].Place().Pane, ps[1].Place().Pane
	if ann.Mux != spawn.MuxITerm2 || ann.Server.PID != f.app.Process.Pid || ann.Socket != "" {
		t.Errorf("pane %+v, of iTerm2 %d", ann, f.app.Process.Pid)
	}
	f.shows(homeSession, ann.ID, bob.ID)
	calls := f.calls()
	if !hasCall(calls, "session", "split", "-s", homeSession, "-v", "-p") || !hasCall(calls, "session", "split", "-s", ann.ID, "-p") {
		t.Errorf("calls %q", calls)
	}
	end := func(p *spawn.Process) *terminal.Held {
		t.Helper()
		spawntest.End(t, p.Identity())
		spawntest.Wait(t, p)
		h := held(t, o.Dir, p)
		if h == nil || !h.Gone() || !h.Ended {
			t.Fatalf("%+v of a process that has ended", h)
		}
		return h
	}
	if err := held(t, o.Dir, ps[1]).Close(t.Context(), f.it2, f.env); err == nil {
		t.Error("closed while it runs")
	}
	h := end(ps[0])
	f.shows(homeSession, ann.ID, bob.ID) // the split stays
	testenv.Must(t, h.Close(t.Context(), f.it2, f.env))
	f.shows(homeSession, bob.ID)
	testenv.Must(t, end(ps[1]).Close(t.Context(), f.it2, f.env))
	f.shows(homeSession)
}

// Only the split that was made for a process is closed: not one with another id in the record, not
// our own, not one in which a person has started another program, not one of another run of iTerm2.
func TestITerm2ClosesOnlyOurs(t *testing.T) {
	t.Parallel()
	f := newITerm(t)
	o := f.options()
	b := terminal.ITerm2(o)
	p := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeExit, "0"))
	spawntest.Wait(t, p)
	place := p.Place()
	closes := func(change func(*spawn.Pane), env []string) {
		t.Helper()
		pane, at := *place.Pane, place
		at.Pane = &pane
		change(at.Pane)
		testenv.Must(t, terminal.ClosePane(t.Context(), f.it2, env, at))
		f.shows(homeSession, place.Pane.ID)
	}
	closes(func(p *spawn.Pane) { p.ID = homeSession }, f.env) // our own
	closes(func(p *spawn.Pane) { p.ID = "%1" }, f.env)
	closes(func(p *spawn.Pane) { p.ID = "" }, f.env) // it2 would close the active one
	closes(func(p *spawn.Pane) { p.Server.Start = "1" }, f.env)
	closes(func(*spawn.Pane) {}, append(slices.Clone(f.env), "ITERM_SESSION_ID=w0t0p1:"+place.Pane.ID))
	f.call("session", "restart", "-s", place.Pane.ID)
	closes(func(*spawn.Pane) {}, f.env)

	q := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeExit, "0"))
	spawntest.Wait(t, q)
	f.call("session", "close", "-f", "-s", q.Place().Pane.ID) // the person was quicker
	testenv.Must(t, held(t, o.Dir, q).Close(t.Context(), f.it2, f.env))
	if held(t, o.Dir, q) != nil {
		t.Error("it is not forgotten")
	}
}

// A person closes the split: the process is hung up on, and so it is when iTerm2
// ends.
func TestITerm2HangsUp(t *testing.T) {
	t.Parallel()
	f := newITerm(t)
	b := terminal.ITerm2(f.options())
	p := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeBlock))
	q := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeBlock))
	f.call("session", "close", "-f", "-s", p.Place().Pane.ID)
	if e := spawntest.Wait(t, p); e.Signal != "hangup" {
		t.Errorf("exit %+v", e)
	}
	if !q.Identity().Alive() {
		t.Error("the other ended too")
	}
	testenv.Must(t, terminal.ITermHere(t.Context(), f.it2, f.env))
	f.quit(f.app)
	if err := terminal.ITermHere(t.Context(), f.it2, f.env); err == nil {
		t.Error("iTerm2 is here after it has ended")
	}
	if e := spawntest.Wait(t, q); e.Signal != "hangup" {
		t.Errorf("exit %+v", e)
	}
}

// Each failure is reported and leaves no split, no profile and no process.
func TestITerm2Fails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		wrong func(*iterm, *terminal.ITerm2Options)
		want  string
	}{
		{"no it2", func(_ *iterm, o *terminal.ITerm2Options) { o.Program += ".none" }, "no such file"},
		{"no API", func(f *iterm, _ *terminal.ITerm2Options) { f.wrong(goneAPI) }, "Python API not enabled"},
		{"no home", func(_ *iterm, o *terminal.ITerm2Options) { o.Home = strings.Replace(homeSession, "1", "9", 1) }, "start from one of its windows"},
		{"not inside", func(_ *iterm, o *terminal.ITerm2Options) { o.Home = "" }, "no session of iTerm2"},
		{"nonsense", func(f *iterm, _ *terminal.ITerm2Options) { f.wrong(nonsense) }, `"Split it.\n"`},
		{"home as new", func(f *iterm, _ *terminal.ITerm2Options) { f.wrong(homeAsNew) }, "which was there before"},
		{"no holder", func(f *iterm, o *terminal.ITerm2Options) {
			f.wrong(noCommand)
			o.Patience = 500 * time.Millisecond
		}, "ran nothing in it"},
		{"profile not taken up", func(f *iterm, o *terminal.ITerm2Options) {
			o.Profiles, o.Patience = f.dir, 500*time.Millisecond
		}, "INVALID_PROFILE_NAME"},
		{"no directory", func(f *iterm, o *terminal.ITerm2Options) { o.Profiles = filepath.Join(f.dir, "none") }, "dynamic profiles"},
		{"a holder that cannot be spelled", func(_ *iterm, o *terminal.ITerm2Options) { o.Holder = append(o.Holder, `\(x)`) }, "cannot be given the word"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newITerm(t)
			o := f.options()
			c.wrong(f, &o)
			p, err := terminal.ITerm2(o).Start(t.Context(), spawntest.Spec(t, spawntest.ModeBlock))
			if err == nil {
				spawntest.End(t, p.Identity())
				t.Fatal("it was started")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not say %q", err, c.want)
			}
			_ = os.Remove(filepath.Join(f.dir, goneAPI))
			f.shows(homeSession)
			for _, dir := range []string{f.profiles(), o.Dir} {
				if left, err := filepath.Glob(filepath.Join(dir, "*.json")); err != nil || len(left) > 0 {
					t.Errorf("left behind: %v, %v", left, err)
				}
			}
		})
	}
}

// A start removes the profiles of starters that were killed; other profiles in the directory stay.
func TestITerm2Sweeps(t *testing.T) {
	t.Parallel()
	f := newITerm(t)
	keep := []string{"person.json", "waggle-notes.json"}
	for _, name := range append([]string{"waggle-0a0b0c0d.2147483646.77.json"}, keep...) {
		testenv.Must(t, os.WriteFile(filepath.Join(f.profiles(), name), []byte(`{"Profiles":[]}`), 0o600))
	}
	spawntest.Start(t, terminal.ITerm2(f.options()), spawntest.Spec(t, spawntest.ModeBlock))
	left, err := os.ReadDir(f.profiles())
	testenv.Must(t, err)
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if d := cmp.Diff(keep, names); d != "" {
		t.Errorf("profiles (-want +got):\n%s", d)
	}
}

func TestInITerm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value, want string
		ok          bool
	}{
		{"w0t1p2:" + homeSession, homeSession, true},
		{homeSession, "", false},
		{"w0t1p2:", "", false},
		{"w0t1p2:%1", "%1", false},
		{"w0t1p2:" + homeSession + "-0", homeSession + "-0", false},
		{"", "", false},
	} {
		if got, ok := terminal.InITerm([]string{"A=b", "ITERM_SESSION_ID=" + c.value}); ok != c.ok || got != c.want {
			t.Errorf("%q: %q, %v", c.value, got, ok)
		}
	}
}
