// Package operatortest is a team in one process, for tests of the packages below operator:
// a wire tree and a STATE in a temporary directory, members whose agent is a func of the
// test, and no process besides.
//
//	op := operatortest.New(t)
//	tm := operatortest.Team(t, op, "api", record.PolicySet{})
//	ann := tm.Member("ann", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) { … })
//	tm.Until("ann asks", func(l *control.Leader) bool { … })
package operatortest

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/worker"
)

// New is an operator of a wire tree and a STATE of its own.
func New(t testing.TB) operator.Operator {
	t.Helper()
	dir := testenv.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	testenv.Must(t, os.MkdirAll(filepath.Join(dir, "root"), 0o700))
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	op.Version, op.Log, op.Environ = "test", slog.New(slog.DiscardHandler), append(testenv.Race(), "PATH="+os.Getenv("PATH"), "HOME="+dir)
	return op
}

// Rig is a team that waggle leads, by any process that takes a pass.
type Rig struct {
	T    testing.TB
	Op   operator.Operator
	Name protocol.TeamName
}

// Team makes a team without members. Of a zero p the mode is default.
func Team(t testing.TB, op operator.Operator, name protocol.TeamName, p record.PolicySet) *Rig {
	t.Helper()
	if p.Policy.Mode == "" {
		p.Policy.Mode = "default"
	}
	testenv.Value(teams.Of(op).Create(t.Context(), name, "a team of a test", p))(t)
	return &Rig{T: t, Op: op, Name: name}
}

// API is the operator that most tests need, and its team api, of the default mode.
func API(t testing.TB) (operator.Operator, *Rig) {
	t.Helper()
	op := New(t)
	return op, Team(t, op, "api", record.PolicySet{})
}

// Turn is one turn of a member's agent.
type Turn func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error)

// Turn does the work: a Turn is an agent.Agent.
func (f Turn) Turn(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
	return f(ctx, h, w)
}

// Member adds a member that runs in this process until the test is over, or until it ends
// by itself; the result is closed then. It has begun when Member returns.
func (r *Rig) Member(name protocol.MemberName, turn Turn, change ...func(*teamfile.FileMember)) (ended <-chan struct{}) {
	r.T.Helper()
	m := teamfile.FileMember{Name: name, Agent: "exec", Cwd: r.T.TempDir()}
	for _, c := range change {
		c(&m)
	}
	minted := testenv.Value(teams.Of(r.Op).MintToken(r.T.Context(), r.Name, m, 0))(r.T)
	begun, done := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.T.Context()))
	var failed error
	go func() {
		defer close(done)
		failed = teams.Of(r.Op).Work(ctx, minted.Token, worker.Options{Agent: turn, Begun: func(protocol.MemberName) { close(begun) }})
	}()
	r.T.Cleanup(func() { cancel(); <-done })
	select {
	case <-begun:
	case <-done:
		r.T.Fatalf("%s: %v", name, failed)
	}
	return done
}

// State opens the team as it is now.
func (r *Rig) State() *operator.State {
	r.T.Helper()
	return testenv.Value(r.Op.Open(r.T.Context(), r.Name, operator.Act))(r.T)
}

// Until takes leader passes until cond holds of the fold.
func (r *Rig) Until(what string, cond func(l *control.Leader) bool) *operator.State {
	r.T.Helper()
	s := r.State()
	testenv.Eventually(r.T, what, func() bool {
		testenv.Value(r.Op.Pass(r.T.Context(), s))(r.T)
		return cond(s.Lead)
	})
	return s
}

// Instance is the present membership of a name.
func (r *Rig) Instance(name protocol.MemberName) record.Instance {
	r.T.Helper()
	m, ok := r.State().Lead.Member(name)
	if !ok {
		r.T.Fatalf("no member %s", name)
	}
	return m.Instance
}
