package tui_test

import (
	"fmt"
	"testing"

	"waggle/internal/tui"
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

// A key in a list of 1,000 requests, drawn at 300x80.
func BenchmarkScroll(b *testing.B) {
	p := tui.Thousand(&desk{}, thousand())
	for b.Loop() {
		p.Down()
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
