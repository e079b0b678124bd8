package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/leader"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// crew is a world whose processes run: a leader that only passes, and workers.
type crew struct {
	*world
	t     *testing.T
	ctx   context.Context
	stop  context.CancelFunc
	l     *leader.Leader
	wg    sync.WaitGroup
	ended map[protocol.MemberName]chan error
	stops map[protocol.MemberName]context.CancelFunc
}

// inBubble runs a test with a crew in a synctest bubble: the clock moves when
// everything waits, and a goroutine that is left over fails the test.
func inBubble(t *testing.T, test func(t *testing.T, c *crew), members ...protocol.MemberName) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var joined []record.Joined
		for _, m := range members {
			joined = append(joined, record.Joined{Name: m})
		}
		c := &crew{t: t, ended: map[protocol.MemberName]chan error{}, stops: map[protocol.MemberName]context.CancelFunc{}, world: newWorld(t, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault,
			Allow: policy.MustRules("Bash(echo:*)", "Bash(npm run allowed:*)"), Deny: policy.MustRules("Bash(rm:*)")}}, joined...)}
		c.ctx, c.stop = context.WithCancel(t.Context())
		defer func() {
			c.stop()
			c.wg.Wait()
			for _, w := range c.wrong {
				t.Error(w)
			}
			if t.Failed() {
				t.Log(c.dump())
			}
		}()
		test(t, c)
	})
}

// leads starts the leader.
func (c *crew) leads() {
	c.t.Helper()
	p := c.process(c.ctx, protocol.Lead)
	l, err := c.openLeader(p)
	testenv.Must(c.t, err)
	c.l = l
	nudges := c.nudged(p.ctx, &c.wg)
	c.wg.Go(func() {
		for p.ctx.Err() == nil {
			if err := l.Pass(p.ctx); err != nil && p.ctx.Err() == nil {
				c.wrongf("pass: %v", err)
			}
			select {
			case <-nudges:
			case <-p.ctx.Done():
			}
		}
	})
}

// works starts a member's process.
func (c *crew) works(name protocol.MemberName) {
	ctx, stop := context.WithCancel(c.ctx)
	ended := make(chan error, 1)
	c.ended[name], c.stops[name] = ended, stop
	c.wg.Go(func() {
		_, err := c.runWorker(ctx, name)
		ended <- err
	})
}

// starts starts the leader and members' processes.
func (c *crew) starts(names ...protocol.MemberName) {
	c.t.Helper()
	c.leads()
	for _, name := range names {
		c.works(name)
	}
}

// quits tells a member's process to end, and returns what it ended with.
func (c *crew) quits(name protocol.MemberName) error {
	c.stops[name]()
	return <-c.ended[name]
}

// dies ends a process so that its end is not recorded.
func (c *crew) dies(name protocol.MemberName) {
	c.mu.Lock()
	p := c.procs[name]
	c.mu.Unlock()
	p.die()
	if ended := c.ended[name]; ended != nil { // the leader's is not awaited
		<-ended
	}
}

// restarts has a process die, and starts the next one.
func (c *crew) restarts(name protocol.MemberName) {
	c.dies(name)
	c.works(name)
}

// until waits until cond holds.
func (c *crew) until(what string, cond func() bool) {
	c.t.Helper()
	for range 3600 {
		synctest.Wait()
		if cond() {
			return
		}
		time.Sleep(time.Second) // the bubble's clock
	}
	c.t.Fatalf("never: %s", what)
}

// sees reports what the journals of the leader and of a member say.
func (c *crew) sees(name protocol.MemberName, cond func(*control.Leader, *control.Worker) bool) func() bool {
	return func() (ok bool) {
		c.look(name, func(l *control.Leader, w *control.Worker) { ok = cond(l, w) })
		return ok
	}
}

// running and busy: a call of the member runs; a turn does.
func running(_ *control.Leader, w *control.Worker) bool { return len(w.Running()) == 1 }
func busy(_ *control.Leader, w *control.Worker) bool    { return w.Turn() != nil }

// keep adds to a list of a turn's, and returns how many it has.
func keep[T any](c *crew, list *[]T, v T) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	*list = append(*list, v)
	return len(*list)
}

// has reports whether a list of a turn's has n.
func has[T any](c *crew, list *[]T, n int) func() bool {
	return func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(*list) == n }
}

// order assigns a task.
func (c *crew) order(name protocol.MemberName, id string, do play) {
	c.t.Helper()
	c.orderTask(name, record.Task{ID: id}, do)
}

// orderTask is order for a task with more than its id.
func (c *crew) orderTask(name protocol.MemberName, t record.Task, do play) {
	c.t.Helper()
	t.Subject, t.Instructions = "task "+t.ID, "do "+t.ID
	c.mu.Lock()
	c.plays[t.ID] = do
	c.mu.Unlock()
	c.board.add(t.ID, t.Instructions, name)
	testenv.Must(c.t, c.l.Assign(c.ctx, name, t))
}

