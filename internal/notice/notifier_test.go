package notice_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"waggle/internal/notice"
	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
)

// heard is a channel that keeps what it is told.
type heard struct {
	mu  sync.Mutex // the bubble's clock orders nothing
	all []string
	err error
}

func (h *heard) channel() notice.Channel {
	return notice.Channel{Name: "heard", Show: func(_ context.Context, n notice.Notice) error {
		h.adds(n.Title + " (" + n.Body + ")")
		return h.err
	}, Withdraw: func(_ context.Context, team string) error {
		h.adds("withdrawn: " + team)
		return nil
	}}
}

func (h *heard) adds(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, what)
}

func (h *heard) is(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.all, want) {
		t.Errorf("heard %q, want %q", h.all, want)
	}
	h.all = nil
}

// waits are requests of members, whose ids are the members' names.
func waits(team string, who ...string) map[string][]notice.Wait {
	all := map[string][]notice.Wait{team: {}}
	for _, w := range who {
		all[team] = append(all[team], notice.Wait{ID: "of " + w, Who: w})
	}
	return all
}

func TestNotifier(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "notified.json")
	synctest.Test(t, func(t *testing.T) {
		h := &heard{}
		var on atomic.Bool
		on.Store(true)
		var failed error
		o := notice.Options{Channels: []notice.Channel{h.channel()}, Do: "waggle pending", Now: time.Now, On: on.Load, Kept: func(string) string { return kept },
			Failed: func(_ string, err error) { failed = err }}
		n := notice.Start(o)
		n.Waiting(waits("api", "ann"))
		time.Sleep(900 * time.Millisecond) // the bubble's clock
		n.Waiting(waits("api", "ann", "ben"))
		time.Sleep(time.Second) // the bubble's clock
		h.is(t, "waggle: 2 wait in api (ann, ben: waggle pending)")
		n.Waiting(waits("api", "ben", "cleo"))
		time.Sleep(5 * time.Second) // the bubble's clock
		h.is(t)
		n.Close()
		h.is(t)

		// The next process tells of the one that is new, at its time, and withdraws.
		n = notice.Start(o)
		n.Waiting(waits("api", "ben", "cleo"))
		time.Sleep(6 * time.Second) // the bubble's clock
		h.is(t, "waggle: 2 wait in api (ben, cleo: waggle pending)")
		n.Waiting(waits("api"))
		h.is(t, "withdrawn: api")
		time.Sleep(time.Minute) // the bubble's clock

		// An id that waits again is told again; a failure is reported.
		h.err = errors.New("no desktop")
		n.Waiting(waits("api", "ann"))
		time.Sleep(2 * time.Second) // the bubble's clock
		h.is(t, "waggle: 1 waits in api (ann: waggle pending)")
		if failed != h.err {
			t.Errorf("failed with %v", failed)
		}
		h.err = nil
		n.Waiting(nil)
		n.Close()
		h.is(t, "withdrawn: api")

		// While they are off nothing is told, not even later.
		on.Store(false)
		n = notice.Start(o)
		n.Waiting(waits("api", "ann"))
		time.Sleep(time.Minute) // the bubble's clock
		on.Store(true)
		n.Waiting(waits("api", "ann", "ann"))
		time.Sleep(time.Minute) // the bubble's clock
		h.is(t)
		n.Close()

		// A screen shows what waits when it begins.
		n = notice.Start(notice.Options{Channels: []notice.Channel{h.channel()}, Do: "waggle pending", Now: time.Now, Shown: true})
		n.Waiting(waits("api", "ann"))
		time.Sleep(time.Minute) // the bubble's clock
		h.is(t)
		n.Waiting(waits(notice.Sessions, "a", "b", "c", "d"))
		time.Sleep(time.Minute) // the bubble's clock
		h.is(t, "withdrawn: api", "waggle: 4 wait in your sessions (a, b, 2 more: waggle pending)")
		n.Close()
	})
}

