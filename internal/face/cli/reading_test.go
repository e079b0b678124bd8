package cli_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// reading are the commands that read a team, REQUEST being the id of an open one.
var reading = []string{
	"status", "status --json", "status --line", "init --plan --from-team", "init --tmux", "skill", "why worker1", "why worker2 --json", "",
	"pending", "pending --all", "pending --long", "pending --json", "show REQUEST", "show REQUEST --json", "show --group REQUEST",
	"approve REQUEST --help", "plan list", "plan list --all", "plan show PLAN", "plan diff worker1 1 1", "net pending", "net list",
	"policy list", "policy list worker1", "policy test Bash(ls) --for worker1", "net list worker1", "policy test Bash(ls)", "policy explain REQUEST", "policy suggest", "mode",
	"recap", "recap --json", "log", "log --json", "log crowd", "inbox", "inbox worker1", "inbox --unread", "inbox --json", "msg list",
	"task list", "task list --all", "task show 1", "task artifacts", "peek worker1", "logs worker1", "path worker1", "team list", "team show", "team validate",
	"audit verify", "audit query", "audit show REQUEST", "audit export", "audit export --redact", "repair",
	"doctor", "hooks show", "version", "__complete show ", "__complete why ", "__complete task show ",
}

// TestReadingWritesNothing: a command that reads leaves every file and directory of STATE and
// of the wire tree as it was, with a leader and without, while questions, words and forgeries
// wait in the lead's mailbox, a question is overdue and a member has died.
func TestReadingWritesNothing(t *testing.T) {
	t.Parallel()
	for _, led := range testenv.Rows(t, []bool{false, true}, 1) {
		t.Run(fmt.Sprintf("led=%v", led), func(t *testing.T) {
			t.Parallel()
			c := waitingCrowd(t)
			if led {
				release, held, err := c.s.Dir.TryLead()
				if testenv.Must(t, err); !held {
					t.Fatal("somebody leads")
				}
				t.Cleanup(func() { testenv.Must(t, release()) })
			}
			for _, line := range testenv.Rows(t, reading, 20) {
				out, code := unwritten(t, line, c.reads, c.op.Root.Path, c.op.Home.Path)
				if code == 2 || strings.Contains(out, "panic") {
					t.Errorf("waggle %s: code %d\n%s", line, code, out)
				}
			}
		})
	}
}

// TestReadingMendsNothing: commands that read leave a broken mailbox, and a file in the place
// of one of STATE's directories, as they are. inbox shows the readable entries of the mailbox.
// The next command that acts sets the mailbox aside and clears the place of the directory.
func TestReadingMendsNothing(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	c := waitingCrowd(t)
	box := filepath.Join(c.op.Root.InboxesDir("crowd"), "team-lead.json")
	whole := readFile(t, box)
	writeFile(t, box, whole[:len(whole)-4])
	testenv.Must(t, os.RemoveAll(c.s.Dir.Tools()))
	writeFile(t, c.s.Dir.Tools(), "")
	for _, line := range []string{"status", "why worker1", "pending", "show REQUEST", "inbox", "inbox --json", "msg list", "task list", "recap", "team show"} {
		out, code := unwritten(t, line, c.reads, c.op.Root.Path, c.op.Home.Path)
		if code != 0 {
			t.Errorf("waggle %s: code %d\n%s", line, code, out)
		}
	}
	if out, _ := c.reads("inbox"); !strings.Contains(out, "go test") || !strings.Contains(out, "is broken") {
		t.Errorf("the broken mailbox is shown as\n%s", out)
	}
	if out, code := c.reads("approve REQUEST"); code != 0 {
		t.Errorf("approve: code %d\n%s", code, out)
	}
	if kept, _ := filepath.Glob(box + ".corrupt-*"); len(kept) != 1 {
		t.Errorf("the acting command kept %v", kept)
	}
	if _, err := os.Lstat(c.s.Dir.Tools()); !os.IsNotExist(err) {
		t.Errorf("what had the place of tools: %v", err)
	}
}

// TestReadingShowsWhatAPassFinds: Pending lists questions before a pass takes them in, with the
// id, digest, handle and group that they have on record afterwards. It does not list a question
// that the system answers.
func TestReadingShowsWhatAPassFinds(t *testing.T) {
	c := newCrowdUnder(t, 2, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}, Decide: map[policy.Gate]policy.Decider{policy.GatePlan: policy.DecideAuto}})
	c.call(c.askers[0], "Bash", "command", "go test ./a")
	c.call(c.askers[1], "Bash", "command", "go test ./b")
	c.ask(c.askers[1], protocol.KindPlanApprovalRequest, record.Ask{Plan: "look, then leap"})
	shown := func() (s []string) {
		t.Helper()
		qs, err := decide.Of(c.op).Pending(t.Context(), "crowd", false)
		testenv.Must(t, err)
		for _, q := range qs {
			s = append(s, strings.Join([]string{q.ID, q.Digest, q.Handle, q.Status, q.Risk}, " "))
		}
		for _, g := range decide.Groups(qs) {
			s = append(s, g.ID)
		}
		return s
	}
	before := shown()
	status := c.prints("status")
	if n := len(c.onRecord()); n != 0 {
		t.Fatalf("%d requests are on record before the pass", n)
	}
	if led, err := c.op.Pass(t.Context(), c.s); led || err != nil {
		t.Fatal(led, err)
	}
	if n := len(c.onRecord()); n != 3 {
		t.Fatalf("%d requests are on record after it", n)
	}
	if after := shown(); !slices.Equal(before, after) || len(before) != 2+1 {
		t.Errorf("before a pass\n%s\nafter it\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	if !strings.Contains(status, "2 wait for your decision") {
		t.Errorf("status before the pass:\n%s", status)
	}
}

