package spawntest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// TestBackend checks that b starts what it was asked to start, knows it and sees
// it end. The test binary calls Main in its TestMain. A backend whose processes are
// inside of this program runs Inside, and passes what is not about pids and signals.
func TestBackend(t *testing.T, b spawn.Backend) {
	if b.Name() == "" {
		t.Error("the backend has no name")
	}
	inside := b.Name() == "in-process"
	for _, c := range []struct {
		name string
		own  bool // about a process of its own
		test func(*testing.T, spawn.Backend)
	}{
		{"Exactly", true, testExactly},
		{"Log", false, testLog},
		{"Identity", true, testIdentity},
		{"Exit", true, testExit},
		{"Codes", false, testCodes},
		{"AtOnce", true, testAtOnce},
		{"OutlivesContext", false, testOutlivesContext},
		{"Refuses", true, testRefuses},
		{"RefusesPlaces", false, testRefusesPlaces},
		{"Stop", true, testStop},
		{"StopProcess", false, testStopProcess},
		{"Concurrent", false, testConcurrent},
	} {
		if !c.own || !inside {
			t.Run(c.name, func(t *testing.T) { c.test(t, b) })
		}
	}
}

// Start starts a spec and ends the process with the test.
func Start(t testing.TB, b spawn.Backend, spec spawn.Spec) *spawn.Process {
	t.Helper()
	p := testenv.Value(b.Start(t.Context(), spec))(t)
	t.Cleanup(func() { EndProcess(t, p) })
	return p
}

// EndProcess ends what a backend has started and waits for it.
func EndProcess(t testing.TB, p *spawn.Process) {
	t.Helper()
	if _, err := p.Stop(context.Background(), atOnce); err != nil {
		t.Error(err)
		return
	}
	<-p.Done()
}

// atOnce kills a process that does not end by itself.
var atOnce = spawn.Grace{Term: time.Millisecond, Kill: 10 * time.Second}

// End kills a process and what runs below it.
func End(t testing.TB, id spawn.Identity) {
	t.Helper()
	if _, err := spawn.StopTree(context.Background(), id, atOnce); err != nil {
		t.Error(err)
	}
}

// Wait returns how a process ended, and fails the test when it does not.
func Wait(t testing.TB, p *spawn.Process) spawn.Exit {
	t.Helper()
	select {
	case <-p.Done():
		return p.Exit()
	case <-time.After(time.Minute):
		t.Fatalf("process %d did not end", p.Identity().PID)
		return spawn.Exit{}
	}
}

func testExactly(t *testing.T, b spawn.Backend) {
	args := []string{"", "two words", "$HOME", "a;b", `q"'`, "*", "`id`", "-x", "new\nline"}
	spec := Spec(t, ModeReport, args...)
	spec.Env = append(spec.Env, "A=1", "B=two words; $A", "C=")
	p := Start(t, b, spec)
	if got := Wait(t, p); got != (spawn.Exit{}) {
		t.Fatalf("exit %+v", got)
	}
	dir, err := filepath.EvalSymlinks(spec.Dir)
	testenv.Must(t, err)
	want := Report{Args: args, Env: spec.Env, Dir: dir}
	slices.Sort(want.Env)
	var got Report
	log := read(t, spec.Log)
	if err := json.Unmarshal([]byte(log[strings.Index(log, "{"):]), &got); err != nil {
		t.Fatalf("%v in %s", err, log)
	}
	if p.Place().Pane != nil { // what names it comes from the pane
		got.Env = spawn.Without(got.Env, spawn.ScopeTerminal)
	}
	if runtime.GOOS == "windows" {
		got.Env = slices.DeleteFunc(got.Env, func(e string) bool { return strings.HasPrefix(e, "SYSTEMROOT=") })
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("started with (-want +got):\n%s", d)
	}
}

func testLog(t *testing.T, b spawn.Backend) {
	spec := Spec(t, ModeReport)
	testenv.Must(t, os.WriteFile(spec.Log, []byte("before\n"), 0o644))
	for range 2 {
		Wait(t, Start(t, b, spec))
	}
	log := read(t, spec.Log)
	if !strings.HasPrefix(log, "before\n") || strings.Count(log, "on stderr\n") != 2 || strings.Count(log, `"Dir"`) != 2 {
		t.Errorf("log:\n%s", log)
	}
	fi, err := os.Stat(spec.Log)
	testenv.Must(t, err)
	if runtime.GOOS != "windows" && fi.Mode() != 0o600 {
		t.Errorf("log has mode %v", fi.Mode())
	}
}

