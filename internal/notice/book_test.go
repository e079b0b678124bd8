package notice_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"waggle/internal/notice"
	_ "waggle/internal/test/testenv/seeded"
)

// TestBook: of any course of requests there is at most one notice in Window, only for what was not told while it
// waited, for all that waits Settle and Window long, and none for what is answered within Settle; the last notice is
// withdrawn when nothing waits.
func TestBook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b notice.Book
		start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		now := start
		var open []string
		since := map[string]time.Time{} // when each open id began to wait
		told := map[string]bool{}       // the open ids that were told
		var last time.Time
		stands := false
		look := func() time.Time {
			s := b.Look(now, open)
			if s.Tell {
				fresh := slices.ContainsFunc(open, func(id string) bool { return !told[id] && now.Sub(since[id]) >= 0 })
				switch {
				case !last.IsZero() && now.Sub(last) < notice.Window: // the clock of the test
					t.Fatalf("%s after the last notice", now.Sub(last))
				case !fresh:
					t.Fatal("a notice without anything new")
				case !slices.ContainsFunc(open, func(id string) bool { return !told[id] }):
					t.Fatal("all was told")
				}
				last, stands = now, true
				for _, id := range open {
					told[id] = true
				}
			}
			if want := stands && len(open) == 0; s.Withdraw != want {
				t.Fatalf("withdraw is %v, want %v", s.Withdraw, want)
			}
			stands = stands && len(open) > 0
			for _, id := range open {
				if !told[id] && now.After(since[id].Add(notice.Settle+notice.Window)) {
					t.Fatalf("%s waits since %s and was not told", id, now.Sub(since[id]))
				}
			}
			if !s.Again.IsZero() && !s.Again.After(now) {
				t.Fatal("it asks to be called again at once")
			}
			return s.Again
		}
		again := time.Time{}
		for n := range rapid.IntRange(1, 60).Draw(t, "changes") {
			next := now.Add(time.Duration(rapid.IntRange(0, 15_000).Draw(t, "ms")) * time.Millisecond)
			for !again.IsZero() && again.Before(next) {
				now = again
				again = look()
			}
			now = next
			if len(open) > 0 && rapid.Bool().Draw(t, "answered") {
				at := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				delete(told, open[at])
				open = slices.Delete(slices.Clone(open), at, at+1)
			} else {
				id := fmt.Sprint("r", n)
				open, since[id] = append(slices.Clone(open), id), now
			}
			again = look()
		}
	})
}

// What is answered before it has settled makes no notice, and two that wait within the window make one.
func TestBookSettles(t *testing.T) {
	var b notice.Book
	at := func(ms int) time.Time {
		return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
	}
	for _, step := range []struct {
		ms    int
		waits []string
		want  notice.Step
	}{
		{0, []string{"a"}, notice.Step{Again: at(1000)}},
		{900, nil, notice.Step{}},
		{2000, []string{"b"}, notice.Step{Again: at(3000)}},
		{2500, []string{"b", "c"}, notice.Step{Again: at(3000)}},
		{3000, []string{"b", "c"}, notice.Step{Tell: true}},
		{4000, []string{"b", "c", "d"}, notice.Step{Again: at(13000)}},
		{5000, []string{"b"}, notice.Step{}},
		{6000, []string{"e"}, notice.Step{Again: at(13000)}},
		{7000, nil, notice.Step{Withdraw: true}},
		{8000, nil, notice.Step{}},
	} {
		if got := b.Look(at(step.ms), step.waits); got != step.want {
			t.Errorf("at %d ms with %q: %+v, want %+v", step.ms, step.waits, got, step.want)
		}
	}
}
