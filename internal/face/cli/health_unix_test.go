//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	term "waggle/spawn/terminal"
)

// ward is a team that the real program leads in the background. The test reads its status.
type ward struct {
	t    *testing.T
	op   operator.Operator
	team protocol.TeamName
	dir  string
	seen *tally
}

// tally counts the member states that were read, those that were dead, and those that were dead by mistake.
type tally struct{ looks, dead, falsely int }

// newWard brings a team up and ends it with everything that it started.
func newWard(t *testing.T, yaml string) *ward {
	t.Helper()
	w := &ward{t: t, op: newOperator(t), team: "ward", dir: t.TempDir(), seen: &tally{}}
	w.op.Environ = slices.DeleteFunc(w.op.Environ, func(kv string) bool { return strings.HasPrefix(kv, "TMUX") })
	run := t.TempDir() // short enough for a socket
	owns(t, w.dir, run)
	w.op.RunDir = filepath.Join(run, "waggle")
	w.op.Environ = append(w.op.Environ, "WAGGLE_ROOT="+w.op.Root.Path, "WAGGLE_STATE="+w.op.Home.Path, "XDG_RUNTIME_DIR="+run, "HOME="+t.TempDir())
	writeFile(t, filepath.Join(w.dir, "waggle.yaml"), "team: ward\n"+yaml)
	t.Cleanup(func() { w.waggle("down", "ward", "--force") })
	if out, err := w.waggle("up", "waggle.yaml", "--detach"); err != nil {
		t.Fatalf("up: %v\n%s", err, out)
	}
	return w
}

func (w *ward) waggle(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.op.Self, args...)
	cmd.Dir, cmd.Env = w.dir, w.op.Environ
	b, err := cmd.CombinedOutput()
	return string(b), err
}

// later returns w with a clock that is ahead by d, as after the machine slept.
func (w *ward) later(d time.Duration) *ward {
	ahead := *w
	now := w.op.Minter.Now
	ahead.op.Minter = poll.Minter{Now: func() time.Time { return now().Add(d) }, Rand: w.op.Minter.Rand}
	return &ahead
}

// status reads the team's status, and fails the test if a member whose process runs is dead in it.
func (w *ward) status() *inspect.Status {
	w.t.Helper()
	st, err := inspect.Of(w.op).Status(w.t.Context(), w.team)
	testenv.Must(w.t, err)
	s, err := w.op.Open(w.t.Context(), w.team, operator.Act)
	for _, m := range st.Members {
		w.seen.looks++
		if err != nil || m.State != inspect.StateDead {
			continue
		}
		w.seen.dead++
		if jm, ok := s.Lead.Member(protocol.MemberName(m.Name)); ok && jm.Process != nil && jm.Process.ID.PID == m.PID && jm.Process.ID.Alive() {
			w.seen.falsely++
			w.t.Errorf("FALSE DEAD: %s (%s), and its process %d runs", m.Name, m.Why, m.PID)
		}
	}
	return st
}

func (w *ward) member(name string) inspect.MemberStatus {
	w.t.Helper()
	for _, m := range w.status().Members {
		if m.Name == name {
			return m
		}
	}
	w.t.Fatalf("status does not list %s", name)
	return inspect.MemberStatus{}
}

// until reads the status until a member has one of the states.
func (w *ward) until(name string, want ...inspect.MemberState) {
	w.t.Helper()
	var m inspect.MemberStatus
	testenv.Eventually(w.t, fmt.Sprintf("%s is %s", name, want), func() bool { m = w.member(name); return slices.Contains(want, m.State) },
		func() string { return fmt.Sprintf("it is %s (%s)", m.State, m.Why) })
}

func (w *ward) is(name string, want inspect.MemberState, says string) {
	w.t.Helper()
	if m := w.member(name); m.State != want || !strings.Contains(m.Why, says) {
		w.t.Errorf("%s is %s (%s), want %s (%s)", name, m.State, m.Why, want, says)
	}
}

