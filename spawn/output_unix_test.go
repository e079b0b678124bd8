//go:build unix

package spawn_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"waggle/spawn"
)

// slowWriter takes its time for each piece, longer than the command lives.
type slowWriter struct{ got atomic.Int64 }

func (w *slowWriter) Write(b []byte) (int, error) {
	time.Sleep(300 * time.Millisecond) // real clock: the command's, which has ended by then
	w.got.Add(int64(len(b)))
	return len(b), nil
}

// TestRunWaitsForOutput: Run returns when the output was written, not when its command
// has ended.
func TestRunWaitsForOutput(t *testing.T) {
	t.Parallel()
	for _, linger := range []time.Duration{0, time.Millisecond} { // for ever; over before the output is
		var w slowWriter
		exit, err := spawn.Command{Argv: []string{"/bin/sh", "-c", "echo hello"}, Output: &w, Linger: linger}.Run(t.Context())
		if got := w.got.Load(); got != 6 || exit.Code != 0 || err != nil {
			t.Errorf("linger %s: %d bytes of 6 when Run returned: %+v, %v", linger, got, exit, err)
		}
	}
}

// TestRunErrors: stderr goes to a file of its own, and stays out of the output.
func TestRunErrors(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "errors"))
	must(t, err)
	defer f.Close()
	var out strings.Builder
	_, err = spawn.Command{Argv: []string{"/bin/sh", "-c", "echo a; echo b >&2"}, Output: &out, Errors: f}.Run(t.Context())
	must(t, err)
	if errs, err := os.ReadFile(f.Name()); err != nil || string(errs) != "b\n" || out.String() != "a\n" {
		t.Errorf("output %q, errors %q, %v", out.String(), errs, err)
	}
}
