//go:build linux || darwin

package process_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/transport"
)

// asked is the host of an operator's socket whose pings get ill.
type asked struct{ ill error }

func (asked) Take(context.Context, transport.Peer, protocol.Address, protocol.Envelope) (transport.Receipt, error) {
	return transport.Receipt{}, errors.New("this takes nothing")
}
func (asked) Refused(context.Context, transport.Refusal) {}
func (a asked) Pinged(context.Context) error             { return a.ill }

// serve serves the operator's socket of a team in this process.
func serve(t *testing.T, op operator.Operator, s *operator.State, h transport.Host) {
	t.Helper()
	so := testenv.Value(transport.Listen(transport.SocketOptions{Dirs: s.Dir.Sockets(op.RunPath()), Name: transport.OperatorSocket, Team: s.Team, Host: h, Rand: op.Minter.Rand, Now: op.Minter.Now}))(t)
	done := make(chan error, 1)
	go func() { done <- so.Serve(context.Background()) }()
	t.Cleanup(func() { so.Close(); <-done })
}

// TestAskLeader: only an answer of the recorded process itself says that it leads: not its record, not its lease, not a
// socket that somebody else serves.
func TestAskLeader(t *testing.T) {
	t.Parallel()
	self := testenv.Value(spawn.Identify(os.Getpid()))(t)
	signalled := func(sig syscall.Signal) func(*testing.T) spawn.Identity {
		return func(t *testing.T) spawn.Identity {
			id := operatortest.Process(t)
			testenv.Must(t, syscall.Kill(id.PID, sig))
			t.Cleanup(func() { _ = syscall.Kill(id.PID, syscall.SIGCONT) })
			return id
		}
	}
	for name, c := range map[string]struct {
		leader func(t *testing.T) spawn.Identity
		host   transport.Host // nil: nobody serves the socket
		leads  bool
		kind   operator.Kind
		words  string
	}{
		"it answers":                     {leader: func(*testing.T) spawn.Identity { return self }, host: asked{}, leads: true},
		"its journal is gone":            {leader: func(*testing.T) spawn.Identity { return self }, host: asked{errors.New("its journal is gone")}, kind: operator.Failed, words: "its journal is gone"},
		"another process answers":        {leader: func(t *testing.T) spawn.Identity { return operatortest.Process(t) }, host: asked{}, kind: operator.Timeout, words: "does not answer"},
		"it is stopped":                  {leader: signalled(syscall.SIGSTOP), host: asked{}, kind: operator.Locked, words: "is stopped"},
		"it was killed":                  {leader: signalled(syscall.SIGKILL), host: asked{}},
		"it was killed, without sockets": {leader: signalled(syscall.SIGKILL)},
		"it runs, without sockets":       {leader: func(t *testing.T) spawn.Identity { return operatortest.Process(t) }, leads: true},
		"it has no start time": {leader: func(t *testing.T) spawn.Identity {
			id := self
			id.Start = ""
			return id
		}, host: asked{}},
		"its pid is another process's": {leader: func(t *testing.T) spawn.Identity {
			id := self
			id.Start += "0"
			return id
		}, host: asked{}},
		"it was there before the boot": {leader: func(t *testing.T) spawn.Identity {
			id := self
			id.Boot = "another"
			return id
		}, host: asked{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s := rig(t)
			r.Op.Waits.Answer = 200 * time.Millisecond
			if c.host != nil {
				serve(t, r.Op, s, c.host)
			}
			release, held, err := s.Dir.TryLead() // whoever it is, the lease is held
			if err != nil || !held {
				t.Fatal(held, err)
			}
			defer func() { _ = release() }()
			operatortest.Append(t, r.Op, s, journal.Draft{Kind: record.KindLeading, Must: true, Body: record.LeadingProcess{ID: c.leader(t), Up: true}})
			leads, err := process.Of(r.Op).AskLeader(t.Context(), s)
			if leads != c.leads || operator.KindOf(err) != c.kind || err != nil && !strings.Contains(err.Error(), c.words) {
				t.Errorf("leads %v, %v of kind %s", leads, err, operator.KindOf(err))
			}
		})
	}
}
