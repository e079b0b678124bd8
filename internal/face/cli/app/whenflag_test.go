package app_test

import (
	"testing"

	"github.com/spf13/pflag"

	"waggle/internal/face/cli/app"
)

// TestWhenVar: an empty time is an error, not the default.
func TestWhenVar(t *testing.T) {
	for in, ok := range map[string]bool{"": false, " ": false, "\t": false, "2h": true, "soon": true} {
		var got string
		fs := pflag.NewFlagSet("x", pflag.ContinueOnError)
		app.WhenVar(fs, &got, "until", "when")
		if err := fs.Parse([]string{"--until", in}); (err == nil) != ok || ok && got != in {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}
