//go:build unix

package live_test

import (
	"testing"

	"waggle/internal/face/tui/live"
	"waggle/internal/test/operatortest"
)

// BenchmarkLive is what the readers of the screen cost for 40 members and 10,000 records.
func BenchmarkLive(b *testing.B) {
	op := operatortest.New(b)
	c := operatortest.NewCrowd(b, op, "api", 40, 10_000)
	c.Asks(0, "make")
	src := live.Of(op, "")
	b.Run("requests", func(b *testing.B) {
		for b.Loop() {
			if qs, err := src.Requests(b.Context()); err != nil || len(qs) != 1 {
				b.Fatal(len(qs), err)
			}
		}
	})
	b.Run("crew", func(b *testing.B) {
		for b.Loop() {
			if crew, err := src.Crew(b.Context()); err != nil || len(crew.Members) != 40 {
				b.Fatal(len(crew.Members), err)
			}
		}
	})
}
