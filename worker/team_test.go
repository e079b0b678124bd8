package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/task"
	"waggle/worker"
)

// TestChatWaitsForIdle: a busy session gets no chat; when it is idle it gets all waiting chat,
// once, in file order, as one turn, and then its next task.
func TestChatWaitsForIdle(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		var batches [][]string
		c.onChat = func(_ context.Context, _ agent.Host, w agent.Work) (agent.Result, error) {
			var b []string
			for _, m := range w.Mail {
				b = append(b, m.From+": "+m.Text)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			batches = append(batches, b)
			return agent.Result{}, nil
		}
		gate := make(chan struct{})
		c.starts("ann")
		c.order("ann", "1", held(gate))
		c.order("ann", "2", held(gate))
		for _, s := range []string{"one", "two", "three"} {
			time.Sleep(5 * time.Second) // the bubble's clock
			c.chat("ann", "team-lead", s)
		}
		synctest.Wait()
		es, err := c.box("ann").Unread(c.ctx)
		if err != nil || len(es) != 3 || len(c.texts("ann/1")) > 0 {
			t.Errorf("while busy: %d unread (%v), want the 3; %d were delivered", len(es), err, len(c.texts("ann/1")))
		}
		close(gate)
		c.until("both tasks over", c.finished("ann", "2"))
		for range 10 { // more passes deliver nothing more
			c.poke()
			time.Sleep(time.Second) // the bubble's clock
		}
		if diff := cmp.Diff([][]string{{"team-lead: one", "team-lead: two", "team-lead: three"}}, batches); diff != "" {
			t.Errorf("chat (-want +got):\n%s", diff)
		}
		if es, err := c.box("ann").Unread(c.ctx); err != nil || len(es) != 0 {
			t.Errorf("%d unread at the end, %v", len(es), err)
		}
		kinds := c.recordKinds("ann")
		if at := slices.Index(kinds, "taken 3 entries"); at < 0 || at > slices.Index(kinds, "taken 2") {
			t.Errorf("chat was not taken before the next task: %q", kinds)
		}
	}, "ann")
}

// TestControlBeforeChat: of one batch, control is applied before any chat, and a
// shutdown before all.
func TestControlBeforeChat(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.leads()
		c.chat("ann", "team-lead", "words")
		c.order("ann", "1", nil)
		c.chat("bob", "team-lead", "words")
		c.order("bob", "2", nil)
		testenv.Must(t, c.l.Shutdown(c.ctx, "bob", "no need", policy.RoleOperator))
		synctest.Wait()
		c.works("ann")
		c.works("bob")
		c.until("ann's task over", c.finished("ann", "1"))
		if err := <-c.ended["bob"]; err != nil {
			t.Errorf("bob ended: %v", err)
		}
		if diff := cmp.Diff([]string{"opened", "applied assigned", "taken 1 entries", "said idle_notification", "taken 1",
			"said 1 task_completed", "said 1 idle_notification"}, c.recordKinds("ann")); diff != "" {
			t.Errorf("ann (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"opened", "applied shutdown", "applied assigned", "said shutdown_approved"}, c.recordKinds("bob")); diff != "" {
			t.Errorf("bob (-want +got):\n%s", diff)
		}
		if got := c.texts("bob/1"); len(got) > 0 {
			t.Errorf("bob was ending and was given %q", got)
		}
	}, "ann", "bob")
}

// TestReadFlagIsOutput: entries that another program marked are delivered, and entries that could
// not be marked are not delivered again, not even to the next process.
func TestReadFlagIsOutput(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		e := protocol.Envelope{From: "team-lead", Text: "seen by a stranger", Timestamp: protocol.FormatTime(time.Now()), Read: true}
		testenv.Must(t, c.box("ann").Append(c.ctx, e))
		c.setBox("ann", unmarkable{c.box("ann")})
		c.works("ann")
		c.until("delivered", func() bool { return len(c.texts("ann/1")) == 1 })
		time.Sleep(10 * time.Second) // the bubble's clock
		c.quits("ann")
		c.works("ann")
		c.chat("ann", "team-lead", "new")
		c.until("delivered", func() bool { return len(c.texts("ann/2")) > 0 })
		time.Sleep(10 * time.Second) // the bubble's clock
		if a, b := c.texts("ann/1"), c.texts("ann/2"); !slices.Equal(a, []string{"seen by a stranger"}) || !slices.Equal(b, []string{"new"}) {
			t.Errorf("delivered %q, then %q", a, b)
		}
	}, "ann")
}

