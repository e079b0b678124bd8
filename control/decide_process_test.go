package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// deciderEnv makes this test binary a process that answers questions.
const deciderEnv = "WAGGLE_TEST_DECIDER"

// contest is what such a process is told.
type contest struct {
	Path string
	Seed uint64
}

// decideForever answers open questions at random, as the operator and as the
// deadline, until it is killed or its input is closed. It says which it decided.
func decideForever(args string) error {
	var c contest
	if err := json.Unmarshal([]byte(args), &c); err != nil {
		return err
	}
	over := make(chan struct{})
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		close(over)
	}()
	rng, n := rand.New(rand.NewPCG(c.Seed, 0)), 0
	l := control.NewLeader(nil)
	j, err := journal.Dir{Path: c.Path, UID: string(uid)}.Open(journal.Leader, l, journal.Options{})
	if err != nil {
		return err
	}
	for {
		select {
		case <-over:
			return nil
		default:
		}
		if err := j.Refresh(context.Background()); err != nil {
			return err
		}
		open := l.Requests[max(0, len(l.Requests)-24):] // the newest, answered or not
		if len(open) == 0 {
			continue
		}
		n++
		v, w := verdict(open[rng.IntN(len(open))], rng.IntN(3) > 0), operator
		if rng.IntN(4) == 0 {
			v.By, v.Channel, v.Allow, v.Via = policy.RoleSystem, policy.ChannelJournal, false, control.ViaExpiry
			w = journal.Writer{Instance: "lead-instance", Epoch: 1}
		}
		m := record.Mint{Now: time.Now(), MsgID: fmt.Sprintf("%08x-0000-4000-8000-%012d", uint32(c.Seed), n), Nonce: "0000000"}
		var out control.Outcome
		_, err := j.Append(context.Background(), w, func() (ds []journal.Draft, err error) {
			out, err = l.Decide(v, w, m)
			return out.Drafts, err
		})
		if err != nil {
			return err
		}
		if out.Changed {
			fmt.Println("won", v.ID, out.Request.Decided.Decision)
		}
	}
}

// TestDecidingProcesses runs three processes that approve, deny and expire the same requests while
// they are killed at random; the asker replaces plans, and later starts overtake it. No call runs
// without the matching decision, none runs twice, no request is decided twice, and a process that
// got a decision acknowledged finds it in the journal (trust §3).
func TestDecidingProcesses(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	questions := testenv.Scale(25, 4000)
	f := newDeciders(t)
	runs := map[record.Key]int{}
	for n := 0; n < questions; n++ {
		if f.rng.IntN(20) == 0 {
			f.kill()
		}
		if f.rng.IntN(15) == 0 {
			f.m.boot()
			f.turn()
		}
		a, kind := record.Ask{Tool: "Bash", Input: fmt.Sprintf(`{"command":"make %d"}`, n), Cwd: "/work"}, tool
		if f.m.w.Planning() || f.rng.IntN(12) == 0 {
			a, kind = record.Ask{Plan: fmt.Sprint("plan ", n)}, plan // it replaces the plan before
		}
		k := f.m.ask(kind, a)
		f.m.flush()
		f.see()
		f.take(runs)
		if kind == plan && f.rng.IntN(4) > 0 {
			f.settled(k, runs)
		}
	}
	for _, c := range f.m.w.Calls {
		f.settled(c.Key, runs)
	}
	f.end()
	f.check(runs)
	testenv.Measured(t, "questions decided by three processes that are killed at random: %d questions, %d kills, %d ran, each once and as decided, none decided twice",
		len(f.w.l.Requests), f.kills, len(runs))
}

// deciders is one asker and the processes that answer it.
type deciders struct {
	t     *testing.T
	rng   *rand.Rand
	path  string
	w     *world
	m     *member
	live  []*exec.Cmd
	kills int

	hearing sync.WaitGroup
	mu      sync.Mutex
	won     map[string]string // id: decision
	bad     []string
}

func newDeciders(t *testing.T) *deciders {
	t.Helper()
	f := &deciders{t: t, rng: rand.New(rand.NewPCG(testenv.Seed(t), 0)), path: t.TempDir(), won: map[string]string{}}
	testenv.Must(t, os.Chmod(f.path, 0o700))
	f.w = newWorldAt(t, journal.Dir{Path: f.path, UID: string(uid)}, record.PolicySet{Decide: record.Deciders{policy.GateTool: policy.DecideOperator}})
	f.m = f.w.join("ada", false)
	f.turn()
	for range 3 {
		f.start()
	}
	t.Cleanup(f.end)
	return f
}

func (f *deciders) turn() {
	if f.m.w.Turn() == nil {
		f.m.do(func() ([]journal.Draft, error) {
			return f.m.w.Take(record.Taken{Entries: []string{"chat"}}, f.m.lead)
		})
	}
}

