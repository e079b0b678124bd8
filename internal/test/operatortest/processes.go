package operatortest

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// Process starts a process that does nothing until it is ended, at the latest with the test.
// It leads a process group of its own. env is added to its environment.
func Process(t testing.TB, env ...string) spawn.Identity {
	t.Helper()
	return start(t, env, "sleep", "3600")
}

// Shell is Process with a script. Its group ends with the test.
func Shell(t testing.TB, script string) spawn.Identity {
	t.Helper()
	return start(t, []string{usualPath}, "sh", "-c", script)
}

const usualPath = "PATH=/usr/bin:/bin"

func start(t testing.TB, env []string, name string, args ...string) spawn.Identity {
	t.Helper()
	program, err := spawn.LookPath(name, []string{usualPath})
	if err != nil {
		t.Skip(err)
	}
	p := testenv.Value(spawn.ProcessBackend().Start(t.Context(), spawn.Spec{Argv: append([]string{program}, args...), Dir: t.TempDir(), Env: env, Log: filepath.Join(t.TempDir(), "log")}))(t)
	t.Cleanup(func() {
		if _, err := p.Stop(context.Background(), spawn.Grace{Term: time.Nanosecond, Kill: 10 * time.Second}); err != nil {
			t.Error(err)
		}
		<-p.Done()
	})
	return p.Identity()
}

// Ends is a backend word of a test whose processes end at once, with this status and these
// words in their log.
func Ends(word string, code int, words string) spawn.Backend {
	return named{spawn.InProcess(func(_ context.Context, _ spawn.Spec, out io.Writer) spawn.Exit {
		_, _ = io.WriteString(out, words)
		return spawn.Exit{Code: code}
	}), word}
}

type named struct {
	spawn.Backend
	word string
}

func (n named) Name() string { return n.word }

// Append writes records in the operator's name, and reads them.
func Append(t testing.TB, op operator.Operator, s *operator.State, ds ...journal.Draft) {
	t.Helper()
	testenv.Value(s.Journal.Append(t.Context(), op.Writer(), func() ([]journal.Draft, error) { return slices.Clone(ds), nil }))(t)
}

// Enlist joins a member without a process.
func (r *Rig) Enlist(s *operator.State, name protocol.MemberName, change ...func(*teamfile.FileMember)) *control.Member {
	r.T.Helper()
	m := teamfile.FileMember{Name: name, Agent: "exec", Backend: "process", Cwd: r.T.TempDir()}
	for _, f := range change {
		f(&m)
	}
	if _, _, err := teams.Of(r.Op).Join(r.T.Context(), s, m); err != nil {
		r.T.Fatal(err)
	}
	jm, _ := s.Lead.Member(name)
	return jm
}

// Runs puts on record that a process is a member's.
func (r *Rig) Runs(s *operator.State, m *control.Member, id spawn.Identity) {
	r.T.Helper()
	epoch := uint64(1)
	if m.Process != nil {
		epoch = m.Process.Epoch + 1
	}
	Append(r.T, r.Op, s, journal.Draft{Kind: record.KindProcess, Must: true, Body: record.Process{Instance: m.Instance, Epoch: epoch, ID: id}})
}

// Sleeper joins a member and puts on record a process of the test as its own.
func (r *Rig) Sleeper(s *operator.State, name protocol.MemberName) (*control.Member, spawn.Identity) {
	r.T.Helper()
	m, id := r.Enlist(s, name), Process(r.T)
	r.Runs(s, m, id)
	return m, id
}
