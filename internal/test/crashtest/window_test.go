//go:build unix

package crashtest_test

import (
	"fmt"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// two is a team with a call that runs for good, a question, and a task that is done.
const two = `
team: crew
policy: {allow: ["Bash(./work:*)"]}
members:
  - {name: w1, agent: exec, mode: acceptEdits}
  - {name: w2, agent: exec}
tasks:
  - {subject: is done soon, owner: w1, instructions: ./work soon}
  - {subject: runs, owner: w1, instructions: ./work runs never}
  - {subject: asks, owner: w2, instructions: ./ask permission}
`

// window is a moment between two steps of something that a process does.
type window struct {
	name string
	// begin starts what is cut short; nil: the team comes up with waggle up.
	begin func(*crew) *call
	// at reports that the moment has come.
	at func(c *crew, seen *records) bool
	// kill is who dies then.
	kill func(c *crew, p *call) func(spawn.Marked) bool
	// next is what a person does after that, with the exit codes that it may have.
	next  []string
	codes []int
	// ends is a member that next ends; gone says that the team is to be gone then.
	ends protocol.MemberName
	gone bool
}

// files reports files of what was started.
func files(suffix string) func(*crew, *records) bool {
	return func(c *crew, _ *records) bool {
		found, err := filepath.Glob(filepath.Join(c.op.Home.Path, "teams", "*", "processes", "*"+suffix))
		testenv.Must(c.t, err)
		return len(found) > 0
	}
}

// on reports a new record of this kind, in whosever journal.
func on(kind string) func(*crew, *records) bool {
	return func(_ *crew, r *records) bool { return r.now[kind] > 0 }
}

// starter picks the processes of waggle itself: those that are no member's.
func starter(*crew, *call) func(spawn.Marked) bool {
	return func(m spawn.Marked) bool { return m.Owner == "" }
}

func everybody(*crew, *call) func(spawn.Marked) bool { return all }

// caller picks the command that was cut short.
func caller(_ *crew, p *call) func(spawn.Marked) bool {
	return func(m spawn.Marked) bool { return m.ID.PID == p.cmd.Process.Pid }
}

// mine picks the processes of members.
func mine(*crew, *call) func(spawn.Marked) bool {
	return func(m spawn.Marked) bool { return m.Owner != "" }
}

func run(args ...string) func(*crew) *call { return func(c *crew) *call { return c.start(args...) } }

var (
	resume = []string{"resume", "--detach"}
	down   = []string{"down", "--grace", "1s"}
	ending = []int{0, 1, 3, 4, 5, 6, 7} // as a run that leaves the same undone
	gone   = append([]int{9}, ending...)
)

var windows = []window{
	{name: "the first member has joined", at: on(record.KindJoined), kill: everybody, next: resume},
	{name: "the first task is ordered", at: on(record.KindCommanded), kill: everybody, next: resume},
	{name: "somebody leads", at: on(record.KindLeading), kill: everybody, next: resume},
	{name: "a hand-over lies there", at: files(".start.json"), kill: starter, next: resume},
	{name: "a hand-over lies there, and its holders die too", at: files(".start.json"), kill: everybody, next: resume},
	{name: "a holder has told of its process", at: files(".hold.json"), kill: starter, next: resume},
	{name: "a holder has told of its process, and all die", at: files(".hold.json"), kill: everybody, next: resume},
	{name: "a process is on record", at: on(record.KindProcess), kill: starter, next: resume},
	{name: "a process is on record, and the members die", at: on(record.KindProcess), kill: mine, next: down, codes: gone, gone: true}, // up ends what does not come up
	{name: "a process is on record, and all die", at: on(record.KindProcess), kill: everybody, next: resume},
	{name: "a member is ready, and all die", at: on(record.KindReady), kill: everybody, next: resume},

	{name: "a member is being stopped", begin: run("stop", "w1", "--force"), at: on(record.KindStopping), kill: caller, next: []string{"stop", "w1", "--grace", "1s"}, codes: []int{0, 4, 5, 6, 9}, ends: "w1"},
	{name: "a member is being stopped, and all die", begin: run("stop", "w1", "--force"), at: on(record.KindStopping), kill: everybody, next: resume},
	{name: "a member was asked to end", begin: run("stop", "w2", "--grace", "5s"), at: on(record.KindCommanded), kill: caller, next: []string{"stop", "w2", "--grace", "1s"}, codes: []int{0, 4, 5, 6, 9}, ends: "w2"},
	{name: "the end of the team is on record", begin: run(down...), at: on(record.KindEnding), kill: caller, next: down, codes: gone, gone: true},
	{name: "the end of the team is on record, and all die", begin: run(down...), at: on(record.KindEnding), kill: everybody, next: down, codes: ending, gone: true},
	{name: "the end of the team is on record, all die and come back", begin: run(down...), at: on(record.KindEnding), kill: everybody, next: resume},
	{name: "the first member has left", begin: run(down...), at: on(record.KindLeft), kill: everybody, next: down, codes: gone, gone: true},
	{name: "a new member has joined", begin: run("spawn", "extra", "./work prompt"), at: on(record.KindJoined), kill: caller, next: resume},
	{name: "a new member has joined, and all die", begin: run("spawn", "extra", "./work prompt"), at: on(record.KindJoined), kill: everybody, next: resume},
	{name: "a new member's work is ordered", begin: run("spawn", "extra", "./work prompt"), at: on(record.KindCommanded), kill: caller, next: resume},
	{name: "a new member's process is on record", begin: run("spawn", "extra", "./work prompt"), at: on(record.KindProcess), kill: caller, next: resume},
}

// TestWindows kills the process that starts or ends something between two of its steps.
func TestWindows(t *testing.T) {
	rng := mrand.New(mrand.NewPCG(testenv.Seed(t), 0))
	each, most := testenv.Scale(1, 5), testenv.Scale(2, len(windows))
	list := append([]window(nil), windows...)
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	t.Run("windows", func(t *testing.T) {
		for _, w := range list[:min(most, len(list))] {
			for i := range each {
				seed := rng.Uint64()
				t.Run(fmt.Sprintf("%s %d", w.name, i+1), func(t *testing.T) {
					t.Parallel()
					w.play(t, mrand.New(mrand.NewPCG(seed, 0)))
				})
			}
		}
	})
	if !t.Failed() {
		testenv.Measured(t, "a start or an end that was killed between two steps, %d places %d times each: nothing lost, nothing done twice, 0 double processes, 0 processes left", min(most, len(list)), each)
	}
}

// play brings a team to the moment, and on from there.
func (w window) play(t *testing.T, rng *mrand.Rand) {
	c := newCrew(t, rng, two)
	stop := c.watch()
	defer stop()
	starts := w.begin == nil
	if starts {
		w.begin = run("up", "waggle.yaml", "--detach")
	} else {
		c.waggle(fine, "up", "waggle.yaml", "--detach")
		c.until("the team is at work", func() bool {
			p := c.picture()
			return len(p.unready) == 0 && len(p.pending) == 1 && c.lines("ran")["runs"] == 1
		})
	}
	seen := &records{c: c}
	seen.look()
	seen.before, seen.now = seen.now, nil
	p := w.begin(c)
	c.until(w.name, func() bool {
		select {
		case <-p.done:
			return true // it was too quick, and is over
		default:
		}
		seen.look()
		return w.at(c, seen)
	})
	c.kill(c.between(0, 1) == 0, w.kill(c, p))
	p.wait()
	codes := w.codes
	if codes == nil {
		codes = fine
	}
	if w.gone {
		c.waggle(codes, w.next...)
		c.away()
		return
	}
	was := c.picture()
	for i, m := range was.members {
		was.leaving[i] = was.leaving[i] || m.Name == w.ends
	}
	c.waggle(codes, w.next...)
	is := c.settle()
	c.same(was, is, starts)
	if starts && (len(is.members) != 2 || len(is.board) != 3 || len(is.orders) != 3) {
		t.Errorf("%d members, %d tasks, %d orders", len(is.members), len(is.board), len(is.orders))
	}
	for _, m := range is.members {
		if m.Name == "w1" && m.Mode != policy.ModeAcceptEdits {
			t.Errorf("w1 has the mode %q", m.Mode)
		}
	}
	c.end()
}

// away checks that nothing of a team that was ended is left.
func (c *crew) away() {
	c.t.Helper()
	if s := c.state(); s != nil {
		c.t.Errorf("there is a team that has not ended: %s", s.Dir.Path)
	}
	if left, err := os.ReadDir(filepath.Join(c.op.Root.Path, "teams")); err != nil || len(left) > 0 {
		c.t.Errorf("in the wire tree: %v %v", left, err)
	}
	c.clean()
}

// records counts the records of a team by kind, since a moment.
type records struct {
	c           *crew
	before, now map[string]int
}

func (r *records) look() {
	r.now = map[string]int{}
	s := r.c.state()
	if s == nil {
		return
	}
	recs, err := s.Records()
	if err != nil {
		return // one is being made
	}
	for _, rec := range recs {
		r.now[rec.Kind]++
	}
	for kind, n := range r.before {
		r.now[kind] -= n
	}
}
