//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/test/testenv"
)

// TestDemoInterrupted: Ctrl-C ends the demo's processes, removes its tree, and is all that its error says.
func TestDemoInterrupted(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	tmp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary(t), "demo", "--yes")
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "2  ") {
			testenv.Must(t, cmd.Process.Signal(syscall.SIGINT))
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || errs.String() != "error: stopped by a signal\n" {
		t.Errorf("exit %d: %q", code, errs.String())
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