type unmarkable struct{ mailbox.Store }

func (unmarkable) MarkRead(context.Context, ...mailbox.ID) error { return errors.New("not now") }

// TestBaseline: entries from before the member joined are not delivered.
func TestBaseline(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		box := mailbox.NewMemory(mailbox.Options{})
		c.setBox("ann", box)
		c.chat("ann", "team-lead", "for the one before")
		es, err := box.Entries(c.ctx)
		testenv.Must(t, err)
		c.join(record.Joined{Name: "ann", Baseline: []string{es[0].ID.String()}})
		c.chat("ann", "team-lead", "for ann")
		c.works("ann")
		c.until("delivered", func() bool { return len(c.texts("ann/1")) > 0 })
		if got := c.texts("ann/1"); !slices.Equal(got, []string{"for ann"}) {
			t.Errorf("delivered %q", got)
		}
		un, err := box.Unread(c.ctx)
		if err != nil || len(un) != 1 || un[0].Envelope.Text != "for the one before" {
			t.Errorf("unread: %+v, %v; want what was never delivered", un, err)
		}
	})
}

// TestFetchOverdue: with no leader running a worker fetches its orders itself,
// once, and a leader that comes later does not send them again.
func TestFetchOverdue(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.assigned()
		began := time.Now()
		c.works("ann")
		c.until("done", c.sees("ann", func(_ *control.Leader, w *control.Worker) bool { return len(w.Tasks) == 1 && w.Tasks[0].Ended }))
		if d := time.Since(began); d < 2*time.Second || d > 5*time.Second { // the bubble's clock
			t.Errorf("fetched after %s, want 2 s", d)
		}
		c.leads()
		time.Sleep(time.Minute) // the bubble's clock
		es, err := c.box("ann").Entries(c.ctx)
		if err != nil || len(es) != 1 {
			t.Errorf("%d entries (%v), want the one order", len(es), err)
		}
		if !c.finished("ann", "1")() {
			t.Error("the leader does not know that the task is over")
		}
	}, "ann")
}

// TestFetchLost: an order that vanished from the mailbox after it was sent is
// fetched, once.
func TestFetchLost(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.leads()
		good := c.box("ann")
		c.setBox("ann", mailbox.NewMemory(mailbox.Options{}))
		c.order("ann", "1", nil) // goes into a mailbox that is removed
		synctest.Wait()
		c.setBox("ann", good)
		c.works("ann")
		c.until("over", c.finished("ann", "1"))
		time.Sleep(time.Minute) // the bubble's clock
		es, err := good.Entries(c.ctx)
		if err != nil || len(es) != 1 {
			t.Errorf("%d entries (%v), want the one that was fetched", len(es), err)
		}
	}, "ann")
}

// TestCancelMidTurn: when the process is told to end, the command is ended, its
// end and the turn's are recorded and sent, and Run returns.
func TestCancelMidTurn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			out, err := h.Tool(ctx, bash("echo then sleep"), func(ctx context.Context, _ json.RawMessage) agent.Ran {
				exit, err := h.Run(ctx, spawn.Command{Argv: []string{"sleep", "1000"}})
				return agent.Ran{Failed: true, Err: fmt.Sprint(exit.Signal, " ", err)}
			})
			return agent.Result{Failed: out.Ran != nil && out.Ran.Failed, Reason: "ended"}, err
		})
		c.until("it runs", c.sees("ann", func(_ *control.Leader, w *control.Worker) bool { return len(w.Calls) == 1 && w.Calls[0].Started }))
		if err := c.quits("ann"); !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
		c.until("told", c.finished("ann", "1"))
		if _, done := c.over("ann", "1"); done || c.note("ann", "1") != "interrupted" {
			t.Errorf("completed %v, %q; want interrupted", done, c.note("ann", "1"))
		}
		c.look("ann", func(_ *control.Leader, w *control.Worker) {
			if f := w.Calls[0].Finished; f == nil || f.Error != "terminated context canceled" || w.Turn() != nil {
				t.Errorf("the call ended as %+v, turn %+v", f, w.Turn())
			}
		})
		// The next process leaves it at that.
		c.works("ann")
		time.Sleep(time.Minute) // the bubble's clock
		if len(c.recordKinds("ann")) != 8 {
			t.Errorf("records: %q", c.recordKinds("ann"))
		}
	}, "ann")
}