func testIdentity(t *testing.T, b spawn.Backend) {
	spec := Spec(t, ModeBlock)
	p := Start(t, b, spec)
	id := p.Identity()
	if pid := Ready(t, spec.Log, 1)[ModeBlock]; pid != id.PID {
		t.Errorf("pid %d runs, recorded is %d", pid, id.PID)
	}
	now, err := spawn.Identify(id.PID)
	if err != nil || now != id {
		t.Errorf("Identify: %+v, %v, recorded %+v", now, err, id)
	}
	if id.PGID != id.PID {
		t.Errorf("not in a group of its own: %+v", id)
	}
	if !id.Alive() {
		t.Error("not alive while it runs")
	}
	if got := p.Exit(); got != (spawn.Exit{Code: -1}) {
		t.Errorf("exit before the end: %+v", got)
	}
	End(t, id)
	Wait(t, p)
	if id.Alive() {
		t.Error("alive after it ended")
	}
	if _, err := spawn.Identify(id.PID); !errors.Is(err, spawn.ErrGone) {
		t.Errorf("Identify after it was reaped: %v", err)
	}
}

func testCodes(t *testing.T, b spawn.Backend) {
	for code, arg := range map[int]string{0: "0", 7: "7", 255: "255"} {
		if got := Wait(t, Start(t, b, Spec(t, ModeExit, arg))); got != (spawn.Exit{Code: code}) {
			t.Errorf("exit %d: %+v", code, got)
		}
	}
}

func testExit(t *testing.T, b spawn.Backend) {
	if runtime.GOOS == "windows" {
		return
	}
	p := Start(t, b, Spec(t, ModeBlock))
	proc, err := os.FindProcess(p.Identity().PID)
	testenv.Must(t, err)
	testenv.Must(t, proc.Kill())
	if got := Wait(t, p); got != (spawn.Exit{Code: -1, Signal: "killed"}) {
		t.Errorf("killed: %+v", got)
	}
}

func testAtOnce(t *testing.T, b spawn.Backend) {
	seen := map[spawn.Identity]bool{}
	spec := Spec(t, ModeExit, "0")
	n := testenv.Sizes(5, 20, 20)
	for range n {
		p := Start(t, b, spec)
		if id := p.Identity(); id.PID <= 0 || id.PGID != id.PID || id.Start == "" {
			t.Fatalf("identity %+v", id)
		}
		Wait(t, p)
		seen[p.Identity()] = true
	}
	if len(seen) != n {
		t.Errorf("%d processes had %d identities", n, len(seen))
	}
}

func testOutlivesContext(t *testing.T, b spawn.Backend) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	file := filepath.Join(t.TempDir(), "go")
	spec := Spec(t, ModeFollow, file)
	p, err := b.Start(ctx, spec)
	testenv.Must(t, err)
	defer EndProcess(t, p)
	Ready(t, spec.Log, 1)
	cancel()
	testenv.Must(t, os.WriteFile(file, nil, 0o600))
	Await(t, "the process to go on", func() bool { return strings.Contains(read(t, spec.Log), "seen") })
	if _, err := b.Start(ctx, spec); !errors.Is(err, context.Canceled) {
		t.Errorf("start with a cancelled context: %v", err)
	}
}

func testRefuses(t *testing.T, b spawn.Backend) {
	good := Spec(t, ModeExit, "0")
	file := filepath.Join(good.Dir, "file")
	testenv.Must(t, os.WriteFile(file, nil, 0o600))
	cwd, err := os.Getwd()
	testenv.Must(t, err)
	relative, err := filepath.Rel(cwd, good.Argv[0])
	if err != nil {
		relative = "." // another drive
	}
	refused(t, b, good, map[string]func(*spawn.Spec){
		"no program":       func(s *spawn.Spec) { s.Argv = nil },
		"empty program":    func(s *spawn.Spec) { s.Argv = []string{""} },
		"bare name":        func(s *spawn.Spec) { s.Argv = []string{"sh"} },
		"relative program": func(s *spawn.Spec) { s.Argv, s.Dir = []string{relative, "0"}, "" },
		"missing program":  func(s *spawn.Spec) { s.Argv = []string{file + ".none"} },
	})
}

