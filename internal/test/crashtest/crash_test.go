//go:build unix

package crashtest_test

import (
	"encoding/json"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/operator/supervise"
	"waggle/record"
	"waggle/spawn"
)

// How a round ends the processes.
const (
	killAll    = "all at once"
	killRagged = "all, one after the other"
	killLeader = "the leader"
	killSome   = "some of the members"
)

// The activity of a team while a round kills.
const (
	whileWorking  = "working"
	whileStarting = "starting"
	whileRacing   = "starting, by several at once"
	whileResuming = "resuming"
	whileSpawning = "spawning"
	whileStopping = "stopping a member"
	whileEnding   = "ending, by several at once"
	whileTogether = "resuming, by several at once"
	whileSame     = "spawning one name, by several at once"
)

// perTeam is how many rounds a team goes through at most.
const perTeam = 10

// TestCrashes kills the processes of teams of eight at random moments, in every mode,
// brings the teams back, and compares. WAGGLE_KILLS is how many processes die.
func TestCrashes(t *testing.T) {
	testenv.Long(t)
	seed, kills := testenv.Seed(t), killsWanted(t)
	for n, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.needs(t)
			rng := mrand.New(mrand.NewPCG(seed, uint64(n)))
			sum := &toll{kinds: map[string]int{}}
			for team := 1; sum.killed < (kills+len(modes)-1)/len(modes) && !t.Failed(); team++ {
				t.Run(fmt.Sprintf("team %d", team), func(t *testing.T) { sum.team(t, rng, m, kills) })
			}
			if !t.Failed() {
				sum.tell(t, m, seed)
			}
		})
	}
}

// killsWanted is how many of waggle's own processes are to die, in all modes together.
func killsWanted(t *testing.T) int {
	if v := os.Getenv("WAGGLE_KILLS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			t.Fatalf("WAGGLE_KILLS is %q, want a number", v)
		}
		return n
	}
	return testenv.Scale(16, 1500)
}

// toll is what the teams of one mode went through.
type toll struct {
	killed, others, rounds, looks, ended int
	kinds                                map[string]int
	times                                []time.Duration
}

// team takes one team through its rounds.
func (s *toll) team(t *testing.T, rng *mrand.Rand, m mode, kills int) {
	d := &drama{crew: newCrew(t, rng, m.file()), mode: m, kinds: s.kinds}
	d.setUp(m)
	stop := sync.OnceValue(d.watch())
	defer stop() // also when a check ends the test
	d.begin()
	for i := 0; i < perTeam && (i == 0 || s.killed+d.killed < kills/len(modes)) && !t.Failed(); i++ {
		d.round(i)
		s.rounds++
	}
	if t.Failed() {
		return
	}
	d.ending()
	s.ended += d.clean()
	s.looks += stop()
	s.killed, s.others, s.times = s.killed+d.killed, s.others+d.others, append(s.times, d.times...)
}

func (s *toll) tell(t *testing.T, m mode, seed uint64) {
	testenv.Measured(t, "%s: SIGKILL of %d processes of waggle and %d of others in %d rounds of teams of 8, seed %d (%v): roster, tasks, messages and open questions the same, 0 calls run twice, 0 double processes in %d looks, 0 processes left after down and gc (%d orphans ended)",
		m.name, s.killed, s.others, s.rounds, seed, s.kinds, s.looks, s.ended)
	if slices.Sort(s.times); len(s.times) == 0 {
		return // a few rounds may have none
	}
	testenv.Measured(t, "%s: waggle resume of 8 members until all are ready: p50 %v, max %v, of %d", m.name,
		s.times[len(s.times)/2].Round(time.Millisecond), s.times[len(s.times)-1].Round(time.Millisecond), len(s.times))
}

// drama is a crew and the record of its rounds.
type drama struct {
	*crew
	mode  mode
	kinds map[string]int
	times []time.Duration // of resumes that had to start everybody
	n     int             // names

	written map[string]string // what lies in worktrees
}

