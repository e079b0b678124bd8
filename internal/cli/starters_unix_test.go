//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/internal/testenv"
	"waggle/operator"
)

// at runs the program as a person at this root would, for at most a minute.
func at(t *testing.T, op operator.Operator, args ...string) (code int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, op.Self, append(args, "--root", op.RootURL, "--state", op.Home.Path)...)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &b, &b, op.Environ
	err := cmd.Run()
	if ctx.Err() != nil {
		return -1, fmt.Sprintf("it ran for a minute: %s", b.String())
	}
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), b.String()
}

// TestStarters: several starts of one file at the same moment make one team, and the
// others say who was first.
func TestStarters(t *testing.T) {
	op := newOperator(t)
	file := filepath.Join(t.TempDir(), "waggle.yaml")
	if err := os.WriteFile(file, []byte("team: api\nmembers: [{name: ann, agent: exec}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for round := range testenv.Scale(4, 40) {
		codes, outs := make([]int, 6), make([]string, 6)
		var wg sync.WaitGroup
		for i := range codes {
			wg.Go(func() { codes[i], outs[i] = at(t, op, "up", file, "--detach") })
		}
		wg.Wait()
		won := 0
		for i, code := range codes {
			switch {
			case code == 0:
				won++
			case code != operator.CodeLocked || !strings.Contains(outs[i], "api"):
				t.Errorf("round %d: exit %d: %s", round, code, outs[i])
			}
		}
		if won != 1 {
			t.Errorf("round %d: %d of them made the team", round, won)
		}
		if code, out := at(t, op, "down", "api", "--force"); code != 0 {
			t.Fatalf("round %d: down: exit %d: %s", round, code, out)
		}
		dirs, err := filepath.Glob(filepath.Join(op.Home.Path, "teams", "*"))
		if err != nil || len(dirs) != round+1 {
			t.Fatalf("round %d: %d directories in STATE: %v", round, len(dirs), err)
		}
	}
}
