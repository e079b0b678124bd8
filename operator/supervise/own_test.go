package supervise_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"waggle/agent"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/worker"
)

// scratch is an operator with a root and a state of its own.
func scratch(t *testing.T) operator.Operator {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	op.Self, op.Environ, op.Version = "/own/program", os.Environ(), "test"
	return op
}

// elsewhere is a backend of a program's own.
type elsewhere struct {
	spec spawn.Spec
	in   spawn.Backend
}

func (*elsewhere) Name() string { return "elsewhere" }

func (e *elsewhere) Start(ctx context.Context, spec spawn.Spec) (*spawn.Process, error) {
	e.spec = spec
	return e.in.Start(ctx, spec)
}

// TestOwnBackend: a program hands the operator a backend. A team file can then name the backend, which
// gets what it needs to run the member.
func TestOwnBackend(t *testing.T) {
	t.Parallel()
	const file = "team: api\nmembers: [{name: ann, agent: exec, backend: elsewhere}]\n"
	if _, err := teamfile.ParseFile("/w/waggle.yaml", []byte(file)); operator.KindOf(err) != operator.Usage {
		t.Errorf("a backend that this program does not have: %v", err)
	}
	op := scratch(t)
	own := &elsewhere{in: spawn.InProcess(func(context.Context, spawn.Spec, io.Writer) spawn.Exit { return spawn.Exit{Code: 7} })}
	op.Backends = []spawn.Backend{own}
	f, err := teamfile.ParseFile(filepath.Join(t.TempDir(), "waggle.yaml"), []byte(file), own.Name())
	testenv.Must(t, err)
	s, err := supervise.Of(op).Prepare(t.Context(), f, false, func(operator.Note) {})
	testenv.Must(t, err)
	m, ok := s.Lead.Member("ann")
	if !ok || m.Backend != "elsewhere" {
		t.Fatalf("on record: %+v", m)
	}
	p, err := process.Of(op).StartWorker(t.Context(), nil, s, m.Instance, "ann", f.Dir, filepath.Join(t.TempDir(), "log"))
	testenv.Must(t, err)
	if <-p.Done(); p.Exit().Code != 7 {
		t.Errorf("another backend started it: %+v", p.Exit())
	}
	o, ok, err := worker.Invoked(own.spec.Argv)
	want := process.Of(op).Worker(s, m.Instance)
	if err != nil || !ok || own.spec.Argv[0] != op.Self || o.Root.Path != op.Root.Path || o.State != s.Dir || o.Team != "api" || o.Instance != m.Instance || !reflect.DeepEqual(o.Sockets, want.Sockets) {
		t.Errorf("it was to start %q, which is %+v (%v)", own.spec.Argv, o, err)
	}
}

// idle is an agent that does nothing.
type idle struct{}

func (idle) Turn(context.Context, agent.Host, agent.Work) (agent.Result, error) {
	return agent.Result{}, nil
}

// TestWork: a program becomes a member by one call, which has the member's lease until it
// ends.
func TestWork(t *testing.T) {
	t.Parallel()
	op := scratch(t)
	s, err := teams.Of(op).Create(t.Context(), "api", "", record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}})
	testenv.Must(t, err)
	minted, err := teams.Of(op).MintToken(t.Context(), "api", teamfile.FileMember{Name: "ann", Agent: "own", Backend: "join", Cwd: t.TempDir()}, 0)
	testenv.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	begun, ended := make(chan protocol.MemberName, 1), make(chan error, 1)
	go func() {
		ended <- teams.Of(op).Work(ctx, minted.Token, worker.Options{Agent: idle{}, Output: io.Discard, Begun: func(name protocol.MemberName) { begun <- name }})
	}()
	select {
	case name := <-begun:
		if name != "ann" {
			t.Errorf("began as %s", name)
		}
	case err := <-ended:
		t.Fatal(err)
	}
	testenv.Must(t, s.Journal.Refresh(t.Context()))
	m, _ := s.Lead.Member("ann")
	if err := worker.Join(t.Context(), process.Of(op).Worker(s, m.Instance)); !errors.Is(err, worker.ErrRunning) {
		t.Errorf("a second one: %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if release, held, err := s.Dir.TryLease(s.Dir.ProcessLease(m.Instance)); err != nil || !held {
		t.Errorf("its lease was not given back: %v", err)
	} else if err := release(); err != nil {
		t.Error(err)
	}
	if err := teams.Of(op).Work(t.Context(), minted.Token, worker.Options{}); operator.KindOf(err) != operator.Refused {
		t.Errorf("the token again: %v", err)
	}
}

// TestDownFromWithin: a program that leads a team ends it by Down, like any other team.
func TestDownFromWithin(t *testing.T) {
	t.Parallel()
	op := scratch(t)
	f, err := teamfile.ParseFile(filepath.Join(t.TempDir(), "waggle.yaml"), []byte("team: api\nmembers: [{name: ann, agent: exec, backend: in-process}]\n"))
	testenv.Must(t, err)
	s, err := supervise.Of(op).Prepare(t.Context(), f, false, func(operator.Note) {})
	testenv.Must(t, err)
	up, ended := make(chan bool, 1), make(chan error, 1)
	go func() {
		how, err := supervise.Of(op).Keep(context.WithoutCancel(t.Context()), s, f, supervise.LeadOptions{Note: func(operator.Note) {}, Up: func(*operator.State) { up <- true }})
		if err == nil && how != supervise.LedEnded {
			err = errors.New(how)
		}
		ended <- err
	}()
	select {
	case <-up:
	case err := <-ended:
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := process.Of(op).Down(t.Context(), "api", process.StopOptions{}); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	testenv.Within(t, "the end", time.Since(began), 15*time.Second)
}
