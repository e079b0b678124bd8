package worker_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"waggle/internal/test/testenv"
	"waggle/protocol"
)

// kinds are the operations that can fail, by process. Operations that only read are left out: a
// death after them changes nothing.
var kinds = map[protocol.MemberName][]string{
	protocol.Lead: {"append leader", "send", "mark", "gone", "entries", "refresh leader", "refresh peer"},
	"ann":         {"append leader", "append own", "send", "mark", "board", "run", "entries", "refresh leader", "refresh own", "board read"},
	"bob":         {"append own", "send", "mark", "board", "run"},
}

func reads(kind string) bool {
	return kind == "entries" || kind == "board read" || strings.HasPrefix(kind, "refresh")
}

// point is one operation at which one fault happens.
type point struct {
	process protocol.MemberName
	kind    string
	n       int
	what    fault
}

func (p point) String() string { return fmt.Sprintf("%s %s %d %s", p.process, p.kind, p.n, p.what) }

// points lists every operation of a run without faults, once for each fault.
func points(counts map[string]int) (ps []point) {
	for _, name := range []protocol.MemberName{protocol.Lead, "ann", "bob"} {
		for _, kind := range kinds[name] {
			for n := 1; n <= counts[string(name)+" "+kind]; n++ {
				ways := []fault{dieBefore, dieAfter, failBefore, failAfter}
				if reads(kind) {
					ways = []fault{dieBefore, failBefore}
				}
				for _, f := range ways {
					ps = append(ps, point{name, kind, n, f})
				}
			}
		}
	}
	return ps
}

// TestEveryPoint runs the story many times, each time with one fault: a process dies just before or
// just after it writes a record, sends, marks, runs or reads, or that operation fails and may or
// may not have had its effect. With every fault the team reaches the same end.
func TestEveryPoint(t *testing.T) {
	var counts map[string]int
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		s.run(t.Context())
		counts = s.faults.count
	})
	all := points(counts)
	step := testenv.Scale(len(all)/40+1, 1)
	offset := int(testenv.Seed(t) % uint64(step))
	runs, hit := 0, 0
	for i := offset; i < len(all); i += step {
		p := all[i]
		runs++
		synctest.Test(t, func(t *testing.T) {
			s := newStory(t)
			s.faults.at = map[string]fault{fmt.Sprintf("%s %s %d", p.process, p.kind, p.n): p.what}
			bad := s.check(s.run(t.Context()))
			hit += s.faults.hit
			if len(bad) > 0 {
				t.Errorf("%s:\n%s\n%s", p, strings.Join(bad, "\n"), s.dump())
			}
		})
		if t.Failed() {
			break
		}
	}
	testenv.Measured(t, "one fault in the life of a team: %d of %d points, %d lives played, %d faults met, the same end each time", runs, len(all), runs, hit)
}

// TestRandomFaults plays the story with many faults at once.
func TestRandomFaults(t *testing.T) {
	seed := testenv.Seed(t)
	lives := testenv.Scale(10, 4000)
	hit, processes := 0, 0
	for n := range lives {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			s := newStory(t)
			left := 1 + r.IntN(25)
			often := 1 + r.IntN(40)
			s.faults.draw = func() fault {
				if left == 0 || r.IntN(often) > 0 {
					return none
				}
				left--
				return []fault{dieBefore, dieAfter, failBefore, failAfter}[r.IntN(4)]
			}
			bad := s.check(s.run(t.Context()))
			hit, processes = hit+s.faults.hit, processes+s.lives
			if len(bad) > 0 {
				t.Errorf("life %d:\n%s\n%s", n, strings.Join(bad, "\n"), s.dump())
			}
		})
		if t.Failed() {
			break
		}
	}
	testenv.Measured(t, "many faults in the life of a team: %d lives, %d faults, %d processes, the same end each time", lives, hit, processes)
}

// TestPointsReachEverything: the story does every operation of the table kinds, and the table has
// every operation of the story but bob's.
func TestPointsReachEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		s.run(t.Context())
		for name, ks := range kinds {
			for _, k := range ks {
				if s.faults.count[string(name)+" "+k] == 0 {
					t.Errorf("%s never did %q", name, k)
				}
			}
		}
		for k := range s.faults.count {
			name, kind, _ := strings.Cut(k, " ")
			if !slices.Contains(kinds[protocol.MemberName(name)], kind) && name != "bob" {
				t.Errorf("%s did %q, which no fault is tried on", name, kind)
			}
		}
	})
}
