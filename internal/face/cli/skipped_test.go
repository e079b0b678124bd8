package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/decidecmd"
)

// TestSkippedAtTheEnd: a list says why it leaves a team out, but for a command that was asked to end meanwhile.
func TestSkippedAtTheEnd(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	a := &app.App{Err: &said}
	decidecmd.SaySkipped(a, "t", fmt.Errorf("read: %w", context.Canceled))
	if said.Len() > 0 {
		t.Errorf("at the end: %q", said.String())
	}
	decidecmd.SaySkipped(a, "t", errors.New("it cannot be read"))
	if said.Len() == 0 {
		t.Error("nothing was said of a team that cannot be read")
	}
}
