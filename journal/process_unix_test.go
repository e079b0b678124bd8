//go:build unix

package journal_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/journal/journaltest"
)

// acks are the appends that were acknowledged to the processes.
type acks struct {
	mu    sync.Mutex
	won   map[string]string
	noted map[journal.Seq]string
	bad   []string
	ended int
}

func (a *acks) hear(as, line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var key string
	var seq journal.Seq
	switch {
	case line == "done":
		a.ended++
	case scan(line, "won %s", &key):
		if by, ok := a.won[key]; ok {
			a.bad = append(a.bad, fmt.Sprintf("key %s was won by %s and %s", key, by, as))
		}
		a.won[key] = as
	case scan(line, "noted %d", &seq):
		if by, ok := a.noted[seq]; ok {
			a.bad = append(a.bad, fmt.Sprintf("seq %d is of %s and %s", seq, by, as))
		}
		a.noted[seq] = as
	default:
		a.bad = append(a.bad, as+": "+line)
	}
}

func scan(line, format string, v any) bool { n, _ := fmt.Sscanf(line, format, v); return n == 1 }

// TestProcesses runs six processes that decide the same keys and are killed at random. Each key is
// decided once, by the process to which the append was acknowledged. No acknowledged append is
// missing, no append fails because of another, and a follower never reads a break or a part of an
// append.
func TestProcesses(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	const processes = 6
	keys, kills := testenv.Scale(20, 1200), testenv.Scale(10, 600)
	d := newDir(t)
	a := &acks{won: map[string]string{}, noted: map[journal.Seq]string{}}
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	var wg sync.WaitGroup
	live := make([]*exec.Cmd, processes)
	generation := 0
	start := func(i int) {
		generation++
		live[i] = startContest(t, &wg, a, contest{Path: d.Path, Keys: keys, As: fmt.Sprintf("p%d", generation), Seed: rnd.Uint64()})
	}
	for i := range live {
		start(i)
	}
	follower, seen := open(t, d, journal.Options{})
	for range kills {
		for end := time.Now().Add(time.Duration(5+rnd.IntN(60)) * time.Millisecond); time.Now().Before(end); {
			testenv.Must(t, follower.Refresh(t.Context()))
			endsWhole(t, seen.Records)
			time.Sleep(time.Millisecond) // real clock: the writers are other processes
		}
		i := rnd.IntN(processes)
		testenv.Must(t, live[i].Process.Kill())
		start(i)
	}
	wg.Wait()
	for _, bad := range a.bad {
		t.Error(bad)
	}
	if t.Failed() || a.ended == 0 {
		t.FailNow()
	}
	testenv.Must(t, follower.Refresh(t.Context()))
	recs := verified(t, d)
	same(t, "the follower's fold", seen.Records, recs)
	if last := notAhead(t, d); last != len(recs) { // of one that was not killed
		t.Errorf("seq %d is certain of %d", last, len(recs))
	}
	a.check(t, recs, keys)
}

func (a *acks) check(t *testing.T, recs []journal.Record, keys int) {
	fold, repairs := &journaltest.Decisions{}, 0
	for _, r := range recs {
		testenv.Must(t, fold.Apply(r))
		if r.Kind == journal.KindRepaired {
			repairs++
		}
		if by, ok := a.noted[r.Seq]; ok && (r.Kind != "part" || r.Writer.Instance != by) {
			t.Errorf("seq %d was acknowledged to %s and is %s of %s", r.Seq, by, r.Kind, r.Writer.Instance)
		}
		delete(a.noted, r.Seq)
	}
	for seq := range a.noted {
		t.Errorf("seq %d was acknowledged and is missing", seq)
	}
	if len(fold.By) != keys || fold.Doubled > 0 {
		t.Errorf("%d of %d keys decided, %d twice", len(fold.By), keys, fold.Doubled)
	}
	for key, by := range a.won {
		if fold.By[key] != by {
			t.Errorf("key %s was acknowledged to %s and decided by %s", key, by, fold.By[key])
		}
	}
	t.Logf("%d records, %d repairs, %d of %d decisions acknowledged", len(recs), repairs, len(a.won), keys)
}

func startContest(t *testing.T, wg *sync.WaitGroup, a *acks, c contest) *exec.Cmd {
	t.Helper()
	args, err := json.Marshal(c)
	testenv.Must(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WAGGLE_JOURNAL_CHILD="+string(args))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	wg.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			a.hear(c.As, lines.Text())
		}
		_ = cmd.Wait() // killed, or its output has the reason
	})
	return cmd
}
