//go:build unix

package sessiontest

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waggle/internal/claude/session"
	"waggle/internal/face/cli"
	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

func TestMain(m *testing.M) {
	// A client mostly waits: run more tests at once than there are processors.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"waggle": func() { os.Exit(cli.Main()) }})
}

// world is an account whose Claude Code settings have waggle's hooks.
type world struct {
	t     *testing.T
	m     *claudetest.Model
	h     *claudetest.Home
	bin   string
	store session.Store
}

// newWorld makes an account and installs the hooks in it.
func newWorld(t *testing.T, version string, next claudetest.Next) *world {
	t.Helper()
	testenv.Long(t)
	m := claudetest.NewModel(t, next)
	h := claudetest.NewHome(t, version, m)
	program, err := exec.LookPath("waggle")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, m: m, h: h, bin: h.Install(program), store: session.At(filepath.Join(h.Home, ".local", "state", "waggle"), time.Now)}
	w.ok("hooks", "install", "--yes")
	return w
}

// said is the output of a command and its exit code.
type said struct {
	out, err string
	code     int
}

func (w *world) run(args ...string) said {
	w.t.Helper()
	cmd := w.h.Command(w.bin, args...)
	var out, serr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &serr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Errorf("waggle %q: %v", args, err)
	}
	return said{out.String(), serr.String(), cmd.ProcessState.ExitCode()}
}

// ok runs a command that must succeed.
func (w *world) ok(args ...string) string {
	w.t.Helper()
	s := w.run(args...)
	if s.code != 0 {
		w.t.Fatalf("waggle %q: exit %d: %s%s", args, s.code, s.out, s.err)
	}
	return s.out
}

// refused runs a command that must be refused with words of this kind.
func (w *world) refused(words string, args ...string) {
	w.t.Helper()
	if s := w.run(args...); s.code != 6 || !strings.Contains(s.err, words) {
		w.t.Errorf("waggle %q: exit %d, want 6 and %q: %s%s", args, s.code, words, s.out, s.err)
	}
}

// requests are all requests on record, in every session.
func (w *world) requests() []session.Request {
	w.t.Helper()
	all, problems := w.store.All()
	if len(problems) > 0 {
		w.t.Error(errors.Join(problems...))
	}
	var rs []session.Request
	for _, one := range all {
		rs = append(rs, one.Requests()...)
	}
	return rs
}

// find is the newest request whose input has these words.
func (w *world) find(words string) (session.Request, bool) {
	rs := w.requests()
	for i := len(rs) - 1; i >= 0; i-- {
		if strings.Contains(rs[i].Ask.Input, words) {
			return rs[i], true
		}
	}
	return session.Request{}, false
}

// asked waits until a request with these words is open.
func (w *world) asked(words string) session.Request {
	w.t.Helper()
	return w.state(words, session.StateOpen)
}

// state waits until the newest request with these words has come to a state.
func (w *world) state(words string, want session.State) session.Request {
	w.t.Helper()
	var r session.Request
	claudetest.Until(w.t, func() string { return "the request " + words + " is not " + string(want) + " but " + string(r.State) }, func() bool {
		var found bool
		r, found = w.find(words)
		return found && r.State == want
	})
	return r
}

// mark is a call that leaves a line in a file each time that it runs.
func mark(name string) claudetest.Turn { return claudetest.Bash("echo ran >>" + name) }

// ran checks how often a mark's call ran.
func (w *world) ran(name string, times int) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.h.Work, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	if got := strings.Count(string(data), "ran\n"); got != times {
		w.t.Errorf("%s ran %d times, want %d", name, got, times)
	}
}

// result waits for the result of the n-th turn's call, from 0.
func (w *world) result(turn int) claudetest.Block {
	w.t.Helper()
	return w.m.Await("the result of a turn", func(r claudetest.Request) bool {
		return r.Turns() == turn+1 && len(r.Results()) == 1
	}).Results()[0]
}
