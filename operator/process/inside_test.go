package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"waggle/internal/caught"
	"waggle/operator/process"
	"waggle/spawn"
	"waggle/worker"
)

// TestExitOf: the Exit of a worker in the leader's process is the one that it would have as a process,
// and a panic is reported as a panic.
func TestExitOf(t *testing.T) {
	t.Parallel()
	fell := caught.Do(func() error { panic("out of luck") })
	for _, c := range []struct {
		err  error
		want spawn.Exit
		said string
	}{
		{nil, spawn.Exit{}, ""},
		{fmt.Errorf("worker ann: %w", context.Canceled), spawn.Exit{Code: worker.ExitFailed}, ""},
		{errors.Join(fmt.Errorf("worker ann: %w", fell), errors.New("and its lease")), spawn.Exit{Code: -1, Panic: "it panicked: out of luck"}, ""},
		{worker.ErrLeft, spawn.Exit{Code: worker.ExitFailed}, "waggle: this membership has ended\n"},
	} {
		var out bytes.Buffer
		if got := process.ExitOf(c.err, &out); got != c.want || out.String() != c.said {
			t.Errorf("%v: %+v, %q; want %+v, %q", c.err, got, &out, c.want, c.said)
		}
	}
}
