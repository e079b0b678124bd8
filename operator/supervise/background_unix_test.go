//go:build unix

package supervise_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/record"
	"waggle/spawn"
)

// TestBackground: Background waits until the journal says that its process leads. If the process ends
// before, the error has its Exit and last line; if the context ends, Background ends the process.
func TestBackground(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	team := operatortest.Team(t, op, "api", record.PolicySet{})
	sup := supervise.Of(op)
	err := sup.Background(t.Context(), team.State(), supervise.Background{})
	if operator.KindOf(err) != operator.Usage {
		t.Errorf("without a program: %v", err)
	}
	err = sup.Background(t.Context(), team.State(), supervise.Background{Argv: []string{"/bin/sh", "-c", "echo no room; exit 8"}, Env: op.Environ})
	var ended *supervise.LeaderEndedError
	if !errors.As(err, &ended) || ended.Exit.Code != 8 || ended.Last != "no room" || filepath.Base(ended.Log) != "leader.log" {
		t.Errorf("it ended: %v, %+v", err, ended)
	}

	at := filepath.Join(t.TempDir(), "pid")
	idle := supervise.Background{Argv: []string{"/bin/sh", "-c", "echo $$ > " + at + ".new && mv " + at + ".new " + at + "; read x < " + fifo(t)}, Env: op.Environ}
	started := func() spawn.Identity {
		var id spawn.Identity
		testenv.Eventually(t, "the process runs", func() bool {
			b, _ := os.ReadFile(at)
			pid, _ := strconv.Atoi(string(bytes.TrimSpace(b)))
			if pid == 0 {
				return false
			}
			got, err := spawn.Identify(pid)
			id = got
			return err == nil
		})
		testenv.Must(t, os.Remove(at))
		return id
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func(s *operator.State) { done <- sup.Background(ctx, s, idle) }(team.State())
	unwanted := started()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || unwanted.Alive() {
		t.Errorf("not wanted any more: %v, alive: %v", err, unwanted.Alive())
	}

	go func(s *operator.State) { done <- sup.Background(t.Context(), s, idle) }(team.State())
	leads := started()
	s := team.State()
	if _, err := s.Journal.Append(t.Context(), op.Writer(), func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindLeading, Must: true, Body: record.LeadingProcess{ID: leads, Up: true}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || !leads.Alive() {
		t.Errorf("it leads: %v, alive: %v", err, leads.Alive())
	}
	p, err := os.FindProcess(leads.PID)
	testenv.Must(t, err)
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	testenv.Eventually(t, "it is gone", func() bool { return !leads.Alive() })
}

// fifo is a pipe that nobody writes into.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "never")
	testenv.Must(t, unix.Mkfifo(path, 0o600))
	return path
}
