//go:build unix

package claudemembertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/claudetest"
)

// The file that init writes in a checkout starts a Claude Code that works in a worktree of its own: an edit
// there is free, a command asks, and the checkout stays as it is.
func TestInitStartsClaude(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		var w *world
		trees := func() []string {
			found, _ := filepath.Glob(filepath.Join(w.h.Home, ".local", "share", "waggle", "worktrees", "*", "dev"))
			return found
		}
		w = newWorld(t, version, func(r claudetest.Request) claudetest.Turn {
			switch tree := trees(); {
			case len(tree) != 1:
				return claudetest.Say("there is no worktree")
			case r.Turns() == 0:
				return claudetest.Write(filepath.Join(tree[0], "made"), "by the client\n")
			case r.Turns() == 1:
				return mark("one")
			}
			return claudetest.Say("all done")
		}, "")
		w.ok("init")
		w.ok("up", "waggle.yaml", "--detach")
		t.Cleanup(func() { w.run("down", "--team", "work", "--grace", "5s") })
		w.ok("task", "add", "mark it", "--owner", "dev", "--team", "work")
		id := ""
		w.until("dev asks", func() bool {
			out := w.ok("pending", "--team", "work", "--json")
			_, rest, asks := strings.Cut(out, `"handle": "`)
			id, _, _ = strings.Cut(rest, `"`)
			return asks && strings.Contains(out, "one")
		})
		tree := trees()[0]
		if data, err := os.ReadFile(filepath.Join(tree, "made")); err != nil || string(data) != "by the client\n" {
			t.Errorf("the edit: %q, %v", data, err)
		}
		w.ok("approve", id, "--team", "work")
		w.until("the task is completed", func() bool {
			out := w.ok("task", "list", "--team", "work")
			return strings.Contains(out, "mark it") && !strings.Contains(out, "in_progress") && !strings.Contains(out, "pending")
		})
		if data, err := os.ReadFile(filepath.Join(tree, "one")); err != nil || string(data) != "ran\n" {
			t.Errorf("the command: %q, %v", data, err)
		}
		for _, name := range []string{"made", "one"} {
			if _, err := os.Stat(filepath.Join(w.h.Work, name)); err == nil {
				t.Errorf("%s is in the checkout", name)
			}
		}
	})
}
