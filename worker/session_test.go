package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"waggle/agent"
	"waggle/control"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/worker"
)

// talker is a session of the world's that has a conversation.
type talker struct {
	agent.Agent
	c    *crew
	fail error
}

func (s *talker) note(what string) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.heard = append(s.c.heard, what)
}

func (s *talker) SetMode(_ context.Context, m policy.Mode) error {
	s.note("mode " + string(m))
	fail := s.fail
	s.fail = nil
	return fail
}

func (s *talker) Close(context.Context) error { s.note("closed"); return nil }

func (s *talker) Yield(context.Context) error { s.note("yielded"); return nil }

func (s *talker) Opens(context.Context, []string, agent.Conversation) (spawn.Command, error) {
	return spawn.Command{}, errors.New("a worker opens nothing")
}

// talks gives the members' agents conversations, which people can take.
func (c *crew) talks(fail error) {
	c.wrap = func(p *worker.Parts) {
		p.Agent = &talker{Agent: p.Agent, c: c, fail: fail}
		p.Ended = func(id spawn.Identity) bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.stopped[protocol.MemberName(id.Start)]
		}
	}
}

func (c *crew) notes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.heard)
}

// TestConversation: a conversation is resumed by its id after a crash; a call whose end is known is a
// new call then, one whose end is unknown is not, and the usage counts once.
func TestConversation(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.talks(nil)
		c.starts("ann")
		var ids []string
		var claims []agent.Claim
		c.order("ann", "1", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
			first := keep(c, &ids, w.Conversation) == 1
			err := h.Conversation(ctx, agent.Conversation{ID: "conv-1", Model: "m-1", Resumed: !first})
			for range 2 {
				err = errors.Join(err, h.Used(ctx, agent.Usage{ID: fmt.Sprint("r", len(ids)), Input: 10, Output: 5, CacheRead: 2, CostMicros: 1500, Turns: 2, Estimated: !first}))
			}
			err = errors.Join(err, h.Steps(ctx, []agent.DeclaredStep{{Text: "look", State: "completed"}, {Text: "do", State: "in_progress"}}))
			for _, cmd := range []string{"echo done", "echo open"} {
				claim, cerr := h.Ask(ctx, bash(cmd))
				if cmd == "echo done" {
					cerr = errors.Join(cerr, claim.Done(ctx, agent.Ran{}))
				}
				err = errors.Join(err, cerr)
				keep(c, &claims, claim)
			}
			if first {
				<-ctx.Done()
			}
			return agent.Result{}, err
		})
		c.until("claimed", has(c, &claims, 2))
		c.look("ann", func(_ *control.Leader, w *control.Worker) {
			if len(w.Steps) != 2 || w.Steps[1].State != "in_progress" || w.Conversation.Model != "m-1" {
				t.Errorf("steps %+v, conversation %+v", w.Steps, w.Conversation)
			}
		})
		c.restarts("ann")
		c.until("over", c.finished("ann", "1"))
		if !slices.Equal(ids, []string{"", "conv-1"}) {
			t.Errorf("the turns were given the conversations %q", ids)
		}
		if len(claims) != 4 || !claims[2].Allowed || claims[2].ID == claims[0].ID || claims[3].Allowed || claims[3].Ran == nil {
			t.Errorf("claims: %+v", claims)
		}
		c.look("ann", func(_ *control.Leader, w *control.Worker) {
			want := record.Usage{ID: "r2", Input: 20, Output: 10, CacheRead: 4, CostMicros: 3000, Turns: 4, Source: record.UsageEstimated}
			if w.Usage != want || w.Usage.Tokens() != 34 {
				t.Errorf("used %+v, want %+v", w.Usage, want)
			}
		})
	}, "ann")
}

// TestConversationGoesOn: a member that goes on as one that had left begins with that one's conversation, and
// keeps its own afterwards.
func TestConversationGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.talks(nil)
		c.leads()
		c.operate(func(l *control.Leader) ([]journal.Draft, error) {
			m, _ := l.Member("ann")
			return l.Let(m, record.LeftStopped, "by the test"), nil
		})
		c.join(record.Joined{Name: "ann", Instance: "1again", Continues: "1ann", Conversation: &record.Conversation{ID: "conv-1", Dir: "/work"}})
		c.works("ann")
		var ids []string
		for _, task := range []string{"1", "2"} {
			c.order("ann", task, func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
				keep(c, &ids, w.Conversation)
				return agent.Result{}, h.Conversation(ctx, agent.Conversation{ID: "conv-2"})
			})
			c.until("over", c.finished("ann", task))
		}
		if !slices.Equal(ids, []string{"conv-1", "conv-2"}) {
			t.Errorf("the turns were given the conversations %q", ids)
		}
	}, "ann")
}

