package process_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/json/jsonobj"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/teamfile"
	"waggle/record"
	"waggle/spawn"
	"waggle/worker"
)

// seen is a backend that keeps the specification it was to start.
type seen struct {
	spec spawn.Spec
	in   spawn.Backend
}

func (*seen) Name() string { return "own" }

func (b *seen) Start(ctx context.Context, spec spawn.Spec) (*spawn.Process, error) {
	b.spec = spec
	return b.in.Start(ctx, spec)
}

// TestStartWorker: the backend of a program's own gets the program, its arguments, and the member's
// mark; a member with a worktree starts in it.
func TestStartWorker(t *testing.T) {
	t.Parallel()
	repo := repository(t)
	r, s := rig(t)
	own := &seen{in: spawn.InProcess(func(context.Context, spawn.Spec, io.Writer) spawn.Exit { return spawn.Exit{Code: 7} })}
	r.Op.Backends, r.Op.Self, r.Op.Worktrees = []spawn.Backend{own}, "/own/program", t.TempDir()
	o := process.Of(r.Op)
	if words := o.OwnWords(); !slices.Equal(words, []string{"own"}) {
		t.Errorf("%q", words)
	}
	if word, err := o.ResolveBackend(t.Context(), "own", false); word != "own" || err != nil {
		t.Errorf("%s, %v", word, err)
	}
	m := r.Enlist(s, "ann", func(m *teamfile.FileMember) { m.Backend, m.Color = "own", "purple" }, inTree(repo))
	testenv.Must(t, os.RemoveAll(m.Worktree.Path)) // it is put back
	r.Op.Environ = append(r.Op.Environ, "TMUX=/s,1,0", "TMUX_PANE=%0", "CLAUDE_CODE_MESSAGING_TOKEN=x", "GIT_DIR="+repo, "WAGGLE_SOCKET=/s", "ANTHROPIC_API_KEY=k")
	o = process.Of(r.Op)
	p, err := o.StartWorker(t.Context(), nil, s, m.Instance, "ann", "/elsewhere", filepath.Join(t.TempDir(), "log"))
	testenv.Must(t, err)
	if <-p.Done(); p.Exit().Code != 7 {
		t.Errorf("%+v", p.Exit())
	}
	if own.spec.Dir != m.Worktree.Path || !there(filepath.Join(own.spec.Dir, ".git")) || own.spec.Title != "ann" || own.spec.Color != "magenta" || !slices.Contains(own.spec.Env, mark(s, m)) {
		t.Errorf("%+v", own.spec)
	}
	if all := []spawn.Scope{spawn.ScopeRepository, spawn.ScopeSession, spawn.ScopeTerminal, spawn.ScopeMember}; slices.ContainsFunc(own.spec.Env, func(v string) bool { return spawn.InScope(v, all...) }) ||
		!slices.Contains(own.spec.Env, "ANTHROPIC_API_KEY=k") {
		t.Errorf("its environment is %q", own.spec.Env)
	}
	wo, ok, err := worker.Invoked(own.spec.Argv)
	if want := o.Worker(s, m.Instance); err != nil || !ok || own.spec.Argv[0] != "/own/program" || wo.Instance != want.Instance || wo.Team != want.Team || wo.Root.Path != want.Root.Path || wo.State != want.State {
		t.Errorf("%q: %+v, %v", own.spec.Argv, wo, err)
	}
	r.Op.Environ = []string{"PATH=/nowhere"}
	bob := r.Enlist(s, "bob", func(m *teamfile.FileMember) { m.Backend = operator.BackendTmux })
	_, err = process.Of(r.Op).StartWorker(t.Context(), nil, s, bob.Instance, "bob", bob.Cwd, filepath.Join(t.TempDir(), "log"))
	operatortest.Is(t, "without tmux", err, operator.Failed, "")
}

