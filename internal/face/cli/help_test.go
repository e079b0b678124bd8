package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
)

// TestHelpText: every visible command has a one-line summary without a full stop, and the lines
// of its long help fit a terminal of 90 columns.
func TestHelpText(t *testing.T) {
	var out bytes.Buffer
	root := cli.Root(&app.App{Out: &out, Err: &out})
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		if s := cmd.Short; s == "" || strings.HasSuffix(s, ".") || strings.Contains(s, "\n") {
			t.Errorf("%s: want a summary of one line without a full stop, have %q", cmd.CommandPath(), s)
		}
		for line := range strings.Lines(cmd.Long) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > 90 {
				t.Errorf("%s: a help line of %d columns, at most 90: %s", cmd.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}