// begin brings the team up, by one start alone or by several at once, and kills it once before it is
// up.
func (d *drama) begin() {
	d.t.Helper()
	while, calls := whileStarting, []*call{d.start("up", "waggle.yaml", "--detach")}
	if d.between(0, 1) == 0 {
		while = whileRacing
		for range d.between(1, 3) {
			calls = append(calls, d.start("up", "waggle.yaml", "--detach"))
		}
	}
	d.pause(1200)
	d.kill(d.between(0, 1) == 0, all)
	for _, p := range calls {
		p.wait()
	}
	d.kinds[while]++
	s, again := d.state(), []string{"up", "waggle.yaml", "--detach"}
	if s != nil {
		d.t.Logf("killed while it came up, %d members had joined", len(s.Lead.Members))
		// An up that saw its leader die first has begun to end what came up.
		ending := slices.ContainsFunc(s.Lead.Members, func(m *control.Member) bool { return m.Left != nil })
		if _, err := os.Stat(s.Dir.TeamFile()); err == nil && !ending && d.between(0, 3) > 0 {
			again = []string{"resume", "--detach"}
		}
	}
	d.t.Logf("then: waggle %v", again)
	if again[0] == "up" { // another team, whose work is its own
		for _, f := range []string{"ran", "finished"} {
			testenv.Must(d.t, os.RemoveAll(filepath.Join(d.dir, f)))
		}
	}
	d.waggle(fine, again...)
	d.settle()
	d.whole()
	d.once(d.picture())
}

// whole checks that a team which came up has everything that its file says.
func (d *drama) whole() {
	d.t.Helper()
	p := d.picture()
	if len(p.members) != 8 || len(p.board) != 7 || len(p.orders) != 7 {
		d.t.Fatalf("%d members, %d tasks, %d orders", len(p.members), len(p.board), len(p.orders))
	}
}

// pause waits for a random time, up to so many milliseconds: it chooses the moment.
func (d *drama) pause(most int) { time.Sleep(time.Duration(d.between(0, most)) * time.Millisecond) } // real clock: a random moment in the life of other processes

// settle waits until every member is ready.
func (c *crew) settle() *picture {
	c.t.Helper()
	var p *picture
	c.until("the team is up", func() bool {
		p = c.picture()
		return len(p.unready) == 0
	})
	return p
}

func (d *drama) round(i int) {
	d.t.Helper()
	while := []string{whileWorking, whileWorking, whileResuming, whileSpawning, whileStopping, whileTogether, whileSame}[d.between(0, 6)]
	how := d.mode.hows[d.between(0, len(d.mode.hows)-1)]
	d.t.Logf("round %d: %s is killed while %s", i+1, how, while)
	d.kinds[while]++
	d.kinds[how]++
	var calls []*call
	switch while {
	case whileResuming:
		d.kill(true, all)
		calls = append(calls, d.start("resume", "--detach"))
		d.pause(600)
	case whileTogether:
		d.kill(true, all)
		for range d.between(2, 4) {
			calls = append(calls, d.start("resume", "--detach"))
		}
		d.pause(600)
	case whileSame:
		name := d.fresh("extra")
		for range d.between(2, 4) {
			calls = append(calls, d.start(d.mode.spawn(name, "./work "+d.fresh("prompt"))...))
		}
		d.pause(600)
	case whileSpawning:
		calls = append(calls, d.start(d.mode.spawn(d.fresh("extra"), "./work "+d.fresh("prompt"))...), d.load())
	case whileStopping:
		name := d.fresh("extra")
		d.waggle(fine, d.mode.spawn(name)...)
		calls = append(calls, d.start("stop", name, "--grace", "1s"), d.load())
	default:
		calls = append(calls, d.load())
	}
	if how == killSome {
		d.some()
	} else {
		d.kill(how != killRagged, d.victims(how))
	}
	for _, p := range calls {
		p.wait() // one that lives ends by itself
	}
	was := d.picture()
	if how == killAll || how == killRagged {
		d.dry(was)
	}
	began := time.Now()
	d.waggle(fine, "resume", "--detach")
	if d.settle(); how == killAll {
		d.times = append(d.times, time.Since(began))
	}
	// If several commands spawn one name, the one that lives has the member on record after the kill.
	d.same(was, d.picture(), while == whileSame && how != killAll && how != killRagged)
	d.mode.kept(d)
	d.sweep()
}

// fresh makes a new name.
func (d *drama) fresh(kind string) string {
	d.n++
	return fmt.Sprintf("%s%d", kind, d.n)
}

// load gives the team something to do, one command after the other, for a random
// time. The last command may be in the middle when it returns.
func (d *drama) load() *call {
	d.t.Helper()
	for n := d.between(1, 6); ; n-- {
		p := d.start(d.order()...)
		if n == 1 {
			d.pause(100)
			return p
		}
		p.wait()
	}
}

// order is one command of an operator.
func (d *drama) order() []string {
	who := []string{"w1", "w5"}[d.between(0, 1)]
	switch d.between(0, 5) {
	case 0:
		return []string{"task", "add", d.fresh("long"), "--owner", who, "-i", "./work " + fmt.Sprintf("long%d", d.n) + " never"}
	case 1:
		return []string{"task", "add", d.fresh("ask"), "--owner", who, "-i", "./ask " + fmt.Sprintf("ask%d", d.n)}
	case 2:
		return []string{"send", []string{"w2", "w4", "w5", "lead", "*"}[d.between(0, 4)], d.fresh("words")}
	case 3:
		if id := d.question(); id != "" {
			return []string{[]string{"approve", "deny"}[d.between(0, 1)], id}
		}
	}
	return []string{"task", "add", d.fresh("work"), "--owner", who, "-i", "./work " + fmt.Sprintf("work%d", d.n)}
}

