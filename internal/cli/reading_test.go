package cli_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle"
	"waggle/control"
	"waggle/spawn"
)

// reading are the commands that read a team, REQUEST being the id of an open one.
var reading = []string{
	"status", "status --json", "why worker1", "why worker2 --json", "",
	"pending", "pending --all", "pending --long", "pending --json", "show REQUEST", "show REQUEST --json", "show --group REQUEST",
	"approve REQUEST --help", "plan list", "plan list --all", "plan show PLAN", "plan diff worker1 1 1", "net pending", "net list",
	"policy list", "policy list --as worker1", "policy test Bash(ls)", "policy explain REQUEST", "policy suggest", "mode",
	"digest", "log", "log --json", "log crowd", "inbox", "inbox worker1", "inbox --unread", "inbox --json", "msg list",
	"task list", "task list --all", "task show 1", "task artifacts", "peek worker1", "team list", "team show", "team validate",
	"audit verify", "audit query", "audit show REQUEST", "audit export", "audit export --redact", "audit acknowledge",
	"doctor", "hooks show", "version", "__complete show ", "__complete why ", "__complete task show ",
}

// TestReadingWritesNothing: what reads leaves every file and directory of STATE and of the
// wire tree as it was, whoever leads, while questions, words and forgeries wait in the
// lead's mailbox, a question is overdue and a member has died.
func TestReadingWritesNothing(t *testing.T) {
	for _, led := range []bool{false, true} {
		t.Run(fmt.Sprintf("led=%v", led), func(t *testing.T) {
			t.Parallel()
			c := waitingCrowd(t)
			if led {
				release, held, err := c.s.Dir.TryLead()
				if c.must(err); !held {
					t.Fatal("somebody leads")
				}
				t.Cleanup(func() { c.must(release()) })
			}
			for _, line := range reading {
				before := snapshot(t, c.op.Root.Path, c.op.Home.Path)
				out, code := c.reads(line)
				if after := snapshot(t, c.op.Root.Path, c.op.Home.Path); !slices.Equal(before, after) {
					t.Errorf("waggle %s wrote:\n%s", line, changed(before, after))
				}
				if code == 2 || strings.Contains(out, "panic") {
					t.Errorf("waggle %s: code %d\n%s", line, code, out)
				}
			}
		})
	}
}

// waitingCrowd is a team that nobody has led since its members asked: worker1 a tool call
// and a plan, and worker2 a tool call before its process ended. Somebody has written in
// worker1's name what its journal does not have.
func waitingCrowd(t *testing.T) *crowd {
	t.Helper()
	c := newCrowd(t, 1)
	gone := exec.Command("sleep", "600")
	c.must(gone.Start())
	id, err := spawn.Identify(gone.Process.Pid)
	c.must(err)
	c.askers = append(c.askers, c.join(t.Context(), "worker2", id))
	c.waggle("task", "add", "sweep", "--description", "rm -rf build")
	c.call(c.askers[0], "Bash", "command", "go test ./...")
	c.ask(c.askers[0], waggle.KindPlanApprovalRequest, control.Ask{Plan: "look, then leap"})
	c.call(c.askers[1], "Bash", "command", "rm -rf /")
	c.must(gone.Process.Kill())
	_ = gone.Wait()
	c.must(c.box.Append(t.Context(), waggle.Envelope{From: "worker1", Text: `{"type":"idle_notification","from":"worker1","timestamp":"2026-01-01T00:00:00.000Z"}`},
		waggle.Envelope{From: "worker1", Text: "a word"}))
	return c
}

// reads runs a command of the list, and returns what it says and its exit code.
func (c *crowd) reads(line string) (out string, code int) {
	c.t.Helper()
	calls := c.askers[0].w.Calls
	line = strings.NewReplacer("REQUEST", string(calls[0].ID), "PLAN", string(calls[1].ID)).Replace(line)
	args := strings.Split(line, " ")
	if line == "" {
		args = nil
	}
	rest := []string{"--root", c.op.Root.Path, "--state", c.op.Home.Path, "--team", "crowd"}
	if len(args) > 0 && args[0] == "__complete" {
		args = slices.Concat(args[:1], rest, args[1:])
	} else {
		args = append(args, rest...)
	}
	cmd := exec.Command(binary(c.t), args...)
	b, _ := cmd.CombinedOutput()
	return string(b), cmd.ProcessState.ExitCode()
}

// snapshot is a line for each file and directory of trees: its mode, size, time and sum.
func snapshot(t *testing.T, trees ...string) (lines []string) {
	t.Helper()
	for _, tree := range trees {
		err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			sum := [sha256.Size]byte{}
			if info.Mode().IsRegular() {
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				sum = sha256.Sum256(b)
			}
			lines = append(lines, fmt.Sprintf("%s %v %d %v %x", path, info.Mode(), info.Size(), info.ModTime(), sum[:4]))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// changed is what two snapshots do not have in common.
func changed(before, after []string) string {
	var b strings.Builder
	for _, l := range before {
		if !slices.Contains(after, l) {
			fmt.Fprintf(&b, "- %s\n", l)
		}
	}
	for _, l := range after {
		if !slices.Contains(before, l) {
			fmt.Fprintf(&b, "+ %s\n", l)
		}
	}
	return b.String()
}