// agree compares what status, why, pending and log say.
func (w *ward) agree() {
	w.t.Helper()
	ctx := w.t.Context()
	st := w.status()
	qs, err := decide.Of(w.op).Pending(ctx, w.team, false)
	testenv.Must(w.t, err)
	log, err := w.op.OpenLog(ctx, string(w.team))
	testenv.Must(w.t, err)
	recs, _ := log.Next(ctx)
	asks := map[string]decide.Request{}
	for _, q := range qs {
		asks[q.Member] = q
	}
	if st.Pending != len(qs) {
		w.t.Errorf("status counts %d questions, pending lists %d", st.Pending, len(qs))
	}
	for _, m := range st.Members {
		y, err := inspect.Of(w.op).Why(ctx, string(w.team), m.Name)
		testenv.Must(w.t, err)
		if y.State != string(m.State) {
			w.t.Errorf("%s is %s in status, and %s in why", m.Name, m.State, y.State)
		}
		q, asking := asks[m.Name]
		dead := m.State == inspect.StateDead
		if (m.State == inspect.StateHuman) != (asking && !dead && m.State != inspect.StateStalled && m.State != inspect.StateUnknown) {
			w.t.Errorf("%s is %s, and pending has %+v", m.Name, m.State, q)
		}
		if asking && (q.Asker != "") != dead {
			w.t.Errorf("%s is %s, and pending says of its asker %q", m.Name, m.State, q.Asker)
		}
		if died := lastOf(recs, m.Name, w.op) == record.KindDied; died != dead {
			w.t.Errorf("%s is %s, and the log's last word on its process is a death: %v", m.Name, m.State, died)
		}
	}
}

// lastOf is the last record of the leader about a member's process.
func lastOf(recs []operator.LogRecord, member string, op operator.Operator) (kind string) {
	inst := ""
	for _, r := range recs {
		if r.Name != "leader" {
			continue
		}
		if r.Kind == record.KindJoined && bytes.Contains(r.Body, fmt.Appendf(nil, "%q:%q", "name", member)) {
			_, rest, _ := strings.Cut(string(r.Body), `"instance":"`)
			inst, _, _ = strings.Cut(rest, `"`)
		}
		if (r.Kind == record.KindDied || r.Kind == record.KindProcess) && inst != "" && bytes.Contains(r.Body, []byte(inst)) {
			kind = r.Kind
		}
	}
	return kind
}

func (w *ward) signal(pid int, s syscall.Signal) {
	w.t.Helper()
	testenv.Must(w.t, syscall.Kill(pid, s))
}

// wardFile has a member for each thing to wait for. No member is started again.
const wardFile = `
policy: {allow: ["Bash(sh:*)"]}
members:
  - {name: silent, agent: exec, restart: never}
  - {name: human, agent: exec, restart: never}
  - {name: peer, agent: exec, restart: never}
  - {name: victim, agent: exec, restart: never}
  - {name: held, agent: exec, restart: never}
  - {name: broken, agent: exec, restart: never}
tasks:
  - {subject: long, owner: silent, instructions: "sh -c 'sleep 600 & wait'"}
  - {subject: asks, owner: human, instructions: "touch never"}
  - {subject: after, owner: peer, after: [long], instructions: "sh -c true"}
`