// TestDoneJustBeforeTheEnd: a task that is done when the process is told to end
// is done.
func TestDoneJustBeforeTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		c.order("ann", "1", func(ctx context.Context, _ agent.Host, _ agent.Work) (agent.Result, error) {
			<-ctx.Done()
			return agent.Result{Summary: "just so"}, nil
		})
		synctest.Wait()
		c.quits("ann")
		c.until("told", c.finished("ann", "1"))
		if _, done := c.over("ann", "1"); !done {
			t.Errorf("not completed: %q", c.note("ann", "1"))
		}
	}, "ann")
}

// TestLockedMailboxes: the messages for a locked mailbox wait in order and delay no other mailbox;
// no message is lost or sent twice.
func TestLockedMailboxes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		lead, bob := &lockable{Store: c.box(protocol.Lead)}, &lockable{Store: c.box("bob")}
		c.setBox(protocol.Lead, lead)
		c.setBox("bob", bob)
		c.starts("ann")
		bob.lock(true)
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			err := h.Say(ctx, "bob", "one", "")
			lead.lock(true)
			return agent.Result{}, errors.Join(err, h.Say(ctx, "bob", "two", ""), h.Progress(ctx, "done", "soon"))
		})
		c.order("ann", "2", nil)
		c.until("both turns on record", c.sees("ann", func(_ *control.Leader, w *control.Worker) bool { return len(w.Tasks) == 2 && w.Tasks[1].Ended }))
		lead.lock(false)
		c.until("the lead knows, although bob's mailbox is locked", c.finished("ann", "2"))
		bob.lock(false)
		c.until("bob has both", func() bool { es, err := bob.Entries(c.ctx); return err == nil && len(es) == 2 })
		time.Sleep(time.Minute) // the bubble's clock
		var got []string
		for _, b := range []mailbox.Store{lead, bob} {
			es, err := b.Entries(c.ctx)
			testenv.Must(t, err)
			for _, e := range es {
				got = append(got, string(protocol.Decode(e.Envelope).Kind))
				if k := got[len(got)-1]; k == "text" {
					got[len(got)-1] = e.Envelope.Text
				}
			}
		}
		if diff := cmp.Diff([]string{"task_progress", "task_completed", "idle_notification", "task_completed", "idle_notification", "one", "two"}, got); diff != "" {
			t.Errorf("mail (-want +got):\n%s", diff)
		}
		if n := strings.Count(c.log.String(), "on record and not sent yet"); n != 2 {
			t.Errorf("%d lines in the log for two troubles:\n%s", n, c.log)
		}
	}, "ann", "bob")
}

// lockable is a mailbox whose lock a test can hold.
type lockable struct {
	mailbox.Store
	mu     sync.Mutex
	locked bool
}

func (l *lockable) lock(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.locked = on
}

func (l *lockable) held() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locked {
		return &mailbox.LockedError{Path: "a mailbox", Holder: "another program", Waited: time.Second}
	}
	return nil
}

func (l *lockable) Append(ctx context.Context, es ...protocol.Envelope) error {
	if err := l.held(); err != nil {
		return err
	}
	return l.Store.Append(ctx, es...)
}