// question returns an open question of the members that have time, "" when there is none.
func (d *drama) question() string {
	for _, r := range d.state().Lead.Pending() {
		if strings.Contains(r.Ask.Input, "./ask ask") {
			return string(r.ID)
		}
	}
	return ""
}

// victims picks whom a round kills.
func (d *drama) victims(how string) func(spawn.Marked) bool {
	if how != killLeader {
		return all
	}
	if l := d.state().Lead.Led; l != nil {
		return only(l.ID)
	}
	return only()
}

// some kills some members: the worker, its holder, or both.
func (d *drama) some() {
	var ids, doomed []spawn.Identity
	for _, m := range d.state().Lead.Live() {
		if m.Process == nil || d.between(0, 1) == 0 {
			continue
		}
		holder, err := spawn.Parent(m.Process.ID.PID)
		if err != nil {
			continue
		}
		if id, err := spawn.Identify(holder); err == nil && d.between(0, 2) == 0 && holder > 1 {
			ids, doomed = append(ids, id), append(doomed, m.Process.ID)
		} else {
			ids = append(ids, m.Process.ID)
		}
	}
	d.kill(d.between(0, 1) == 0, only(ids...))
	d.until("those whose terminal is gone end", func() bool { return !slices.ContainsFunc(doomed, spawn.Identity.Alive) })
}

// dry checks that a dry run reports the present state, and changes nothing.
func (d *drama) dry(was *picture) {
	d.t.Helper()
	out, _ := d.waggle(fine, "resume", "--plan", "--json")
	var p supervise.ResumePlan
	testenv.Must(d.t, json.Unmarshal([]byte(out), &p))
	if p.Led || len(p.Members) != len(was.members) {
		d.t.Errorf("the plan is %+v, members %d", p, len(was.members))
	}
	for _, m := range p.Members {
		if is := was.members[record.Instance(m.Session)]; is == nil || string(is.Name) != m.Name || m.Action == supervise.ResumeTake {
			d.t.Errorf("the plan says %+v", m)
		}
	}
	for _, id := range p.Pending {
		if !slices.ContainsFunc(keys(was.pending), func(k record.Key) bool { return string(k.ID) == id }) {
			d.t.Errorf("the plan says that %s is open", id)
		}
	}
	unknown := 0
	for _, c := range was.calls {
		if c.Started && c.Finished == nil {
			unknown++
		}
	}
	if len(p.Unknown) != unknown {
		d.t.Errorf("%d calls have an unknown end, the plan says %v", unknown, p.Unknown)
	}
}

func keys[K comparable, V any](m map[K]V) (ks []K) {
	for k := range m {
		ks = append(ks, k)
	}
	return ks
}

// sweep ends the members of a round.
func (d *drama) sweep() {
	d.t.Helper()
	for _, m := range d.state().Lead.Live() {
		if strings.HasPrefix(string(m.Name), "extra") {
			d.waggle([]int{0, 4, 5, 6, 9}, "stop", string(m.Name), "--grace", "1s")
		}
	}
}

// ending ends the team by several commands at once, kills meanwhile, and ends the processes that are
// left.
func (d *drama) ending() {
	d.t.Helper()
	d.kinds[whileEnding]++
	var calls []*call
	for _, args := range [][]string{down, down, {"stop", "w1", "--grace", "1s"}}[:d.between(1, 3)] {
		calls = append(calls, d.start(args...))
	}
	d.pause(1500)
	switch d.between(0, 2) {
	case 0:
		d.kill(true, all)
	case 1:
		d.kill(false, starter(nil, nil))
	default:
		d.kill(false, only(d.callers(calls)...))
	}
	for _, p := range calls {
		p.wait()
	}
	d.until("whoever leads ends nothing any more", func() bool {
		s := d.state()
		return s == nil || s.Lead.Closing == nil || s.Lead.Led == nil || !s.Lead.Led.ID.Alive()
	})
	if d.state() != nil {
		d.once(d.picture())
		d.waggle(gone, down...)
	}
	if s := d.state(); s != nil {
		d.t.Errorf("there is a team that has not ended: %s", s.Dir.Path)
	}
}

// callers are the processes of commands that run.
func (d *drama) callers(calls []*call) (ids []spawn.Identity) {
	for _, p := range calls {
		if id, err := spawn.Identify(p.cmd.Process.Pid); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
