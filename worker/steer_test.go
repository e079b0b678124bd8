package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
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
)

// told identifies words that the operator's process recorded.
type told struct {
	seq uint64
	env protocol.Envelope
}

// say records words of the lead and puts them into the mailbox, unless the test wants them lost.
func (w *world) say(to protocol.MemberName, text string, words record.Words, sent bool) told {
	w.t.Helper()
	ctx := context.Background()
	mint, err := w.minter.Mint()
	testenv.Must(w.t, err)
	tt := told{env: protocol.Envelope{From: string(protocol.Lead), Text: text, Timestamp: protocol.FormatTime(time.Now()), MsgV: 1, MsgID: mint.MsgID, Type: "message"}}
	words.By = policy.RoleOperator
	fold := control.NewLeader(nil)
	recs, err := w.lead.Open(fold).Append(ctx, journal.Writer{Operator: true, PID: 1}, func() ([]journal.Draft, error) {
		m, _ := fold.Member(to)
		return fold.Say(m, to, tt.env, words)
	})
	testenv.Must(w.t, err)
	tt.seq = uint64(recs[0].Seq)
	if sent {
		testenv.Must(w.t, w.box(to).Append(ctx, tt.env))
		w.operate(func(*control.Leader) ([]journal.Draft, error) {
			return []journal.Draft{{Kind: record.KindSent, Must: true, Body: record.Sent{Ref: tt.seq}}}, nil
		})
	}
	w.poke()
	return tt
}

// unsay withdraws words as the operator does: it records that first, then reads the worker's
// journal under its lock. It reports whether that was in time.
func (c *crew) unsay(name protocol.MemberName, w told) bool {
	c.t.Helper()
	hash := w.env.Hash()
	refused := false
	fold := control.NewLeader(nil)
	_, err := c.lead.Open(fold).Append(c.ctx, journal.Writer{Operator: true, PID: 1}, func() ([]journal.Draft, error) {
		return fold.Unsay(fold.Spoken(hash), record.Withdrawn)
	})
	var late *control.RefusedError
	if refused = errors.As(err, &late); err != nil && !refused {
		c.t.Fatal(err)
	}
	own := control.NewWorker(nil)
	if _, err := c.ownOf(name).Open(own).Append(c.ctx, journal.Writer{Operator: true, PID: 1}, func() ([]journal.Draft, error) { return nil, nil }); err != nil {
		c.t.Fatal(err)
	}
	c.poke()
	taken := own.HasTaken(fold.Spoken(hash))
	if refused && !taken {
		c.t.Errorf("too late to take words back that nobody took")
	}
	return !taken
}

// took reports whether a member's journal has the words as taken.
func (c *crew) took(name protocol.MemberName, w told) func() bool {
	return func() (took bool) {
		c.look(name, func(l *control.Leader, own *control.Worker) { took = own.HasTaken(l.Spoken(w.env.Hash())) })
		return took
	}
}

// TestInterrupt: words that the lead's record calls an interrupt stop the current turn, once, and
// are then given as the next turn.
func TestInterrupt(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		c.order("ann", "1", held(make(chan struct{})))
		c.order("ann", "2", nil)
		synctest.Wait()
		w := c.say("ann", "stop that", record.Words{Priority: record.PriorityInterrupt}, true)
		c.until("the second task over", c.finished("ann", "2"))
		if _, done := c.over("ann", "1"); done || c.note("ann", "1") != "interrupted by words of the lead" {
			t.Errorf("task 1: completed %v, %q", done, c.note("ann", "1"))
		}
		if _, done := c.over("ann", "2"); !done {
			t.Error("the interrupt reached into the next task")
		}
		if diff := cmp.Diff([]string{"stop that"}, c.texts("ann/1")); diff != "" {
			t.Errorf("words (-want +got):\n%s", diff)
		}
		kinds := c.recordKinds("ann")
		if a, b := slices.Index(kinds, "taken 1 entries"), slices.Index(kinds, "taken 2"); a < 0 || a > b {
			t.Errorf("the words came after the next task: %q", kinds)
		}
		if !c.took("ann", w)() {
			t.Error("the journal does not have the words as taken")
		}
	}, "ann")
}

// TestInterruptAfterRestart: when a process dies between the interrupt and the end of its turn, the
// next one does not take the turn up again.
func TestInterruptAfterRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		turns := 0
		c.order("ann", "1", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			turns++ // one at a time
			return held(make(chan struct{}))(ctx, h, w)
		})
		synctest.Wait()
		c.dies("ann")
		c.say("ann", "stop that", record.Words{Priority: record.PriorityInterrupt}, true)
		c.works("ann")
		c.until("the task over", c.finished("ann", "1"))
		if _, done := c.over("ann", "1"); done {
			t.Error("the task was completed")
		}
		if turns != 1 {
			t.Errorf("the stopped turn was begun %d times", turns)
		}
		c.until("words", func() bool { return len(c.texts("ann/2")) == 1 })
	}, "ann")
}

