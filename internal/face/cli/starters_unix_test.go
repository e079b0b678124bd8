//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/internal/face/cli/app"
	"waggle/internal/test/testenv"
	"waggle/operator"
)

// at runs the program as a person at this root would. The time is bounded, so that a hang is a finding: code -1.
func at(op operator.Operator, args ...string) (code int, out string) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, op.Self, append(args, "--root", op.RootURL, "--state", op.Home.Path)...)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &b, &b, op.Environ
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil || cmd.ProcessState == nil {
		return -1, fmt.Sprint(b.String(), err)
	}
	return cmd.ProcessState.ExitCode(), b.String()
}

// TestStarters: several starts of one file at the same moment make one team, and the
// other starts end with ExitLocked and name the team.
func TestStarters(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	op := newOperator(t)
	file := filepath.Join(t.TempDir(), "waggle.yaml")
	writeFile(t, file, "team: api\nmembers: [{name: ann, agent: exec}]\n")
	for round := range testenv.Scale(2, 40) {
		codes, outs := make([]int, 6), make([]string, 6)
		var wg sync.WaitGroup
		for i := range codes {
			wg.Go(func() { codes[i], outs[i] = at(op, "up", file, "--detach") })
		}
		wg.Wait()
		won := 0
		for i, code := range codes {
			switch {
			case code == 0:
				won++
			case code != app.ExitLocked || !strings.Contains(outs[i], "api"):
				t.Errorf("round %d: exit %d: %s", round, code, outs[i])
			}
		}
		if won != 1 {
			t.Errorf("round %d: %d of them made the team", round, won)
		}
		if code, out := at(op, "down", "api", "--force"); code != 0 {
			t.Fatalf("round %d: down: exit %d: %s", round, code, out)
		}
		dirs, err := filepath.Glob(filepath.Join(op.Home.Path, "teams", "*"))
		if err != nil || len(dirs) != round+1 {
			t.Fatalf("round %d: %d directories in STATE: %v", round, len(dirs), err)
		}
	}
}

// TestHalfMade: the process that made a team was killed in the middle of its first record.
// up then makes a team of the same name.
func TestHalfMade(t *testing.T) {
	t.Parallel()
	h := newHome(t, "waggle")
	h.ends("api")
	file := h.write("api.yaml", crew("api", "process", 1))
	h.must("team", "create", "api")
	for _, part := range testenv.Rows(t, []float64{0, 0.2, 0.7, 1}, 2) {
		dirs, err := filepath.Glob(filepath.Join(h.dir, "s", "teams", "api-*"))
		if err != nil || len(dirs) == 0 {
			t.Fatal(dirs, err)
		}
		for _, dir := range dirs {
			var known struct{ Root string }
			b, err := os.ReadFile(filepath.Join(dir, "team.json"))
			if err == nil {
				err = json.Unmarshal(b, &known)
			}
			segment := filepath.Join(dir, "journal", "leader", "00000001.jsonl")
			records, rerr := os.ReadFile(segment)
			testenv.Must(t, errors.Join(err, rerr))
			if n := bytes.Count(records, []byte("\n")); n != 2 { // opened and policy, in one write
				continue // the directory of an earlier team, which has ended
			}
			err = errors.Join(os.WriteFile(segment, records[:int(part*float64(len(records)-1))], 0o600), os.WriteFile(filepath.Join(dir, "making"), []byte(known.Root+"\n"), 0o600))
			testenv.Must(t, err)
		}
		if out, said, code := h.waggle("up", file, "--detach"); code != 0 {
			t.Fatalf("%v of the records: code %d: %s%s", part, code, out, said)
		}
		h.must("down", "--team", "api")
		h.must("team", "create", "api")
	}
}
