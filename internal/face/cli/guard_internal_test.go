package cli

import (
	"testing"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
)

// TestActs: every command of the tree says in whose name it acts, and nothing else has a row.
func TestActs(t *testing.T) {
	t.Parallel()
	left := map[string]bool{}
	for name := range acts {
		left[name] = true
	}
	for name := range withArguments {
		if acts[name] != readsOnly {
			t.Errorf("%s is in withArguments and does not read without them", name)
		}
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if name := nameOf(cmd); cmd.Runnable() {
			if acts[name] == 0 {
				t.Errorf("waggle %s has no row: who may give it inside of an agent?", name)
			}
			delete(left, name)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(Root(&app.App{}))
	for name := range left {
		t.Errorf("there is no command %q", name)
	}
}