// TestSayToWhoHasLeft: words to a member that has left are refused, and not put into a mailbox that nobody reads.
func TestSayToWhoHasLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		c.operate(func(l *control.Leader) ([]journal.Draft, error) {
			m, _ := l.Member("bob")
			return l.Let(m, record.LeftStopped, "by the test"), nil
		})
		var said []error
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			said = append(said, h.Say(ctx, "bob", "are you there", ""), h.Say(ctx, "team-lead", "bob is gone", ""))
			return agent.Result{}, nil
		})
		c.until("over", c.finished("ann", "1"))
		if len(said) != 2 || said[0] == nil || !strings.Contains(said[0].Error(), "bob left the team at ") || said[1] != nil {
			t.Errorf("%v", said)
		}
		if es, err := c.box("bob").Entries(t.Context()); err != nil || len(es) != 0 {
			t.Errorf("%d entries, %v", len(es), err)
		}
	}, "ann", "bob")
}

// TestConversationMode: a conversation is told the mode before its first turn, again when it
// returned an error, and when the mode changes; it is closed after the last turn.
func TestConversationMode(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.talks(errors.New("not yet"))
		c.starts("ann")
		gate := make(chan struct{})
		c.order("ann", "1", held(gate))
		c.until("told twice", func() bool { return slices.Equal(c.notes(), []string{"mode default", "mode default"}) })
		c.command(func(l *control.Leader, mint record.Mint) ([]journal.Draft, error) {
			m, _ := l.Member("ann")
			return l.SetMode(m, policy.ModeSafe, policy.RoleOperator, journal.Writer{Operator: true, PID: 1}, mint)
		})
		c.until("told the new mode", func() bool { n := c.notes(); return n[len(n)-1] == "mode "+string(policy.ModeSafe) })
		close(gate)
		c.until("over", c.finished("ann", "1"))
		c.quits("ann")
		n := c.notes()
		if n[len(n)-1] != "closed" || slices.Index(n, "closed") != len(n)-1 || len(n) != 4 {
			t.Errorf("it was told %q", n)
		}
	}, "ann")
}

// TestAccountRefuses: an invalid report of an agent about itself is an error and is not recorded.
func TestAccountRefuses(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		var errs []error
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			errs = append(errs, h.Conversation(ctx, agent.Conversation{}), h.Conversation(ctx, agent.Conversation{ID: "\xff"}), h.Used(ctx, agent.Usage{Input: -1}),
				h.Steps(ctx, []agent.DeclaredStep{{Text: "x", State: "perhaps"}}), h.Steps(ctx, make([]agent.DeclaredStep, 201)))
			return agent.Result{}, nil
		})
		c.until("over", c.finished("ann", "1"))
		for i, err := range errs {
			if err == nil {
				t.Errorf("%d was recorded", i)
			}
		}
		if kinds := c.recordKinds("ann"); slices.ContainsFunc(kinds, func(k string) bool {
			return k == record.KindUsed || k == record.KindConversation || k == record.KindSteps
		}) {
			t.Errorf("records %q", kinds)
		}
	}, "ann")
}

// TestUsedByInterrupted: the usage of a turn is on record although the turn is interrupted before
// its agent reports it.
func TestUsedByInterrupted(t *testing.T) {
	inBubble(t, func(t *testing.T, c *crew) {
		c.starts("ann")
		began := make(chan struct{})
		var uerr error
		c.order("ann", "1", func(ctx context.Context, h agent.Host, _ agent.Work) (agent.Result, error) {
			close(began)
			<-ctx.Done()
			uerr = h.Used(ctx, agent.Usage{ID: "r1", Input: 10, Estimated: true})
			return agent.Result{}, context.Cause(ctx)
		})
		<-began
		c.say("ann", "stop that", record.Words{Priority: record.PriorityInterrupt}, true)
		c.until("interrupted", func() bool { return c.note("ann", "1") == "interrupted by words of the lead" })
		c.look("ann", func(_ *control.Leader, w *control.Worker) {
			if uerr != nil || w.Usage.Input != 10 {
				t.Errorf("used %+v: %v", w.Usage, uerr)
			}
		})
	}, "ann")
}
