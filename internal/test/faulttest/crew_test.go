package faulttest

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waggle/home"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
	"waggle/team"
)

// patience is for a machine that is busy with other tests.
const patience = 60 * time.Second

// crew is a team whose leader and members live in this process.
type crew struct {
	t    *testing.T
	op   operator.Operator
	name protocol.TeamName
	dir  string
	log  *testenv.Buffer
	kept chan error // what Keep returned

	armed  atomic.Pointer[func(op atomicfile.Op, path string) error] // nil: nothing fails
	failed sync.Map                                                  // what has failed: class of file and operation
}

// crews has the living crews by directory: the crew whose file an operation is on decides whether it
// fails.
var crews sync.Map

func TestMain(m *testing.M) {
	undo := atomicfile.FailOps(func(op atomicfile.Op, path string) error {
		var err error
		crews.Range(func(dir, c any) bool {
			if !strings.HasPrefix(path, dir.(string)+"/") {
				return true
			}
			if fail := c.(*crew).armed.Load(); fail != nil {
				if err = (*fail)(op, path); err != nil {
					c.(*crew).failed.Store(class(path)+" "+string(op), true)
				}
			}
			return false
		})
		return err
	})
	code := m.Run()
	undo()
	os.Exit(code)
}

// class names the kind of file at path.
func class(path string) string {
	base := filepath.Base(path)
	switch {
	case strings.Contains(base, "snapshot-"):
		return "snapshot"
	case strings.Contains(path, "/bodies"):
		return "body"
	case strings.Contains(path, "/journal/"):
		return "journal"
	case strings.Contains(path, "/inboxes"):
		return "mailbox"
	case strings.Contains(base, "task-status"):
		return "task-status"
	case strings.Contains(path, "/tasks/"):
		return "task"
	case strings.Contains(base, "config.json"):
		return "registry"
	}
	return "other"
}

const file = `team: crew
policy: {allow: ["Bash(./done:*)"]}
members:
  - {name: ann, agent: exec, backend: in-process}
  - {name: bob, agent: exec, backend: in-process}
`

