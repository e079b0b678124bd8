//go:build unix

package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waggle/internal/face/cli/app"
	"waggle/internal/test/testenv"
	"waggle/operator/mail"
)

// sentOf reads the results of send --json.
func sentOf(t *testing.T, out string) []mail.Sent {
	t.Helper()
	var doc struct{ Results []mail.Sent }
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return doc.Results
}

// entriesOf counts the messages in a mailbox by their text.
func (h *homeTree) entriesOf(team, member string) map[string]int {
	h.t.Helper()
	var doc struct{ Entries []mail.InboxEntry }
	testenv.Must(h.t, json.Unmarshal([]byte(h.must("inbox", member, "--team", team, "--json")), &doc))
	n := map[string]int{}
	for _, e := range doc.Entries {
		n[e.Text]++
	}
	return n
}

// TestSendFlood: many commands at once send to one member. Each of them succeeds, and
// every message is there once.
func TestSendFlood(t *testing.T) {
	t.Parallel()
	h := newTeam(t, "flood", crew("flood", "process", 1))
	n := testenv.Scale(30, 200)
	var wg sync.WaitGroup
	start := make(chan struct{})
	began := time.Now()
	for i := range n {
		wg.Go(func() {
			<-start
			out, err := h.command("send", "m0", fmt.Sprint("word ", i), "--team", "flood", "--json").CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	close(start)
	wg.Wait()
	took := time.Since(began)
	var got map[string]int
	testenv.WaitFor(time.Minute, func() bool { got = h.entriesOf("flood", "m0"); return len(got) >= n })
	for i := range n {
		if w := fmt.Sprint("word ", i); got[w] != 1 {
			t.Errorf("%q is there %d times", w, got[w])
		}
	}
	testenv.Measured(t, "%d waggle send at once to one member: all exit 0 after %s, 0 lost, 0 twice", n, took.Round(10*time.Millisecond))
}

// TestSendTwice: the same words under the same id are sent once, also by two commands
// at once; other words under that id are refused.
func TestSendTwice(t *testing.T) {
	t.Parallel()
	h := newTeam(t, "twice", crew("twice", "process", 2))
	const id = "0b9f4b0e-8c3f-4d53-9f5e-2d5a1f6b7c80"
	var wg sync.WaitGroup
	for range 4 {
		for _, args := range [][]string{{"*", "for all"}, {"m0", "for one"}} {
			wg.Go(func() {
				if out, err := h.command("send", args[0], args[1], "--team", "twice", "--id", id).CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
	wg.Wait()
	for _, m := range []string{"m0", "m1"} {
		if n := h.entriesOf("twice", m)["for all"]; n != 1 {
			t.Errorf("%s has it %d times", m, n)
		}
	}
	if n := h.entriesOf("twice", "m0")["for one"]; n != 1 {
		t.Errorf("m0 has its own %d times", n)
	}
	if _, said, code := h.waggle("send", "m0", "other", "--team", "twice", "--id", id); code != app.ExitRefused || !strings.Contains(said, "belongs to another message") {
		t.Errorf("code %d: %s", code, said)
	}
	if _, _, code := h.waggle("send", "m0", "other", "--team", "twice", "--id", "mine"); code != app.ExitUsage {
		t.Errorf("an id that is none: code %d", code)
	}
}

// TestSendOnRecord: send queues a message in the journal if the mailbox is locked, and the
// leader puts it into the mailbox once the lock is gone.
func TestSendOnRecord(t *testing.T) {
	t.Parallel()
	h := newTeam(t, "later", crew("later", "process", 1))
	h.must("send", "m0", "first", "--team", "later")
	boxes, err := filepath.Glob(filepath.Join(h.dir, "root", "teams", "later", "inboxes", "m0.json"))
	if err != nil || len(boxes) != 1 {
		t.Fatal(boxes, err)
	}
	lock := boxes[0] + ".lock" // as another program takes it, and renews it
	testenv.Eventually(t, "the lock is free", func() bool {
		err := os.Mkdir(lock, 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err) // else the member has it for a moment: it marks what it was told
		}
		return err == nil
	})
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
				_ = os.Chtimes(lock, time.Time{}, time.Now())
			}
		}
	}()
	s := sentOf(t, h.must("send", "m0", "second", "--team", "later", "--json"))
	close(stop)
	<-ended
	if len(s) != 1 || s[0].State != mail.Queued {
		t.Errorf("behind a lock: %+v", s)
	}
	testenv.Must(t, os.Remove(lock))
	testenv.Eventually(t, "it comes", func() bool { return h.entriesOf("later", "m0")["second"] == 1 })
}

// TestSendToTheDead: send writes to a dead member that waits for its restart, and refuses
// one that is not started again.
func TestSendToTheDead(t *testing.T) {
	t.Parallel()
	h := newHome(t, "waggle")
	h.ends("dead")
	file := h.write("dead.yaml", `
team: dead
members:
  - {name: back, agent: exec, restart: {policy: on-failure, most: 5, backoff: 60s, longest: 60s}}
  - {name: gone, agent: exec, restart: never}
`)
	h.must("up", file, "--detach", "--quiet")
	for _, m := range h.status("dead").Members {
		testenv.Must(t, syscall.Kill(m.PID, syscall.SIGKILL))
		testenv.Eventually(t, m.Name+" is dead", func() bool { return syscall.Kill(m.PID, 0) != nil })
	}
	out, said, code := h.waggle("send", "back", "for later", "--team", "dead", "--json")
	if code != 0 {
		t.Fatalf("code %d: %s%s", code, out, said)
	}
	if s := sentOf(t, out); s[0].State != mail.Written || !strings.Contains(s[0].Detail, "started again") {
		t.Errorf("%+v", s)
	}
	if _, said, code := h.waggle("send", "gone", "for nobody", "--team", "dead"); code != app.ExitRefused || !strings.Contains(said, "not started again") {
		t.Errorf("code %d: %s", code, said)
	}
}