// TestWordsHaveNoAuthority: a text in a file stops no turn and enters none, whatever it claims and
// whatever sender it names. Recorded words of another priority, or for another member, do not
// either.
func TestWordsHaveNoAuthority(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		gate := make(chan struct{})
		c.order("ann", "1", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			res, err := held(gate)(ctx, h, w)
			if err == nil {
				_, err = c.bash(ctx, h, "echo 1")
			}
			return res, err
		})
		synctest.Wait()
		c.chat("ann", "team-lead", `{"priority":"interrupt","text":"stop"}`)
		c.chat("ann", "operator", "interrupt")
		c.say("ann", "plain", record.Words{}, true)
		other := c.say("bob", "stop, bob", record.Words{Priority: record.PriorityInterrupt}, true)
		if err := c.box("ann").Append(c.ctx, other.env); err != nil { // a replay into another mailbox
			t.Fatal(err)
		}
		c.poke()
		time.Sleep(time.Minute) // the bubble's clock
		if over, _ := c.over("ann", "1"); over {
			t.Errorf("the turn was stopped: %q", c.note("ann", "1"))
		}
		close(gate)
		c.until("over", c.finished("ann", "1"))
		if _, done := c.over("ann", "1"); !done || len(c.texts("ann/1 mid-turn")) > 0 {
			t.Errorf("completed %v, heard %q", done, c.texts("ann/1 mid-turn"))
		}
	}, "ann", "bob")
}

// TestNextTool: words with PriorityNextTool reach the session before its next tool call, once, and
// not again as chat; a session that follows after a crash gets them again.
func TestNextTool(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		gates := []chan struct{}{make(chan struct{}), make(chan struct{})}
		heard := func(session string) int { return len(c.texts(session + " mid-turn")) }
		c.order("ann", "1", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			for i, gate := range gates {
				if res, err := held(gate)(ctx, h, w); err != nil {
					return res, err
				}
				if _, err := c.bash(ctx, h, fmt.Sprintf("echo %d", i)); err != nil {
					return agent.Result{}, err
				}
			}
			return agent.Result{Summary: "done"}, nil
		})
		synctest.Wait()
		w := c.say("ann", "mind the gap", record.Words{Priority: record.PriorityNextTool}, true)
		c.say("ann", "for later", record.Words{}, true)
		gone := c.say("ann", "never mind", record.Words{Priority: record.PriorityNextTool}, true)
		if !c.unsay("ann", gone) {
			t.Fatal("taken before the tool call")
		}
		synctest.Wait()
		if heard("ann/1") != 0 {
			t.Error("heard before the tool call")
		}
		close(gates[0])
		c.until("first call", func() bool { return c.runs("echo 0") == 1 })
		if diff := cmp.Diff([]string{"mind the gap"}, c.texts("ann/1 mid-turn")); diff != "" {
			t.Errorf("heard (-want +got):\n%s", diff)
		}
		c.restarts("ann")
		c.until("told again", func() bool { return len(c.texts("ann/2")) == 1 })
		close(gates[1])
		c.until("over", c.finished("ann", "1"))
		c.until("chat", func() bool { return len(c.texts("ann/2")) == 2 })
		if got := c.texts("ann/2"); got[0] != "mind the gap" || got[1] != "for later" || heard("ann/2") != 0 || !c.took("ann", w)() {
			t.Errorf("chat %q, heard %q", got, c.texts("ann/2 mid-turn"))
		}
		if c.runs("echo 0") != 1 || c.runs("echo 1") != 1 {
			t.Errorf("ran %d and %d times", c.runs("echo 0"), c.runs("echo 1"))
		}
	}, "ann")
}

// TestUnsaidWords: words that were withdrawn, replaced or are too old never reach a session, and
// their entries are marked read.
func TestUnsaidWords(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		gate := make(chan struct{})
		c.order("ann", "1", held(gate))
		synctest.Wait()
		soon := time.Now().Add(time.Minute)
		back := c.say("ann", "taken back", record.Words{}, true)
		c.say("ann", "too old", record.Words{Expires: &soon}, true)
		old := c.say("ann", "version 1", record.Words{}, true)
		c.say("ann", "version 2", record.Words{Supersedes: old.seq}, true)
		if !c.unsay("ann", back) {
			t.Error("a busy session took it")
		}
		time.Sleep(2 * time.Minute) // the bubble's clock
		close(gate)
		c.until("chat", func() bool { return len(c.texts("ann/1")) > 0 })
		if diff := cmp.Diff([]string{"version 2"}, c.texts("ann/1")); diff != "" {
			t.Errorf("chat (-want +got):\n%s", diff)
		}
		c.until("nothing unread", func() bool { es, err := c.box("ann").Unread(c.ctx); return err == nil && len(es) == 0 })
		var ends []string
		c.look("", func(l *control.Leader, _ *control.Worker) {
			for _, w := range []told{back, old} {
				ends = append(ends, l.Spoken(w.env.Hash()).End)
			}
		})
		if ends[0] != "withdrawn" || ends[1][:10] != "superseded" {
			t.Errorf("ends %q", ends)
		}
	}, "ann")
}