// TestTwelveSituations is the matrix of a member's situations, with the program's own
// processes: no living member is called dead, every death is seen, and status, why,
// pending and log agree.
func TestTwelveSituations(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	w := newWard(t, wardFile)
	ctx := t.Context()
	pid := func(name string) int { return w.member(name).PID }
	late := w.later(15 * time.Minute)
	late.until("silent", inspect.StateBackground) // its command runs
	w.until("human", inspect.StateHuman)
	w.until("peer", inspect.StatePeer)
	for _, name := range []string{"victim", "held", "broken"} {
		w.until(name, inspect.StateIdle)
	}

	t.Run("silent long job", func(t *testing.T) {
		late.is("silent", inspect.StateBackground, "silent for 1")
		late.agree()
	})
	t.Run("background command", func(t *testing.T) {
		w.later(2*time.Minute).is("silent", inspect.StateBackground, "sleep 600 & wait")
		w.agree()
	})
	t.Run("waits for a human", func(t *testing.T) {
		w.is("human", inspect.StateHuman, "asks ")
		w.agree()
	})
	t.Run("waits for a peer", func(t *testing.T) {
		w.is("peer", inspect.StatePeer, "of silent")
		w.agree()
	})
	t.Run("SIGSTOP and SIGCONT", func(t *testing.T) {
		p := pid("silent")
		w.signal(p, syscall.SIGSTOP)
		w.until("silent", inspect.StateStalled)
		w.agree()
		w.signal(p, syscall.SIGCONT)
		w.until("silent", inspect.StateWorking, inspect.StateBackground) // on a loaded machine a minute may have passed
		w.agree()
	})
	t.Run("laptop sleep", func(t *testing.T) {
		var all []int
		for _, m := range w.status().Members {
			all = append(all, m.PID)
			w.signal(m.PID, syscall.SIGSTOP)
		}
		_, err := decide.Of(w.op).SetMode(ctx, w.team, "victim", policy.ModePlan) // an order that nobody applies now
		testenv.Must(t, err)
		for _, p := range all {
			w.signal(p, syscall.SIGCONT)
		}
		for _, m := range w.later(8 * time.Hour).status().Members {
			if m.State == inspect.StateDead || m.State == inspect.StateStalled {
				t.Errorf("after a sleep %s is %s (%s)", m.Name, m.State, m.Why)
			}
		}
		w.agree()
	})
	t.Run("killed worker", func(t *testing.T) {
		p := pid("victim")
		w.signal(p, syscall.SIGKILL)
		w.until("victim", inspect.StateDead)
		w.untilLogged("victim")
		w.agree()
	})
	t.Run("killed holder", func(t *testing.T) {
		p := pid("held")
		s, err := w.op.Open(ctx, w.team, operator.Act)
		testenv.Must(t, err)
		list, err := term.List(s.Dir.Processes())
		testenv.Must(t, err)
		i := slices.IndexFunc(list, func(h term.Held) bool { return h.Process.PID == p })
		if i < 0 {
			t.Fatal("held has no holder")
		}
		w.signal(list[i].Place.Holder.PID, syscall.SIGKILL)
		w.until("held", inspect.StateDead)
		w.untilLogged("held")
		w.agree()
	})
	t.Run("unreadable journal", func(t *testing.T) {
		s, err := w.op.Open(ctx, w.team, operator.Act)
		testenv.Must(t, err)
		m, _ := s.Lead.Member("broken")
		path := filepath.Join(s.Dir.JournalOf(string(m.Instance)), "00000001.jsonl")
		whole := readFile(t, path)
		writeFile(t, path, bytes.Replace(whole, []byte(`"kind":"opened"`), []byte(`"kind":"opENed"`), 1))
		w.until("broken", inspect.StateUnknown) // it starts nothing: it can prove nothing of what it does
		writeFile(t, path, whole)
		w.until("broken", inspect.StateIdle)
		w.agree()
	})
	t.Run("killed leader", func(t *testing.T) {
		st := w.status()
		if !st.Leader.Led || st.Leader.PID == 0 {
			t.Fatalf("%+v", st.Leader)
		}
		s, err := w.op.Open(ctx, w.team, operator.Act)
		testenv.Must(t, err)
		w.signal(st.Leader.PID, syscall.SIGKILL)
		testenv.Must(t, spawn.WaitGone(ctx, s.Lead.Led.ID))
		w.is("human", inspect.StateHuman, "")
		if st := w.status(); st.Leader.Led || st.Interrupted == nil || st.Interrupted.Members != 2 || st.Interrupted.Pending != 1 {
			t.Errorf("%+v, %+v", st.Leader, st.Interrupted)
		}
		w.agree()
		w.signal(pid("human"), syscall.SIGKILL)
		w.until("human", inspect.StateDead)
		_, err = w.op.Pass(ctx, s) // only a pass records a death: a reading command writes nothing
		testenv.Must(t, err)
		w.agree() // the request stays open, and its Asker says that the member is dead
	})
	testenv.Measured(t, "10 situations of 6 members: %d times a member's state was looked at, %d of them dead, %d falsely", w.seen.looks, w.seen.dead, w.seen.falsely)
}