func testRefusesPlaces(t *testing.T, b spawn.Backend) {
	good := Spec(t, ModeExit, "0")
	file := filepath.Join(good.Dir, "file")
	testenv.Must(t, os.WriteFile(file, nil, 0o600))
	refused(t, b, good, map[string]func(*spawn.Spec){
		"missing dir":      func(s *spawn.Spec) { s.Dir = file + ".none" },
		"file as dir":      func(s *spawn.Spec) { s.Dir = file },
		"no log":           func(s *spawn.Spec) { s.Log = "" },
		"log without dir":  func(s *spawn.Spec) { s.Log = filepath.Join(file+".none", "log") },
		"directory as log": func(s *spawn.Spec) { s.Log = s.Dir },
	})
}

func refused(t *testing.T, b spawn.Backend, good spawn.Spec, changes map[string]func(*spawn.Spec)) {
	t.Helper()
	for name, change := range changes {
		spec := good
		change(&spec)
		p, err := b.Start(t.Context(), spec)
		if err == nil {
			t.Errorf("%s: started %+v", name, p.Identity())
			EndProcess(t, p)
			continue
		}
		if strings.HasSuffix(name, "dir") && !strings.Contains(err.Error(), spec.Dir) {
			t.Errorf("%s: the error does not name it: %v", name, err)
		}
	}
}

// testStopProcess: Process.Stop is the way that is right for every kind.
func testStopProcess(t *testing.T, b spawn.Backend) {
	spec := Spec(t, ModeBlock)
	p := Start(t, b, spec)
	Ready(t, spec.Log, 1)
	g := spawn.Grace{Term: time.Minute, Kill: time.Minute}
	if rung, err := p.Stop(t.Context(), g); err != nil || rung != spawn.RungTerm && runtime.GOOS != "windows" {
		t.Errorf("stop: %q, %v", rung, err)
	}
	Wait(t, p)
	if rung, err := p.Stop(t.Context(), g); err != nil || rung != spawn.RungGone {
		t.Errorf("second stop: %q, %v", rung, err)
	}
}

func testStop(t *testing.T, b spawn.Backend) {
	for mode, want := range map[Mode]string{ModeBlock: spawn.RungTerm, ModeStubborn: spawn.RungKill} {
		if runtime.GOOS == "windows" {
			want = spawn.RungKill // unless it shares our console
		}
		spec := Spec(t, mode)
		p := Start(t, b, spec)
		Ready(t, spec.Log, 1)
		g := spawn.Grace{Term: time.Minute, Kill: time.Minute}
		if mode == ModeStubborn {
			g.Term = 50 * time.Millisecond
		}
		rung, err := spawn.Stop(t.Context(), p.Identity(), g)
		if err != nil || rung != want {
			t.Errorf("stop of %s: %q, %v", mode, rung, err)
		}
		Wait(t, p)
		if rung, err := spawn.Stop(t.Context(), p.Identity(), g); err != nil || rung != spawn.RungGone {
			t.Errorf("second stop of %s: %q, %v", mode, rung, err)
		}
	}
}

func testConcurrent(t *testing.T, b spawn.Backend) {
	n := testenv.Sizes(5, 20, 20)
	var wg sync.WaitGroup
	procs := make([]*spawn.Process, n)
	specs := make([]spawn.Spec, n)
	for i := range n {
		specs[i] = Spec(t, ModeBlock)
		wg.Go(func() {
			p, err := b.Start(t.Context(), specs[i])
			if err != nil {
				t.Errorf("start %d: %v", i, err)
				return
			}
			procs[i] = p
		})
	}
	wg.Wait()
	for i, p := range procs {
		if p == nil {
			continue
		}
		if pid := Ready(t, specs[i].Log, 1)[ModeBlock]; pid != p.Identity().PID {
			t.Errorf("process %d is %d, recorded %d", i, pid, p.Identity().PID)
		}
	}
	for _, p := range procs {
		if p == nil {
			continue
		}
		wg.Go(func() { EndProcess(t, p) })
	}
	wg.Wait()
}

func read(t testing.TB, file string) string {
	t.Helper()
	return string(testenv.Value(os.ReadFile(file))(t))
}
