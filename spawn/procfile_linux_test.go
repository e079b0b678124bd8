package spawn

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// TestReadProc: readProc reads a file of /proc of any length whole, and reports a missing one as
// fs.ErrNotExist.
func TestReadProc(t *testing.T) {
	for _, n := range []int{1, 1000, 5000, 70_000} {
		cmd := exec.Command("cat")
		cmd.Env = []string{"LONG=" + strings.Repeat("x", n)}
		in, err := cmd.StdinPipe()
		must(t, err)
		must(t, cmd.Start())
		path := fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid)
		var got []byte
		// A program that is just being started has no environment yet.
		testenv.Eventually(t, "the environment is there", func() bool {
			got, err = readProc(path)
			return err != nil || len(got) > 0
		})
		if want := []byte(cmd.Env[0] + "\x00"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d were read, %v", len(want), len(got), err)
		}
		must(t, errors.Join(in.Close(), cmd.Wait()))
	}
	if _, err := readProc("/proc/self/nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