// untilLogged waits until the leader has a member's death on record.
func (w *ward) untilLogged(name string) {
	w.t.Helper()
	testenv.Eventually(w.t, "the death of "+name+" is on record", func() bool {
		s, err := w.op.Open(w.t.Context(), w.team, operator.Act)
		testenv.Must(w.t, err)
		m, ok := s.Lead.Member(protocol.MemberName(name))
		return ok && m.Died != nil
	})
}

// TestPaneClosed is the situation of a pane that somebody closes.
func TestPaneClosed(t *testing.T) {
	tmux := testenv.Require(t, "tmux")
	w := newWard(t, `
members:
  - {name: pane, agent: exec, backend: tmux, restart: never}
`)
	w.until("pane", inspect.StateIdle)
	tty := w.member("pane").Evidence.Terminal
	if tty == nil || tty.Pane == "" || tty.Holder != "running" {
		t.Fatalf("%+v", tty)
	}
	out, err := exec.CommandContext(t.Context(), tmux, "-S", tty.Server, "kill-pane", "-t", tty.Pane).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "server exited") { // it was the last pane, and tmux ended before it answered
		t.Fatalf("%v: %s", err, out)
	}
	w.until("pane", inspect.StateDead)
	w.untilLogged("pane")
	w.agree()
}

// TestCrashBeforeReady is the situation of a process that never says whose it is.
func TestCrashBeforeReady(t *testing.T) {
	r := newRig(t, "team: early\nmembers: [{name: bob, agent: exec}]\ntasks: [{subject: none, owner: bob, instructions: \"true\"}]\n")
	ctx := t.Context()
	_, i, err := teams.Of(r.op).Join(ctx, r.state, teamfile.FileMember{Name: "ann", Agent: "exec", Backend: operator.BackendProcess})
	testenv.Must(t, err)
	testenv.Must(t, r.lead.Refresh(ctx))
	w := &ward{t: t, op: r.op, team: "early", seen: &tally{}}
	w.is("ann", inspect.StateStarting, "has not written")
	path, err := exec.LookPath("false")
	testenv.Must(t, err)
	if _, err := r.lead.Start(ctx, i, spawn.ProcessBackend(), spawn.Spec{Argv: []string{path}, Log: filepath.Join(t.TempDir(), "log")}); err != nil {
		t.Fatal(err)
	}
	r.until("death", func(l *control.Leader) bool { m, _ := l.Member("ann"); return m.Died != nil || m.Left != nil })
	w.is("ann", inspect.StateDead, "before it came up")
}

// askedToEnd is a crowd of one whom the operator has asked to end, and the record of that.
func askedToEnd(t *testing.T) (*ward, *crowd, record.Mint, journal.Record) {
	t.Helper()
	c := newCrowd(t, 1)
	c.op.Minter.Now = time.Now
	s, err := c.op.Open(t.Context(), "crowd", operator.Act)
	testenv.Must(t, err)
	m, _ := s.Lead.Member("worker1")
	mint, err := c.op.Minter.Mint()
	testenv.Must(t, err)
	recs, err := s.Journal.Append(t.Context(), journal.Writer{Operator: true, PID: os.Getpid()}, func() ([]journal.Draft, error) {
		return s.Lead.AskShutdown(m, "enough", policy.RoleOperator, mint)
	})
	testenv.Must(t, err)
	return &ward{t: t, op: c.op, team: "crowd", seen: &tally{}}, c, mint, recs[0]
}

