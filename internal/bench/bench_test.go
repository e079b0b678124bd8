package bench_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/internal/bench"
	"waggle/internal/test/testenv"
)

// The comparison itself: every file comes out right, and make soak keeps the
// ratios. The counts are asserted, speed is not.
func TestRun(t *testing.T) {
	o := bench.Options{Dir: t.TempDir(), Sizes: []int{0, 10, 100}, Rounds: 1, Budget: time.Millisecond, Now: time.Now, Shuffle: rand.Shuffle}
	if testenv.Soak() {
		o = bench.Options{Dir: t.TempDir(), Now: time.Now, Shuffle: rand.Shuffle}
	}
	sizes := 0
	o.Done = func(int) { sizes++ }
	rows, err := bench.Run(t.Context(), o)
	testenv.Must(t, err)
	if len(rows) != sizes*len(bench.Ops) || sizes == 0 {
		t.Errorf("%d rows of %d sizes", len(rows), sizes)
	}
	for _, r := range rows {
		if r.Waggle <= 0 || r.Peers <= 0 || r.Ratio <= 0 || r.Samples < 1 {
			t.Errorf("%+v", r)
		}
		testenv.Measured(t, "%s, %d entries: %.1f µs, read-parse-rewrite %.1f µs: %.1f times faster (medians of %d)", r.Op, r.Entries, r.Waggle, r.Peers, r.Ratio, r.Samples)
	}
}

func benchmark(b *testing.B, op string) {
	for _, n := range bench.Sizes {
		for _, who := range []string{"waggle", "peers"} {
			b.Run(fmt.Sprintf("N=%d/%s", n, who), func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "tester.json")
				testenv.Must(b, os.WriteFile(path, bench.Content(n), 0o600))
				s, err := bench.NewScenario(b.Context(), who, op, path, n)
				if err == nil {
					if err = s.Prepare(); err == nil {
						err = s.Do() // a process reads its mailbox once
					}
				}
				for b.Loop() {
					b.StopTimer()
					if err == nil {
						err = s.Prepare()
					}
					b.StartTimer()
					if err == nil {
						err = s.Do()
					}
				}
				testenv.Must(b, err)
			})
		}
	}
}

func BenchmarkAppend(b *testing.B) { benchmark(b, bench.Append) }
func BenchmarkPoll(b *testing.B)   { benchmark(b, bench.Poll) }
func BenchmarkRead(b *testing.B)   { benchmark(b, bench.Read) }
func BenchmarkMark(b *testing.B)   { benchmark(b, bench.Mark) }