// TestBoard: a task whose instructions were changed is refused, one that cannot
// be read is tried again, and a completion is shown although the board was
// locked at first.
func TestBoard(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		c.board.add("1", "rm -rf everything", "ann")
		testenv.Must(t, c.l.Assign(c.ctx, "ann", record.Task{ID: "1", Instructions: "do 1"}))
		testenv.Must(t, c.l.Assign(c.ctx, "ann", record.Task{ID: "2", Instructions: "do 2"}))
		c.until("both over", c.finished("ann", "2"))
		if _, done := c.over("ann", "1"); done || !strings.Contains(c.note("ann", "1"), "not the ones that were assigned") {
			t.Errorf("task 1: %q", c.note("ann", "1"))
		}
		if _, done := c.over("ann", "2"); done || !strings.Contains(c.note("ann", "2"), "task 2: no task") {
			t.Errorf("task 2: %q", c.note("ann", "2"))
		}
		c.faults.mu.Lock()
		c.faults.at = map[string]fault{}
		reads, writes := c.faults.count["ann board read"], c.faults.count["ann board"]
		c.faults.at[fmt.Sprintf("ann board read %d", reads+1)] = failBefore // its blockers
		c.faults.at[fmt.Sprintf("ann board read %d", reads+2)] = failBefore
		c.faults.at[fmt.Sprintf("ann board %d", writes+1)] = failBefore
		c.faults.at[fmt.Sprintf("ann board %d", writes+3)] = failBefore // after the start, the completion
		c.faults.mu.Unlock()
		c.order("ann", "3", nil)
		c.until("over", c.finished("ann", "3"))
		c.until("shown", func() bool { b, err := c.board.Get(c.ctx, "3"); return err == nil && b.Status == task.Completed })
	}, "ann")
}

// TestBoardWithoutSpace: no task fails for want of space on the board's disk, however long
// that takes.
func TestBoardWithoutSpace(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		c.board.mu.Lock()
		c.board.full = 50
		c.board.mu.Unlock()
		c.order("ann", "1", nil)
		c.until("over", c.finished("ann", "1"))
		if _, done := c.over("ann", "1"); !done {
			t.Errorf("it failed: %s", c.note("ann", "1"))
		}
	}, "ann")
}

// TestBlockedTaskWaits: a task that waits for another member's is not begun, and does not delay
// other work; it is begun when the board shows the other as completed.
func TestBlockedTaskWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		for _, id := range []string{"1", "2", "3"} {
			c.board.add(id, "do "+id, "ann")
		}
		c.board.add("2", "do 2", "bob")
		c.board.block("1", "2")
		for _, id := range []string{"1", "3"} {
			testenv.Must(t, c.l.Assign(c.ctx, "ann", record.Task{ID: id, Instructions: "do " + id}))
		}
		c.until("the other is over", c.finished("ann", "3"))
		synctest.Wait()
		c.look("ann", func(_ *control.Leader, w *control.Worker) {
			if len(w.Tasks) != 2 || w.Tasks[0].Taken {
				t.Errorf("the blocked task was begun: %+v", w.Tasks[0])
			}
		})
		if _, err := c.board.Complete(c.ctx, "2", "bob"); err != nil {
			t.Fatal(err)
		}
		c.until("it is over", c.finished("ann", "1"))
	}, "ann", "bob")
}

// TestFailedTaskIsPending: a task whose turn failed is pending again and keeps its owner; it is
// done when it is assigned again, and a restart changes nothing.
func TestFailedTaskIsPending(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		c.order("ann", "1", ends(agent.Result{Failed: true, Reason: "it broke"}))
		c.until("over", c.finished("ann", "1"))
		synctest.Wait()
		if b, err := c.board.Get(c.ctx, "1"); err != nil || b.Status != task.Pending || b.Owner != "ann" {
			t.Errorf("%+v %v", b, err)
		}
		c.mu.Lock()
		c.plays["1"] = nil
		c.mu.Unlock()
		testenv.Must(t, c.l.Assign(c.ctx, "ann", record.Task{ID: "1", Subject: "task 1", Instructions: "do 1"}))
		c.until("done", func() bool { _, done := c.over("ann", "1"); return done })
		c.quits("ann")
		c.works("ann")
		synctest.Wait()
		if b, err := c.board.Get(c.ctx, "1"); err != nil || b.Status != task.Completed {
			t.Errorf("%+v %v", b, err)
		}
	}, "ann")
}