// TestStallIsWatched: a member is stalled if an order for it is old and stays unapplied while
// status watches it, and not before. An order that is applied meanwhile is no stall.
func TestStallIsWatched(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	ctx := t.Context()
	w, c, mint, order := askedToEnd(t)
	w.is("worker1", inspect.StateWorking, "asked to end")
	late := w.later(time.Minute)
	if m := late.member("worker1"); m.State != inspect.StateStalled || !strings.Contains(m.Why, "has not applied the shutdown_request for it") ||
		m.Evidence.Orders.Unapplied != 1 || m.Evidence.Orders.Watched < 2*time.Second {
		t.Errorf("%s (%s), %+v", m.State, m.Why, m.Evidence.Orders)
	}
	a := c.askers[0]
	applied := make(chan error, 1)
	var took time.Duration // until the order was applied
	began := time.Now()
	go func() { // in the middle of the watch, as a worker does that wakes
		time.Sleep(300 * time.Millisecond) // real clock: the watch of the system is half over
		_, err := a.j.Append(ctx, a.writer, func() ([]journal.Draft, error) {
			id := protocol.RequestID(fmt.Sprintf("shutdown-%d@worker1", mint.Now.UnixMilli()))
			return []journal.Draft{{Kind: record.KindApplied, Must: true, Body: record.Applied{What: record.CommandShutdown, Ref: uint64(order.Seq), ID: id}}}, nil
		})
		took = time.Since(began)
		applied <- err
	}()
	seen := late.member("worker1")
	testenv.Must(t, <-applied)
	if watch := 2 * time.Second; seen.State != inspect.StateWorking && took < watch { // real clock: a busy machine may apply it after the watch
		t.Errorf("%s (%s), and the order was applied after %s", seen.State, seen.Why, took)
	}
	late.is("worker1", inspect.StateWorking, "")
}

// TestDeathIsSeen measures how long a death takes to be seen and to be on record: 5 s
// at most.
func TestDeathIsSeen(t *testing.T) {
	const limit = 5 * time.Second
	w := newWard(t, `
members:
  - {name: ann, agent: exec, restart: {policy: on-failure, most: 1000, backoff: 1s, longest: 1s}}
`)
	var seen, logged []time.Duration
	for range testenv.Scale(1, 50) {
		w.until("ann", inspect.StateIdle)
		w.signal(w.member("ann").PID, syscall.SIGKILL)
		began := time.Now()
		w.until("ann", inspect.StateDead)
		seen = append(seen, time.Since(began))
		w.untilLogged("ann")
		logged = append(logged, time.Since(began))
	}
	slices.Sort(seen)
	slices.Sort(logged)
	testenv.Measured(t, "%d deaths by kill -9: status says so after %s (median), %s (worst); on record of the leader after %s, %s",
		len(seen), seen[len(seen)/2].Round(time.Millisecond), seen[len(seen)-1].Round(time.Millisecond),
		logged[len(logged)/2].Round(time.Millisecond), logged[len(logged)-1].Round(time.Millisecond))
	if testenv.Soak() && (seen[len(seen)-1] > limit || logged[len(logged)-1] > limit) { // real clock: the soak run only
		t.Errorf("a death was seen only after %s, and recorded after %s", seen[len(seen)-1], logged[len(logged)-1])
	}
}

// TestBrokenLeaderJournal: if the leader's journal is broken, the state of a member in status
// and why is unknown while its process runs, and dead once the process is gone.
func TestBrokenLeaderJournal(t *testing.T) {
	ctx := t.Context()
	w, c, _, _ := askedToEnd(t)
	path := filepath.Join(c.s.Dir.LeaderJournal(), "00000001.jsonl")
	whole := readFile(t, path)
	writeFile(t, path, bytes.Replace(whole, []byte("enough"), []byte("ENOUGH"), 1))
	look := func(want inspect.MemberState) {
		t.Helper()
		st, err := inspect.Of(c.op).Status(ctx, "crowd")
		testenv.Must(t, err)
		if got := st.Members[0]; got.State != want || st.Broken == nil || !strings.Contains(st.Broken.Error(), "is broken at seq") {
			t.Errorf("%s (%s), notice %q; want %s", got.State, got.Why, st.Broken, want)
		}
		y, err := inspect.Of(c.op).Why(ctx, "crowd", "worker1")
		testenv.Must(t, err)
		if y.State != string(want) {
			t.Errorf("why has it %s (%s), want %s", y.State, y.Why, want)
		}
	}
	look(inspect.StateUnknown)
	m, _ := c.s.Lead.Member("worker1")
	w.signal(m.Process.ID.PID, syscall.SIGKILL)
	testenv.Must(t, spawn.WaitGone(ctx, m.Process.ID))
	look(inspect.StateDead)
}