// holder records what a holder has reported of a terminal.
func holder(t *testing.T, s *operator.State, name string, id spawn.Identity, place spawn.Place) (path string) {
	t.Helper()
	b, err := jsonobj.Marshal(map[string]any{"process": id, "place": place, "ended": !id.Alive()})
	testenv.Must(t, err)
	testenv.Must(t, os.MkdirAll(s.Dir.Processes(), 0o700))
	path = filepath.Join(s.Dir.Processes(), name+".hold.json")
	testenv.Must(t, os.WriteFile(path, b, 0o600))
	return path
}

// TestTerminal: the terminal of a member is found, or the error says that it has none.
func TestTerminal(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	o := process.Of(r.Op)
	_, err := o.Terminal(t.Context(), "web", "ann")
	operatortest.Is(t, "no team", err, operator.NotFound, "")
	_, err = o.Terminal(t.Context(), "api", "ann")
	operatortest.Is(t, "no member", err, operator.NotFound, "")
	ann, id := r.Sleeper(s, "ann")
	_, err = o.Terminal(t.Context(), "api", "ann")
	operatortest.Is(t, "no terminal", err, operator.NotFound, "")
	if err == nil || !strings.Contains(err.Error(), "ann has no terminal that can be attached to") {
		t.Error(err)
	}
	path := holder(t, s, "x", id, spawn.Place{Socket: "/run/x"})
	h, err := o.Terminal(t.Context(), "api", "ann")
	if err != nil || h.Process != id || h.Place.Socket != "/run/x" {
		t.Errorf("%+v, %v", h, err)
	}
	testenv.Must(t, o.CloseTerminals(t.Context(), s, process.AllRead))
	if !there(path) {
		t.Error("the terminal of a member that runs was closed")
	}
	testenv.Value(spawn.Stop(t.Context(), id, spawn.Grace{}))(t)
	_, err = o.Terminal(t.Context(), "api", "ann")
	operatortest.Is(t, "of a process that is gone", err, operator.NotFound, "")
	operatortest.Append(t, r.Op, s, left(ann.Instance, record.LeftDied))
	testenv.Must(t, o.CloseTerminals(t.Context(), s, process.Unread))
	if !there(path) {
		t.Error("what a member said last was closed unread")
	}
	testenv.Must(t, o.CloseTerminals(t.Context(), s, process.AllRead))
	if there(path) {
		t.Error("the record of a terminal that is gone stays")
	}
}

// TestGCOfTerminals: holders whose process is gone, and then their records, are garbage.
func TestGCOfTerminals(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	o := process.Of(r.Op)
	ann := r.Enlist(s, "ann")
	dead := gone(t)
	r.Runs(s, ann, dead)
	hold := operatortest.Process(t)
	path := holder(t, s, "x", dead, spawn.Place{Holder: &hold})
	stray := gone(t)
	stray.Start = "2"
	lost := holder(t, s, "y", stray, spawn.Place{})
	c, err := o.GC(t.Context(), "api", false)
	if err != nil || !slices.Equal(kinds(c), []string{"record "}) || c.Found[0].Why != "its process is gone, and its member has another" {
		t.Errorf("%q, %v", kinds(c), err)
	}
	operatortest.Append(t, r.Op, s, left(ann.Instance, record.LeftDied))
	c, err = o.GC(t.Context(), "api", true)
	if err != nil || !slices.Equal(kinds(c), []string{"holder ann", "record ", "record ann"}) || c.Undone() != 0 || hold.Alive() || there(path) || there(lost) {
		t.Errorf("%q, %d left, %v", kinds(c), c.Undone(), err)
	}
}

// TestGCOfRecords: a record of a terminal that cannot be read is set aside.
func TestGCOfRecords(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	path := holder(t, s, "x", gone(t), spawn.Place{})
	testenv.Must(t, os.WriteFile(path, []byte("nonsense"), 0o600))
	if c, err := process.Of(r.Op).GC(t.Context(), "api", true); err != nil || len(c.Found) != 0 || there(path) || !holds(t, s.Dir.Quarantine(), "x.hold.json") {
		t.Errorf("%q, %v", kinds(c), err)
	}
}