// TestDigestShowsWhatAPassFinds: Digest reports a member that died while no process led once,
// before a pass and after it.
func TestDigestShowsWhatAPassFinds(t *testing.T) {
	c := waitingCrowd(t)
	died := func() (n int) {
		t.Helper()
		d, err := inspect.Of(c.op).Recap(t.Context(), "crowd", time.Time{})
		testenv.Must(t, err)
		for _, m := range d.Members {
			if m.Member == "worker2" && m.What == "died" {
				n++
			}
		}
		if len(d.Waiting) != 3 {
			t.Errorf("waiting: %+v", d.Waiting)
		}
		return n
	}
	before := died()
	_, err := c.op.Pass(t.Context(), c.s)
	testenv.Must(t, err)
	if after := died(); before != 1 || after != 1 {
		t.Errorf("told %d times before a pass, %d times after it", before, after)
	}
}

// TestReadingShowsOverdue: a question whose deadline passed while nobody led is listed as
// expired until a command that acts records that.
func TestReadingShowsOverdue(t *testing.T) {
	c := newCrowdUnder(t, 1, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}, Deadline: 1})
	c.call(c.askers[0], "Bash", "command", "go test ./a")
	for range 2 {
		qs, err := decide.Of(c.op).Pending(t.Context(), "crowd", false)
		testenv.Must(t, err)
		if len(qs) != 1 || qs[0].Status != decide.StatusExpired || qs[0].Answer != nil {
			t.Fatalf("%+v", qs)
		}
		q, err := decide.Of(c.op).Show(t.Context(), "crowd", qs[0].ID)
		testenv.Must(t, err)
		if q.Status != decide.StatusExpired {
			t.Fatalf("%+v", q)
		}
	}
	if n := len(c.onRecord()); n != 0 {
		t.Fatalf("%d requests are on record", n)
	}
	_, err := c.op.Pass(t.Context(), c.s)
	testenv.Must(t, err)
	if rs := c.onRecord(); len(rs) != 1 || rs[0].Decided == nil || rs[0].Decided.Via != control.ViaExpiry {
		t.Errorf("after a pass: %+v", rs)
	}
	if qs, err := decide.Of(c.op).Pending(t.Context(), "crowd", false); err != nil || len(qs) != 0 {
		t.Errorf("after a pass %v, %v", qs, err)
	}
}

// onRecord are the requests in the leader's journal.
func (c *crowd) onRecord() []*control.Request {
	c.t.Helper()
	testenv.Must(c.t, c.s.Journal.Refresh(c.t.Context()))
	return c.s.Lead.Requests
}

// waitingCrowd is a team that nobody has led since its members asked: worker1 a tool call
// and a plan, and worker2 a tool call before its process ended. The lead's mailbox has entries
// in worker1's name that worker1's journal does not have.
func waitingCrowd(t *testing.T) *crowd {
	t.Helper()
	c := newCrowd(t, 1)
	gone := exec.Command("sleep", "600")
	testenv.Must(t, gone.Start())
	id := identify(t, gone.Process.Pid)
	c.askers = append(c.askers, c.join(t.Context(), "worker2", id))
	c.waggle("task", "add", "sweep", "--instructions", "rm -rf build")
	c.call(c.askers[0], "Bash", "command", "go test ./...")
	c.ask(c.askers[0], protocol.KindPlanApprovalRequest, record.Ask{Plan: "look, then leap"})
	c.call(c.askers[1], "Bash", "command", "rm -rf /")
	testenv.Must(t, gone.Process.Kill())
	_ = gone.Wait()
	testenv.Must(t, c.box.Append(t.Context(), protocol.Envelope{From: "worker1", Text: `{"type":"idle_notification","from":"worker1","timestamp":"2026-01-01T00:00:00.000Z"}`},
		protocol.Envelope{From: "worker1", Text: "a word"}))
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

// unwritten runs a command of which no file of the trees may change.
func unwritten(t *testing.T, line string, run func(string) (string, int), trees ...string) (said string, code int) {
	t.Helper()
	before := snapshot(t, trees...)
	said, code = run(line)
	if after := snapshot(t, trees...); !slices.Equal(before, after) {
		t.Errorf("waggle %s wrote:\n%s", line, changed(before, after))
	}
	return said, code
}

// snapshot is a line for each file and directory of trees: its mode, size, time and sum.
func snapshot(t *testing.T, trees ...string) (lines []string) {
	t.Helper()
	for _, tree := range trees {
		gone := func(err error) error { // what another process removes meanwhile
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return gone(err)
			}
			info, err := d.Info()
			if err != nil {
				return gone(err)
			}
			sum := [sha256.Size]byte{}
			if info.Mode().IsRegular() {
				b, err := os.ReadFile(path)
				if err != nil {
					return gone(err)
				}
				sum = sha256.Sum256(b)
			}
			lines = append(lines, fmt.Sprintf("%s %v %d %v %x", path, info.Mode(), info.Size(), info.ModTime(), sum[:4]))
			return nil
		})
		testenv.Must(t, err)
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
