package tui_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"waggle/internal/face/tui"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/policy"
)

func thousand() (qs []decide.Request) {
	for i := range 1000 {
		qs = append(qs, request(i, fmt.Sprint("m", i%8), fmt.Sprintf("go test ./pkg%d/...", i), policy.Risks()[i%3]))
	}
	decide.SortRequests(qs)
	return qs
}

// A key in a list of 1,000 requests at each size, with short and with long commands, and with a change of the requests before each
// key. The longest frame is what a person sees.
func BenchmarkScroll(b *testing.B) {
	short, long := thousand(), thousand()
	for i := range long {
		long[i].Command = strings.Repeat(long[i].Command+" && ", 200) + "rm -rf build7"
		in, err := json.Marshal(map[string]string{"command": long[i].Command})
		testenv.Must(b, err)
		long[i].Input = in
	}
	for _, size := range [][2]int{{80, 24}, {300, 80}} {
		for _, of := range []struct {
			name   string
			qs     []decide.Request
			change bool
		}{{"short", short, false}, {"long", long, false}, {"changing", short, true}, {"long-changing", long, true}} {
			b.Run(fmt.Sprintf("%dx%d/%s", size[0], size[1], of.name), func(b *testing.B) {
				p := tui.Thousand(&desk{}, of.qs)
				p.Resize(size[0], size[1])
				runtime.GC()
				longest := time.Duration(0)
				for n := 0; b.Loop(); n++ {
					began := time.Now()
					if of.change {
						p.Load(of.qs)
					}
					p.Down()
					longest = max(longest, time.Since(began))
					if n%999 == 998 {
						p.Keys("home")
					}
				}
				b.ReportMetric(float64(longest.Microseconds())/1000, "max-ms")
			})
		}
	}
}

// A change of 1,000 requests, drawn at 300x80.
func BenchmarkChange(b *testing.B) {
	qs := thousand()
	p := tui.Thousand(&desk{}, qs)
	for b.Loop() {
		p.Load(qs)
	}
}

// A look at the clock while a request stands: ten a second.
func BenchmarkIdle(b *testing.B) {
	p := tui.Thousand(&desk{}, thousand())
	for b.Loop() {
		p.Beat()
	}
}