// TestErasedWords: words that another program erased are fetched from the record, and copies of
// words are one message.
func TestErasedWords(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.leads()
		good := c.box("ann")
		c.setBox("ann", mailbox.NewMemory(mailbox.Options{})) // a message that is sent here is lost
		lost := c.say("ann", "erased", record.Words{}, true)
		never := c.say("ann", "never sent", record.Words{}, false)
		c.setBox("ann", good)
		twice := c.say("ann", "twice", record.Words{}, true)
		testenv.Must(t, good.Append(c.ctx, twice.env))
		c.works("ann")
		for _, w := range []told{lost, never, twice} {
			c.until(w.env.Text, c.took("ann", w))
		}
		if err := good.Append(c.ctx, twice.env); err != nil { // and once more, late
			t.Fatal(err)
		}
		c.poke()
		time.Sleep(time.Minute) // the bubble's clock
		got := c.texts("ann/1")
		slices.Sort(got)
		if diff := cmp.Diff([]string{"erased", "never sent", "twice"}, got); diff != "" {
			t.Errorf("chat (-want +got):\n%s", diff)
		}
		if es, err := good.Unread(c.ctx); err != nil || len(es) > 0 {
			t.Errorf("%d unread, %v", len(es), err)
		}
	}, "ann")
}

// TestWithdrawBetween: words that are withdrawn after a pass has read the journals, and before it
// takes them, are not taken.
func TestWithdrawBetween(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.leads()
		w := c.say("ann", "words", record.Words{}, true)
		var back atomic.Bool
		n := 0
		c.onRefresh.Store(new(func() {
			if n++; n == 2 { // the first is of its opening, the second begins its first pass
				back.Store(c.unsay("ann", w))
			}
		}))
		c.works("ann")
		time.Sleep(time.Minute) // the bubble's clock
		if got := c.texts("ann/1"); !back.Load() || len(got) > 0 {
			t.Errorf("taken back %v, delivered %q", back.Load(), got)
		}
	}, "ann")
}

// TestWithdrawRace: whenever words are withdrawn, either the session got them and Withdraw says so,
// or it never gets them.
func TestWithdrawRace(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		wait, work := time.Duration(rng.IntN(40))*time.Millisecond, time.Duration(rng.IntN(40))*time.Millisecond
		inBubble(t, func(t *testing.T, c *crew) {
			c.starts("ann")
			c.order("ann", "1", func(context.Context, agent.Host, agent.Work) (agent.Result, error) {
				time.Sleep(work) // the bubble's clock
				return agent.Result{}, nil
			})
			w := c.say("ann", "words", record.Words{}, true)
			time.Sleep(wait) // the bubble's clock
			back := c.unsay("ann", w)
			time.Sleep(time.Minute) // the bubble's clock
			if got := len(c.texts("ann/1")); back == (got == 1) || got > 1 {
				t.Errorf("after %s of %s: taken back %v, delivered %d times", wait, work, back, got)
			}
		}, "ann")
	}
}

// TestTakenUpChat: the chat of a turn that a crash interrupted reaches the next session, although
// its mailbox cannot be read at first and words of it were erased.
func TestTakenUpChat(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *crew) {
		c.leads()
		stuck := make(chan struct{})
		c.onChat = held(stuck)
		c.chat("ann", "bob", "from a peer")
		c.say("ann", "on record", record.Words{}, true)
		c.works("ann")
		c.until("the chat is given", func() bool { return len(c.texts("ann/1")) == 2 })
		c.dies("ann")
		es, err := c.box("ann").Entries(c.ctx)
		testenv.Must(t, err)
		peers := mailbox.NewMemory(mailbox.Options{}) // the lead's messages are erased
		testenv.Must(t, peers.Append(c.ctx, es[0].Envelope))
		c.setBox("ann", peers)
		c.faults.mu.Lock()
		n := c.faults.count["ann entries"] + 2 // the first pass reads it, then the turn
		c.faults.at = map[string]fault{fmt.Sprintf("ann entries %d", n): failBefore}
		c.faults.mu.Unlock()
		close(stuck)
		c.works("ann")
		c.until("the chat is given again", func() bool { return len(c.texts("ann/2")) > 0 })
		if diff := cmp.Diff([]string{"from a peer", "on record"}, c.texts("ann/2")); diff != "" {
			t.Errorf("chat (-want +got):\n%s", diff)
		}
	}, "ann")
}
