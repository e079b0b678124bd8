//go:build unix

package mailbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
)

// mover is a process that migrates a team, or takes the first messages of a mailbox, and kills
// itself at a given step.
type mover struct {
	Team string
	To   mailbox.Layout
	Take int // how many messages to take, instead of migrating
	Read int // how many to mark read in a mailbox that keeps and rotates into Dir
	At   int // which step is the last
}

func init() {
	args := os.Getenv("WAGGLE_MAILBOX_MOVER")
	if args == "" {
		return
	}
	var m mover
	if err := json.Unmarshal([]byte(args), &m); err != nil {
		panic(err)
	}
	if err := m.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (m mover) run() error {
	ctx := context.Background()
	steps := 0
	o := mailbox.Options{Deadline: 60 * time.Second, Hook: func(string) {
		if steps++; steps == m.At {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // wait for the signal
		}
	}}
	if m.Read > 0 {
		return m.read(ctx, o)
	}
	b := mailbox.Boxes{Team: m.Team, Retention: mailbox.Prune}
	if m.Take == 0 {
		_, err := b.Migrate(ctx, m.To, o)
		return err
	}
	box, err := b.Open("bob", o)
	if err != nil {
		return err
	}
	list, err := box.Unread(ctx)
	if err != nil {
		return err
	}
	var ids []mailbox.ID
	for _, e := range list[:min(m.Take, len(list))] {
		ids = append(ids, e.ID)
	}
	return box.MarkRead(ctx, ids...)
}

func (m mover) read(ctx context.Context, o mailbox.Options) error {
	o.Archive = mailbox.Archive{Dir: filepath.Join(m.Team, "mail"), Over: 2 << 10}
	b, err := mailbox.Dir{Path: m.Team}.Open("tester", o)
	if err != nil {
		return err
	}
	list, err := b.Unread(ctx)
	if err != nil {
		return err
	}
	for _, e := range list[:min(m.Read, len(list))] {
		if err := b.MarkRead(ctx, e.ID); err != nil {
			return err
		}
	}
	return nil
}

// start runs the mover and reports whether it was killed.
func (m mover) start(t testing.TB) (killed bool) {
	t.Helper()
	exe, err := os.Executable()
	testenv.Must(t, err)
	args, err := json.Marshal(m)
	testenv.Must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "WAGGLE_MAILBOX_MOVER="+string(args))
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%v: %s", err, out)
	}
	return err != nil
}

// TestMoverKilled: a process is killed at each step of a migration, or of taking a message. Every message is there once, in
// order, and what was read stays read; a taking is complete or has not happened; Finish ends the migration.
func TestMoverKilled(t *testing.T) {
	t.Parallel()
	const old = `{"from":"a","text":"old","timestamp":"t","read":true}`
	teams := map[mailbox.Layout]map[string]string{
		mailbox.Array: {"inboxes/team-lead.json": "[]", "inboxes/bob.json": "[" + e1 + "," + old + "," + e2 + "]"},
		mailbox.JSONL: {"mailbox/team-lead.jsonl": "", "mailbox/bob.jsonl": e1 + "\n" + old + "\n" + e2 + "\n"},
	}
	first, step := testenv.Sample(t, testenv.Sizes(6, 1, 1))
	for _, m := range []mover{{To: mailbox.JSONL}, {To: mailbox.Array}, {Take: 1}} {
		kills := 0
		for killed := true; killed; kills++ {
			b := team(t, teams[m.To.Other()])
			m.Team, m.At = b.Team, 1+first+kills*step
			killed = m.start(t)
			testenv.Must(t, b.Finish(t.Context(), mailbox.Options{}))
			bob := openIn(t, b, "bob", mailbox.Options{})
			unread, want := textsOf(unreadOf(t, bob)), []string{"1", "old", "2"}
			if m.Take > 0 && (!killed || len(unread) == 1) {
				want = want[1:]
			}
			wantTexts(t, entriesOf(t, bob), want...)
			if want = slices.DeleteFunc(want, func(s string) bool { return s == "old" }); !slices.Equal(unread, want) {
				t.Errorf("%+v: unread %q, want %q", m, unread, want)
			}
			if _, moving, err := b.Moving(); moving || err != nil {
				t.Errorf("%+v: not finished: %v", m, err)
			}
			if names, err := (mailbox.Dir{Path: b.Dirs()[m.To.Other()], Layout: m.To.Other()}).Names(); m.Take == 0 && !killed && (len(names) > 0 || err != nil) {
				t.Errorf("%+v: left behind: %v, %v", m, names, err)
			}
		}
		t.Logf("%+v: %d kills", m, kills-1)
	}
}

// A process is killed at each step of a rotation. After the next rotation every message is there
// once, in the mailbox or in the archive, and every unread one is in the mailbox.
func TestRotationKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := openBox(t, dir, mailbox.Options{Deadline: 60 * time.Second})
	sent, kills := 0, 0
	for round := 0; round < testenv.Scale(8, 300) || kills == 0 && round < 200; round++ { // a round may be too short for its kill
		for range 1 + rand.IntN(4) {
			testenv.Must(t, b.Append(t.Context(), fat(sent)))
			sent++
		}
		if (mover{Team: dir, Read: 3, At: 1 + rand.IntN(90)}).start(t) {
			kills++
		}
		moved := archived(t, filepath.Join(dir, "mail"))
		for _, e := range unreadOf(t, b) {
			if n, _, _ := strings.Cut(e.Envelope.Text, " "); slices.Contains(moved, n) {
				t.Fatalf("message %s is unread, and in the archive", n)
			}
		}
	}
	testenv.Must(t, b.Append(t.Context(), fat(sent)))
	sent++
	for range 10 { // until all is read, and a rotation has come to its end
		mover{Team: dir, Read: 100, At: 1 << 30}.start(t)
		testenv.Must(t, b.Append(t.Context(), fat(sent), fat(sent+1), fat(sent+2), fat(sent+3)))
		sent += 4
	}
	seen := map[string]int{}
	for _, n := range append(archived(t, filepath.Join(dir, "mail")), remaining(t, b)...) {
		seen[n]++
	}
	for n := range sent {
		if seen[fmt.Sprint(n)] != 1 {
			t.Errorf("message %d is there %d times", n, seen[fmt.Sprint(n)])
		}
	}
	t.Logf("%d kills, %d messages", kills, sent)
	if kills == 0 {
		t.Error("nobody was killed")
	}
}
