//go:build unix

package sessiontest

import (
	"errors"
	"flag"
	"os"
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
	*claudetest.Account
	store session.Store
}

// newWorld makes an account and installs the hooks in it.
func newWorld(t *testing.T, version string, next claudetest.Next) *world {
	t.Helper()
	testenv.Long(t)
	h := claudetest.NewHome(t, version, claudetest.NewModel(t, next))
	w := &world{claudetest.NewAccount(t, h), session.At(filepath.Join(h.Home, ".local", "state", "waggle"), time.Now)}
	w.OK("hooks", "install", "--yes")
	return w
}

// refused runs a command that must be refused with words of this kind.
func (w *world) refused(words string, args ...string) {
	w.T.Helper()
	if s := w.Run(args...); s.Code != 6 || !strings.Contains(s.Err, words) {
		w.T.Errorf("waggle %q: exit %d, want 6 and %q: %s%s", args, s.Code, words, s.Out, s.Err)
	}
}

// requests are all requests on record, in every session.
func (w *world) requests() []session.Request {
	w.T.Helper()
	all, problems := w.store.All()
	if len(problems) > 0 {
		w.T.Error(errors.Join(problems...))
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
	w.T.Helper()
	return w.state(words, session.StateOpen)
}

// state waits until the newest request with these words has come to a state.
func (w *world) state(words string, want session.State) session.Request {
	w.T.Helper()
	var r session.Request
	claudetest.Until(w.T, func() string { return "the request " + words + " is not " + string(want) + " but " + string(r.State) }, func() bool {
		var found bool
		r, found = w.find(words)
		return found && r.State == want
	})
	return r
}
