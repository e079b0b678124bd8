//go:build unix

package claudemembertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// The file that init writes in a checkout starts a Claude Code that works in a worktree of its own: an edit
// there is free, a command asks, and the checkout stays as it is.
func TestInitStartsClaude(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		var w *world
		trees := func() []string {
			found, _ := filepath.Glob(filepath.Join(w.H.Home, ".local", "share", "waggle", "worktrees", "*", "dev"))
			return found
		}
		w = newWorld(t, version, func(r claudetest.Request) claudetest.Turn {
			switch tree := trees(); {
			case len(tree) != 1:
				return claudetest.Say("there is no worktree")
			case r.Turns() == 0:
				return claudetest.Write(filepath.Join(tree[0], "made"), "by the client\n")
			case r.Turns() == 1:
				return claudetest.Bash("echo ran >>one; ln one other") // the link asks where edits are free
			}
			return claudetest.Say("all done")
		}, "")
		w.OK("init")
		w.OK("up", "waggle.yaml", "--detach")
		t.Cleanup(func() { w.Run("down", "--team", "work", "--grace", "5s") })
		w.OK("task", "add", "mark it", "--owner", "dev", "--team", "work")
		id := ""
		w.until("dev asks", func() bool {
			out := w.OK("pending", "--team", "work", "--json")
			_, rest, asks := strings.Cut(out, `"handle": "`)
			id, _, _ = strings.Cut(rest, `"`)
			return asks && strings.Contains(out, "one")
		})
		tree := trees()[0]
		if data, err := os.ReadFile(filepath.Join(tree, "made")); err != nil || string(data) != "by the client\n" {
			t.Errorf("the edit: %q, %v", data, err)
		}
		w.OK("approve", id, "--team", "work")
		w.until("the task is completed", func() bool {
			out := w.OK("task", "list", "--team", "work")
			return strings.Contains(out, "mark it") && !strings.Contains(out, "in_progress") && !strings.Contains(out, "pending")
		})
		if data, err := os.ReadFile(filepath.Join(tree, "one")); err != nil || string(data) != "ran\n" {
			t.Errorf("the command: %q, %v", data, err)
		}
		for _, name := range []string{"made", "one"} {
			if _, err := os.Stat(filepath.Join(w.H.Work, name)); err == nil {
				t.Errorf("%s is in the checkout", name)
			}
		}
	})
}

// The demo is played with the real client in two of its roles: the same acts, and nothing asks the user's
// model.
func TestDemoClaude(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(), "")
		var doc struct {
			Lines []struct{ Who, Text string }
		}
		testenv.Must(t, json.Unmarshal([]byte(w.OK("demo", "--agent", "claude", "--json")), &doc))
		var said strings.Builder
		for _, l := range doc.Lines {
			said.WriteString(l.Who + " " + l.Text + "\n")
		}
		for _, want := range []string{"Claude Code " + version + "\n", "ada proposes a plan: write notes.txt\n", "ada proposes a plan: write notes.txt; to take it back, remove it\n",
			"ada asks for Write ", "ada completes task 1\n", "bob Bash echo hello from bob: allow, by the rule allow Bash(echo:*)\n", "bob Bash rm -rf build: deny, by the rule ",
			"bob finds that it has no effect: ", "bob completes task 2\n", "ada has left by handshake", "bob has left by handshake"} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("no %q in\n%s", want, said.String())
			}
		}
		if n := len(w.M.All()); n != 0 {
			t.Errorf("the user's model got %d requests", n)
		}
		w.noProcess()
	})
}
