package cli

import (
	"testing"

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
	for _, cmd := range app.Commands(Root(&app.App{})) {
		if name := nameOf(cmd); cmd.Runnable() {
			if acts[name] == 0 {
				t.Errorf("waggle %s has no row: who may give it inside of an agent?", name)
			}
			delete(left, name)
		}
	}
	for name := range left {
		t.Errorf("there is no command %q", name)
	}
}