// What no channel could show is not told: it is tried again after Window, and by the next process.
func TestNotifierMissed(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "notified.json")
	synctest.Test(t, func(t *testing.T) {
		const told = "waggle: 1 waits in api (ann: waggle pending)"
		h := &heard{err: errors.New("no desktop")}
		start := func(cs ...notice.Channel) *notice.Notifier {
			n := notice.Start(notice.Options{Channels: cs, Do: "waggle pending", Now: time.Now, Kept: func(string) string { return kept }})
			n.Waiting(waits("api", "ann"))
			time.Sleep(notice.Window) // the bubble's clock
			return n
		}
		start().Close() // without a channel
		n := start(h.channel())
		h.is(t, told)
		time.Sleep(notice.Window) // the bubble's clock
		h.is(t, told)
		n.Close()
		h.err = nil
		n = start(h.channel())
		h.is(t, told)
		time.Sleep(time.Minute) // the bubble's clock
		h.is(t)
		n.Close()
		start(h.channel()).Close()
		h.is(t)
	})
}

// A notice of the future, before the clock was set back, does not keep the next one.
func TestNotifierFuture(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "notified.json")
	testenv.Must(t, os.WriteFile(kept, []byte(`{"at":"2999-01-02T03:04:05Z","ids":["of ben"]}`), 0o600))
	synctest.Test(t, func(t *testing.T) {
		h := &heard{}
		n := notice.Start(notice.Options{Channels: []notice.Channel{h.channel()}, Do: "waggle pending", Now: time.Now, Kept: func(string) string { return kept }})
		n.Waiting(waits("api", "ann", "ben"))
		time.Sleep(time.Minute) // the bubble's clock
		h.is(t, "waggle: 2 wait in api (ann, ben: waggle pending)")
		n.Close()
	})
}

// stuck is a channel that shows nothing until its time is over.
var stuck = notice.Channel{Name: "stuck", Show: func(ctx context.Context, _ notice.Notice) error {
	<-ctx.Done()
	return ctx.Err()
}, Withdraw: func(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}}

// Channels that do not answer do not hold Close for longer than one would.
func TestNotifierCloseStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := notice.Start(notice.Options{Channels: []notice.Channel{stuck, stuck, stuck}, Now: time.Now})
		n.Waiting(waits("api", "ann"))
		time.Sleep(notice.Settle + time.Millisecond) // the bubble's clock
		n.Waiting(nil)
		begun := time.Now()
		n.Close()
		if took := time.Since(begun); took > 3*time.Second { // the bubble's clock
			t.Errorf("close took %s", took)
		}
	})
}

// What was told is kept whole; a file that says something else counts as nothing.
func TestNotifierForeignFile(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "notified.json")
	testenv.Must(t, os.WriteFile(kept, []byte("something else"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		h := &heard{}
		n := notice.Start(notice.Options{Channels: []notice.Channel{h.channel()}, Do: "waggle pending", Now: time.Now, Kept: func(string) string { return kept }})
		n.Waiting(waits("api", "ann"))
		time.Sleep(2 * time.Second) // the bubble's clock
		h.is(t, "waggle: 1 waits in api (ann: waggle pending)")
		n.Close()
	})
}

func TestSettings(t *testing.T) {
	s := notice.Settings{State: filepath.Join(t.TempDir(), "state")}
	is := func(want bool) {
		t.Helper()
		if on, err := s.On(); err != nil || on != want {
			t.Errorf("on is %v, %v; want %v", on, err, want)
		}
	}
	is(true)
	for _, step := range []struct{ on, changed bool }{{true, false}, {false, true}, {false, false}, {true, true}} {
		if changed, err := s.Turn(step.on); err != nil || changed != step.changed {
			t.Errorf("turn %v: %v, %v", step.on, changed, err)
		}
		is(step.on)
	}
	s.Failed("desktop", errors.New("no \x1b[2J bus"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if got := s.LastTrouble(); got != `2026-01-02T03:04:05Z desktop: no \x1b[2J bus` {
		t.Errorf("trouble %q", got)
	}
	s.Failed("tmux", nil, time.Time{})
	if s.LastTrouble() == "" {
		t.Error("another channel has worked, and the trouble is gone")
	}
	if s.Failed("desktop", nil, time.Time{}); s.LastTrouble() != "" {
		t.Error("the trouble stays")
	}

	// A file that says something else is not replaced.
	path := filepath.Join(s.State, "notify")
	testenv.Must(t, os.WriteFile(path, []byte("mine"), 0o600))
	if on, err := s.On(); !on || err == nil {
		t.Errorf("on is %v, %v", on, err)
	}
	if _, err := s.Turn(false); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("it is replaced: %v", err)
	}
	if b, err := os.ReadFile(path); fmt.Sprint(string(b), err) != "mine<nil>" {
		t.Errorf("%q, %v", b, err)
	}
}

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
