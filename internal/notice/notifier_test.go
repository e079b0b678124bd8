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

	"waggle/internal/notice"
)

// heard is a channel that keeps what it is told.
type heard struct {
	mu  sync.Mutex // the bubble's clock orders nothing
	all []string
	err error
}

func (*heard) Name() string   { return "heard" }
func (*heard) Missing() error { return nil }

func (h *heard) Show(_ context.Context, n notice.Notice) error {
	h.adds(n.Title + " (" + n.Body + ")")
	return h.err
}

func (h *heard) Withdraw(_ context.Context, team string) error {
	h.adds("withdrawn: " + team)
	return nil
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
		o := notice.Options{Channels: []notice.Channel{h}, Do: "waggle pending", Now: time.Now, On: on.Load, Kept: func(string) string { return kept },
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
		n = notice.Start(notice.Options{Channels: []notice.Channel{h}, Do: "waggle pending", Now: time.Now, Shown: true})
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
		n := start(h)
		h.is(t, told)
		time.Sleep(notice.Window) // the bubble's clock
		h.is(t, told)
		n.Close()
		h.err = nil
		n = start(h)
		h.is(t, told)
		time.Sleep(time.Minute) // the bubble's clock
		h.is(t)
		n.Close()
		start(h).Close()
		h.is(t)
	})
}

// A notice of the future, before the clock was set back, does not keep the next one.
func TestNotifierFuture(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "notified.json")
	must(t, os.WriteFile(kept, []byte(`{"at":"2999-01-02T03:04:05Z","ids":["of ben"]}`), 0o600))
	synctest.Test(t, func(t *testing.T) {
		h := &heard{}
		n := notice.Start(notice.Options{Channels: []notice.Channel{h}, Do: "waggle pending", Now: time.Now, Kept: func(string) string { return kept }})
		n.Waiting(waits("api", "ann", "ben"))
		time.Sleep(time.Minute) // the bubble's clock
		h.is(t, "waggle: 2 wait in api (ann, ben: waggle pending)")
		n.Close()
	})
}

// stuck is a channel that shows nothing until its time is over.
type stuck struct{ heard }

func (*stuck) Show(ctx context.Context, _ notice.Notice) error {
	<-ctx.Done()
	return ctx.Err()
}

func (*stuck) Withdraw(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// Channels that do not answer do not hold Close for longer than one would.
func TestNotifierCloseStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := notice.Start(notice.Options{Channels: []notice.Channel{&stuck{}, &stuck{}, &stuck{}}, Now: time.Now})
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
	must(t, os.WriteFile(kept, []byte("something else"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		h := &heard{}
		n := notice.Start(notice.Options{Channels: []notice.Channel{h}, Do: "waggle pending", Now: time.Now, Kept: func(string) string { return kept }})
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
	must(t, os.WriteFile(path, []byte("mine"), 0o600))
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