// TestGivenBackIsTakenAgain: the order for a task that the leader gave back stands: its
// member claims it when it is brought back, unless another has it by then, or a person
// gave it back.
func TestGivenBackIsTakenAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.leads()
		ids := []string{"1", "2", "3", "4"}
		for _, id := range ids {
			c.order("ann", id, nil)
		}
		c.board.giveBack("1", "ann")
		c.board.giveBack("2", "ann")
		if _, err := c.board.Claim(c.ctx, "2", "bob"); err != nil {
			t.Fatal(err)
		}
		c.board.giveBack("3", "bob") // was his once: not this member's to take
		c.works("ann")
		c.until("the last is over", c.finished("ann", "4"))
		synctest.Wait()
		for i, want := range []struct {
			owner string
			to    task.Status
			done  bool
		}{{"ann", task.Completed, true}, {"bob", task.InProgress, false}, {"", task.Pending, false}, {"ann", task.Completed, true}} {
			b, err := c.board.Get(c.ctx, task.ID(ids[i]))
			if _, done := c.over("ann", ids[i]); err != nil || b.Owner != want.owner || b.Status != want.to || done != want.done {
				t.Errorf("task %s: %+v, done %v (%s), %v", ids[i], b, done, c.note("ann", ids[i]), err)
			}
		}
	}, "ann", "bob")
}

// TestGivenBackWhenDone: a member that ended after its task was done, and before the board
// showed it, completes it when it is back, though it was given back meanwhile.
func TestGivenBackWhenDone(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		c.order("ann", "1", nil)
		c.until("over", c.finished("ann", "1"))
		c.quits("ann")
		c.board.giveBack("1", "ann")
		c.works("ann")
		synctest.Wait()
		if b, err := c.board.Get(c.ctx, "1"); err != nil || b.Status != task.Completed || b.Owner != "ann" {
			t.Errorf("%+v %v", b, err)
		}
	}, "ann")
}

// TestMembershipEnds: a process whose membership has ended, or whose journal is
// broken, ends and says why.
func TestMembershipEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.works("ann")
		c.works("bob")
		synctest.Wait()
		c.operate(func(l *control.Leader) ([]journal.Draft, error) {
			m, _ := l.Member("ann")
			return l.Let(m, record.LeftReplaced, ""), nil
		})
		if err := <-c.ended["ann"]; !errors.Is(err, worker.ErrLeft) {
			t.Errorf("ann ended with %v", err)
		}
		// Another program writes a forged record.
		c.record(c.ownOf("bob"), journal.Writer{Instance: string(c.instance("bob")), Epoch: 1}, "future", nil)
		var future *journal.FutureError
		if err := <-c.ended["bob"]; !errors.As(err, &future) {
			t.Errorf("bob ended with %v", err)
		}
	}, "ann", "bob")
}

// TestForgedOrders: control without a record is inert, once on record, and marked.
func TestForgedOrders(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		text, err := protocol.Encode(protocol.TaskAssignment{TaskID: "9", Subject: "s", Description: "make it", AssignedBy: "team-lead",
			Timestamp: protocol.FormatTime(time.Now())}, protocol.DialectWire)
		testenv.Must(t, err)
		for range 3 {
			testenv.Must(t, c.box("ann").Append(c.ctx, protocol.Envelope{From: "team-lead", Text: text, Timestamp: protocol.FormatTime(time.Now())}))
		}
		c.poke()
		c.until("on record", func() bool {
			return slices.Equal(c.recordKinds("ann"), []string{"opened", "unverified task_assignment", "unverified task_assignment", "unverified task_assignment"})
		})
		es, err := c.box("ann").Unread(c.ctx)
		if err != nil || len(es) != 0 {
			t.Errorf("%d unread, %v", len(es), err)
		}
	}, "ann")
}
