//go:build unix

package claudetest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// Account is a home in which waggle is installed, and what a test does there with waggle's commands.
type Account struct {
	T   *testing.T
	M   *Model
	H   *Home
	Bin string // the program waggle
}

// NewAccount installs waggle, which must be in PATH, in a home.
func NewAccount(t *testing.T, h *Home) *Account {
	t.Helper()
	program, err := exec.LookPath("waggle")
	testenv.Must(t, err)
	return &Account{t, h.model, h, h.Install(program)}
}

// Said is the output of a command and its exit code.
type Said struct {
	Out, Err string
	Code     int
}

// Run runs a command of waggle.
func (a *Account) Run(args ...string) Said {
	a.T.Helper()
	cmd := a.H.Command(a.Bin, args...)
	var out, serr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &serr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		a.T.Errorf("waggle %q: %v", args, err)
	}
	return Said{out.String(), serr.String(), cmd.ProcessState.ExitCode()}
}

// OK runs a command that must succeed.
func (a *Account) OK(args ...string) string {
	a.T.Helper()
	s := a.Run(args...)
	if s.Code != 0 {
		a.T.Fatalf("waggle %q: exit %d: %s%s", args, s.Code, s.Out, s.Err)
	}
	return s.Out
}

// Mark is a call that leaves a line in a file each time that it runs.
func Mark(name string) Turn { return Bash("echo ran >>" + name) }

// Ran checks how often a mark's call ran.
func (a *Account) Ran(name string, times int) {
	a.T.Helper()
	data, err := os.ReadFile(filepath.Join(a.H.Work, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		a.T.Fatal(err)
	}
	if got := strings.Count(string(data), "ran\n"); got != times {
		a.T.Errorf("%s ran %d times, want %d", name, got, times)
	}
}

// Result waits for the result of the n-th turn's call, from 0.
func (a *Account) Result(turn int) Block {
	a.T.Helper()
	return a.M.Await("the result of a turn", func(r Request) bool {
		return r.Turns() == turn+1 && len(r.Results()) >= 1
	}).Results()[0]
}