func (f *deciders) start() {
	f.t.Helper()
	args, err := json.Marshal(contest{f.path, f.rng.Uint64()})
	testenv.Must(f.t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), deciderEnv+"="+string(args))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		_, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	testenv.Must(f.t, err)
	f.live = append(f.live, cmd)
	f.hearing.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			f.hear(lines.Text())
		}
		_ = cmd.Wait() // killed, or it said why on its output
	})
}

func (f *deciders) hear(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	word := strings.Fields(line)
	if len(word) != 3 || word[0] != "won" {
		f.bad = append(f.bad, line)
		return
	}
	if _, ok := f.won[word[1]]; ok {
		f.bad = append(f.bad, word[1]+" was decided twice")
	}
	f.won[word[1]] = word[2]
}

func (f *deciders) kill() {
	f.kills++
	i := f.rng.IntN(len(f.live))
	testenv.Must(f.t, f.live[i].Process.Kill())
	f.live = append(f.live[:i], f.live[i+1:]...)
	f.start()
}

func (f *deciders) end() {
	for _, cmd := range f.live {
		_ = cmd.Process.Kill() // it may have ended; its output is in the pipe
	}
	f.live = nil
	f.hearing.Wait()
}

// see folds the new requests.
func (f *deciders) see() {
	f.w.must(f.w.j.Refresh(f.t.Context()))
	for _, e := range f.w.box.entries {
		if !f.w.l.Owns(e.id) {
			f.w.see(e)
		}
	}
	f.w.box.entries = nil
}

// take delivers the decisions to the asker and starts the allowed calls.
func (f *deciders) take(runs map[record.Key]int) {
	f.w.must(f.w.j.Refresh(f.t.Context()))
	for _, o := range f.w.l.Outbox() {
		env, err := o.Mail.Open()
		f.w.must(err)
		for range 1 + f.rng.IntN(2) {
			f.m.receive(f.m.box.put(env, false))
		}
		f.w.append(f.w.lead(), record.KindSent, record.Sent{Ref: uint64(o.Seq)})
	}
	f.m.box.entries = nil
	for _, c := range f.m.w.Calls {
		if c.Kind != tool || c.Started || c.Open() {
			continue
		}
		switch err := f.m.start(c.Key); {
		case err == nil:
			runs[c.Key]++
			f.m.finish(c.Key)
		case f.m.start(c.Key) == nil:
			f.t.Errorf("%s was refused (%v) and then started", c.ID, err)
		}
	}
	f.w.settle()
}

// settled waits until a question is answered.
func (f *deciders) settled(k record.Key, runs map[record.Key]int) {
	for c, ok := f.m.w.Call(k); ok && c.Open(); {
		f.see()
		f.take(runs)
	}
}

// check compares what ran and what was said with what is on record.
func (f *deciders) check(runs map[record.Key]int) {
	f.w.must(f.w.j.Refresh(f.t.Context()))
	for _, bad := range f.bad {
		f.t.Error(bad)
	}
	decided := map[protocol.RequestID]int{}
	count := control.NewLeader(func(o machine.Observation) {
		if o.Machine == machine.Request && o.On == machine.EvDecided {
			decided[protocol.RequestID(o.Request)]++
		}
	})
	// A fold without snapshots: it is told of every record.
	if _, err := (journal.Dir{Path: f.path, UID: string(uid)}).Open(journal.Leader, struct{ journal.Fold }{count}, journal.Options{}); err != nil {
		f.t.Fatal(err)
	}
	if len(count.Ignored) > 0 {
		f.t.Errorf("decisions without effect: %v", count.Ignored)
	}
	for _, r := range f.w.l.Requests {
		c, ok := f.m.w.Call(r.Key)
		switch {
		case !ok || decided[r.ID] > 1 || (r.Decided != nil) != (decided[r.ID] == 1):
			f.t.Errorf("%s was decided %d times", r.ID, decided[r.ID])
		case runs[r.Key] > 1 || runs[r.Key] == 1 && (r.Decided == nil || r.Decided.Decision != record.DecisionAllow):
			f.t.Errorf("%s ran %d times and was decided %+v", r.ID, runs[r.Key], r.Decided)
		case c.Answer != nil && c.Answer.Leader != 0 && c.Answer.Decision != r.Decided.Decision:
			f.t.Errorf("%s: the asker took %s, on record is %s", r.ID, c.Answer.Decision, r.Decided.Decision)
		case f.won[string(r.ID)] != "" && (r.Decided == nil || f.won[string(r.ID)] != r.Decided.Decision):
			f.t.Errorf("%s: somebody decided %s, on record is %+v", r.ID, f.won[string(r.ID)], r.Decided)
		}
	}
	if len(runs) == 0 || len(f.won) == 0 {
		f.t.Error(errors.New("nothing ran, or nobody decided: this shows nothing"))
	}
}