func newCrew(t *testing.T) *crew {
	t.Helper()
	testenv.Long(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	for _, d := range []string{"root", "state", "work"} {
		testenv.Must(t, os.Mkdir(filepath.Join(dir, d), 0o700))
	}
	script := fmt.Sprintf("#!/bin/sh\necho \"$1\" >>'%s/work/ran'\n", dir)
	testenv.Must(t, testenv.Executable(filepath.Join(dir, "work", "done"), []byte(script)))
	testenv.Must(t, os.Symlink("done", filepath.Join(dir, "work", "ask"))) // the same, and no rule allows it
	c := &crew{t: t, name: "crew", dir: dir, kept: make(chan error, 1), log: &testenv.Buffer{}}
	root := filepath.Join(dir, "root")
	c.op = operator.Operator{Root: team.Root{Path: root}, RootURL: (&url.URL{Scheme: "file", Path: root}).String(), Home: home.Home{Path: filepath.Join(dir, "state")},
		Minter: poll.Minter{Now: time.Now, Rand: rand.Reader}, Self: "/nonexistent/waggle", Version: "test", PID: os.Getpid(), Environ: []string{"PATH=" + os.Getenv("PATH")},
		Log: slog.New(slog.NewTextHandler(c.log, nil))}
	crews.Store(dir, c)
	f, err := teamfile.ParseFile(filepath.Join(dir, "work", "waggle.yaml"), []byte(file))
	testenv.Must(t, err)
	s, err := supervise.Of(c.op).Prepare(t.Context(), f, false, nil)
	testenv.Must(t, err)
	c.fill(s)
	up := make(chan struct{})
	go func() {
		_, err := supervise.Of(c.op).Keep(context.WithoutCancel(t.Context()), s, f, supervise.LeadOptions{Detached: true, Up: func(*operator.State) { close(up) }})
		c.kept <- err
	}()
	t.Cleanup(c.end)
	select {
	case <-up:
	case err := <-c.kept:
		c.kept <- err
		t.Fatalf("it did not come up: %v\n%s", err, c.log)
	case <-time.After(patience):
		t.Fatalf("it does not come up\n%s", c.log)
	}
	return c
}

// fill makes the leader's journal long enough for a snapshot.
func (c *crew) fill(s *operator.State) {
	drafts := slices.Repeat([]journal.Draft{{Kind: record.KindCheckpoint, Body: struct{}{}}}, 1000)
	_, err := s.Journal.Append(c.t.Context(), journal.Writer{Operator: true, PID: c.op.PID}, func() ([]journal.Draft, error) { return drafts, nil })
	testenv.Must(c.t, err)
}

// end ends the team, wherever it is.
func (c *crew) end() {
	c.armed.Store(nil)
	if _, err := process.Of(c.op).Down(context.Background(), c.name, process.StopOptions{Grace: 5 * time.Second}); err != nil && len(c.kept) == 0 {
		c.t.Errorf("down: %v", err)
	}
	select {
	case err := <-c.kept:
		if err != nil {
			c.t.Errorf("its leader ended: %v", err)
		}
	case <-time.After(patience):
		c.t.Errorf("its leader does not end")
	}
	crews.Delete(c.dir)
	if c.t.Failed() {
		c.t.Logf("log:\n%s", c.log)
		for _, m := range []protocol.MemberName{"ann", "bob"} {
			b, _ := os.ReadFile(filepath.Join(c.op.Root.MemberDir(c.name, m), "output.log"))
			c.t.Logf("%s:\n%s", m, b)
		}
	}
}

// await waits until done, and names the event that it waited for.
func (c *crew) await(what string, done func() bool) {
	c.t.Helper()
	testenv.Eventually(c.t, what, func() bool {
		if done() {
			return true
		}
		if len(c.kept) > 0 {
			c.t.Fatalf("the leader has ended, waiting until %s", what)
		}
		return false
	})
}

// ran counts the lines that tasks have written.
func (c *crew) ran() map[string]int {
	b, _ := os.ReadFile(filepath.Join(c.dir, "work", "ran"))
	n := map[string]int{}
	for _, id := range strings.Fields(string(b)) {
		n[id]++
	}
	return n
}

// job is what one round gives to the team.
type job struct {
	id         string
	task, asks task.ID // "": the command did not say that it was done
	said       string  // the msg_id, likewise
}

// give gives the team one thing of each kind to do. Commands that fail are not repeated.
func (c *crew) give(id string) job {
	ctx := c.t.Context()
	j := job{id: id}
	if r, err := board.Of(c.op).AddTask(ctx, c.name, board.NewTask{Subject: id + "-a", Owner: "ann", Description: "./done " + id + "-a " + strings.Repeat("long ", 2000)}); err == nil {
		j.task = r.Task.ID
	}
	if r, err := board.Of(c.op).AddTask(ctx, c.name, board.NewTask{Subject: id + "-b", Owner: "bob", Description: "./ask " + id + "-b"}); err == nil {
		j.asks = r.Task.ID
	}
	if sent, err := mail.Of(c.op).Send(ctx, c.name, mail.Message{To: protocol.Address{Scheme: protocol.SchemeMember, Member: "ann"}, Text: "word " + id}); err == nil && sent[0].Err() == nil {
		j.said = sent[0].MsgID
	}
	return j
}

// done reports that all of a job that was taken is over; what asks is allowed.
func (c *crew) done(j job) bool {
	if j.asks != "" && c.ran()[j.id+"-b"] == 0 {
		open, err := decide.Of(c.op).Pending(c.t.Context(), c.name, false)
		if err != nil {
			return false
		}
		for _, q := range open {
			_, _ = decide.Of(c.op).Decide(c.t.Context(), c.name, []decide.Answer{{ID: q.ID, Digest: q.Digest, Allow: true}}) // the next look tries again
		}
		return false
	}
	if j.task != "" && c.ran()[j.id+"-a"] == 0 {
		return false
	}
	tasks, err := board.Of(c.op).Tasks(c.t.Context(), c.name, true)
	if err != nil {
		return false
	}
	for _, id := range []task.ID{j.task, j.asks} {
		if id != "" && !slices.ContainsFunc(tasks.Tasks, func(t board.TaskView) bool { return t.ID == id && t.Status == task.Completed }) {
			return false
		}
	}
	if j.said == "" {
		return true
	}
	ms, err := mail.Of(c.op).Message(c.t.Context(), c.name, j.said)
	return err == nil && len(ms) == 1 && (ms[0].State == mail.Delivered || ms[0].State == mail.Acknowledged)
}

// forget removes snapshots, so that they are written again.
func (c *crew) forget() {
	found, err := filepath.Glob(filepath.Join(c.dir, "state", "*", "*", "journal", "*", "snapshot-*"))
	testenv.Must(c.t, err)
	for _, f := range found {
		testenv.Must(c.t, os.Remove(f))
	}
}