// asks has ann ask for a call in its task 1.
func (c *crew) asks(cmd string) *control.Request {
	c.t.Helper()
	c.order("ann", "1", c.does(cmd))
	c.until("it is asked", c.pending(1))
	return c.leaderFold().Pending()[0]
}

// does is a play of one command, and gets is does with what came of it.
func (c *crew) does(cmd string) play { return c.gets(new(agent.Outcome), cmd) }

func (c *crew) gets(out *agent.Outcome, cmd string) play {
	return func(ctx context.Context, h agent.Host, _ agent.Work) (_ agent.Result, err error) {
		*out, err = c.bash(ctx, h, cmd)
		return agent.Result{}, err
	}
}

// ends is a play that does nothing.
func ends(res agent.Result) play {
	return func(context.Context, agent.Host, agent.Work) (agent.Result, error) { return res, nil }
}

// askedAgain answers the request that follows one which was closed, and checks that the call ran once.
func (c *crew) askedAgain(first *control.Request, cmd string) {
	c.t.Helper()
	c.until("it is asked again", c.pending(1))
	if again := c.leaderFold().Pending()[0]; again.Key == first.Key {
		c.t.Errorf("request %v is open again", again.Key)
	}
	if n := c.runs(cmd); n != 0 {
		c.t.Errorf("it ran %d times before it was allowed again", n)
	}
	c.answer(true, "")
	c.until("over", c.finished("ann", "1"))
	if n := c.runs(cmd); n != 1 {
		c.t.Errorf("it ran %d times", n)
	}
}

// over reports whether a task's turn has ended, and how.
func (c *crew) over(name protocol.MemberName, id string) (over, completed bool) {
	c.look(name, func(l *control.Leader, _ *control.Worker) {
		m, _ := l.Member(name)
		over, completed = m.Turns[id] != nil, m.Done[id] != nil
	})
	return over, completed
}

func (c *crew) finished(name protocol.MemberName, id string) func() bool {
	return func() bool { over, _ := c.over(name, id); return over }
}

// answer decides the only open question.
func (c *crew) answer(allow bool, reason string) {
	c.t.Helper()
	c.decide(control.Answer{Allow: allow, Reason: reason})
}

// decide answers the only open question in the operator's name.
func (c *crew) decide(v control.Answer) {
	c.t.Helper()
	open := c.leaderFold().Pending()
	if len(open) != 1 {
		c.t.Fatalf("%d questions are open, want one", len(open))
	}
	c.decideOn(open[0], v)
}

// decideOn answers a request in the operator's name.
func (c *crew) decideOn(r *control.Request, v control.Answer) {
	c.t.Helper()
	fold := control.NewLeader(nil)
	j := c.lead.Open(fold)
	v.Key, v.Digest, v.By, v.Channel = r.Key, r.Digest, policy.RoleOperator, policy.ChannelOperator
	out, err := leader.Decide(c.ctx, j, fold, journal.Writer{Operator: true, PID: 1}, c.minter, v)
	if err != nil || out.Refusal != nil {
		c.t.Fatal(err, out.Refusal)
	}
	c.poke()
}

func (c *crew) pending(n int) func() bool {
	return c.sees("", func(l *control.Leader, _ *control.Worker) bool { return len(l.Pending()) == n })
}

func (c *crew) texts(session string) (texts []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.read {
		if r.session == session {
			texts = append(texts, r.text)
		}
	}
	return texts
}

func (c *crew) runs(cmd string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ran[cmd]
}

// note is what the leader was told of a task's turn.
func (c *crew) note(name protocol.MemberName, id string) (note string) {
	c.look(name, func(l *control.Leader, _ *control.Worker) {
		m, _ := l.Member(name)
		note = m.Turns[id].Note
	})
	return note
}

// recordKinds lists a member's journal but for what it said of itself: kind, and
// what for assignments and takes.
func (c *crew) recordKinds(name protocol.MemberName) (kinds []string) {
	for _, r := range c.ownOf(name).Records() {
		var b struct {
			What, Task string
			Kind       protocol.Kind
			Entries    []string
		}
		if err := json.Unmarshal(r.Body, &b); err != nil && r.Kind != record.KindApplied {
			c.t.Fatal(err)
		}
		s := r.Kind
		if s == record.KindReady {
			continue
		}
		for _, more := range []string{b.What, b.Task, string(b.Kind)} {
			if more != "" {
				s += " " + more
			}
		}
		if n := len(b.Entries); n > 0 {
			s += fmt.Sprintf(" %d entries", n)
		}
		kinds = append(kinds, s)
	}
	return kinds
}

// once is a play whose later turns end at once; n counts its turns.
func once(n *int, do play) play {
	return func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
		if *n++; *n > 1 {
			return agent.Result{}, nil
		}
		return do(ctx, h, w)
	}
}

// held is a play that returns when the test closes the gate; nil: never.
func held(gate <-chan struct{}) play {
	return func(ctx context.Context, _ agent.Host, _ agent.Work) (agent.Result, error) {
		select {
		case <-gate:
			return agent.Result{Summary: "done"}, nil
		case <-ctx.Done():
			return agent.Result{}, ctx.Err()
		}
	}
}
