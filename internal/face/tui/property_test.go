package tui_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"waggle/internal/face/ask"
	"waggle/internal/face/tui"
	"waggle/operator/decide"
	"waggle/policy"
)

// walk types random keys on the screen of a random team.
type walk struct {
	t    *rapid.T
	p    *tui.Player
	d    *desk
	asks []decide.Request
	n    int
	w, h int

	shown string    // the request under the cursor, whole, and the size
	since time.Time // when that changed last
	typed string    // all that was typed
	key   time.Time // when
	stood time.Duration
	seen  int // acts that were checked
}

// look stores the time at which the request under the cursor, or the size, has changed.
func (w *walk) look() {
	now := fmt.Sprint(w.p.On(), w.w, w.h)
	if i := slices.IndexFunc(w.asks, func(q decide.Request) bool { return q.Handle == w.p.On() }); i >= 0 {
		now += w.asks[i].Digest
	}
	if other := w.p.Other(); other != "" { // a batch does not change, whatever is under the cursor
		now = fmt.Sprint(other, w.w, w.h)
	}
	if now != w.shown {
		w.shown, w.since = now, time.Now()
	}
}

// sampled is the time between two calls of look.
const sampled = 10 * time.Millisecond

// pass lets time pass, and calls look meanwhile.
func (w *walk) pass(d time.Duration) {
	for ; d > 0; d -= sampled {
		w.p.Wait(min(d, sampled))
		w.look()
	}
}

func (w *walk) press(k string) {
	w.look()
	if k == "a" || k == "enter" {
		w.key, w.stood = time.Now(), time.Since(w.since)
	}
	w.p.Keys(k)
	w.typed += k
	w.look()
}

// update changes what the team asks. The cursor stays.
func (w *walk) update() {
	on, answers := w.p.On(), w.p.Answers()
	w.p.Ask(w.asks...)
	if on != "" && w.p.On() != on && !answers { // an answer that was due moves on
		w.t.Fatalf("the cursor went from %s to %s", on, w.p.On())
	}
	w.look()
}

func (w *walk) add() {
	w.n++
	risk := rapid.SampledFrom(policy.Risks()).Draw(w.t, "risk")
	w.asks = append(w.asks, request(w.n, rapid.SampledFrom([]string{"ann", "bob"}).Draw(w.t, "who"), rapid.SampledFrom([]string{"ls", "make a", "rm -rf /", strings.Repeat("long ", 300)}).Draw(w.t, "command"), risk))
	decide.SortRequests(w.asks)
	w.update()
}

func (w *walk) drop() {
	if len(w.asks) > 0 {
		i := rapid.IntRange(0, len(w.asks)-1).Draw(w.t, "which")
		w.asks = slices.Delete(w.asks, i, i+1)
		w.update()
	}
}

func (w *walk) change() {
	if len(w.asks) > 0 {
		i := rapid.IntRange(0, len(w.asks)-1).Draw(w.t, "which")
		w.n++
		w.asks[i].Digest = fmt.Sprintf("%064d", w.n)
		w.update()
	}
}

// check judges the acts that were done since the last call.
func (w *walk) check() {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	for _, a := range w.d.acts[w.seen:] {
		if a.Setup != nil && w.stood < ask.Stand-sampled {
			w.t.Fatalf("the setup of %q was accepted after %s", a.Text, w.stood)
		}
		for _, q := range a.Requests {
			high := q.Risk == string(policy.RiskHigh)
			switch {
			case len(a.Requests) > 1 && high:
				w.t.Fatalf("a batch answered %s of high risk", q.Handle)
			case a.Verb == tui.Allow && high && a.Input == "" && !strings.HasSuffix(strings.ToLower(w.typed), strings.ToLower(q.Handle)+"enter"):
				w.t.Fatalf("%s of high risk was allowed by %q", q.Handle, w.typed[max(0, len(w.typed)-20):])
			case w.stood < ask.Stand-sampled:
				w.t.Fatalf("%s was answered after %s", q.Handle, w.stood)
			}
		}
	}
	w.seen = len(w.d.acts)
}

// inside runs fn in a time of its own. A failure is passed on to rapid.
func inside(t *testing.T, fn func()) {
	var fell any
	synctest.Test(t, func(*testing.T) {
		defer func() { fell = recover() }()
		fn()
	})
	switch {
	case fell == nil:
	case strings.HasSuffix(fmt.Sprintf("%T", fell), "invalidData"):
		panic(fell) // of rapid, while it shrinks: on a line of its own, by which rapid tells it from a failure
	default:
		panic(fell)
	}
}

// TestWalk: with random requests and random keys, no request is answered that has not stood, no key
// and no batch allows high risk, the cursor stays on its request, and no escape sequence but ours is
// drawn.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		inside(t, func() {
			d := &desk{lines: []string{"out\x1b]0;x\x07"}}
			w := &walk{t: rt, d: d, p: tui.Play(d, 80, 24, false), w: 80, h: 24, since: time.Now()}
			defer w.p.Close()
			d.diff = madeBy("ann")
			if rapid.Bool().Draw(rt, "setup") {
				d.found = foundSetup(t, rapid.SampledFrom([]string{"make", strings.Repeat("make it ", 300)}).Draw(rt, "runs"))
			}
			var written atomic.Value // the text that the editor, in a goroutine of its own, saves
			w.p.Write = func(text string) string {
				if s := written.Load().(string); s != "" {
					return s
				}
				return text
			}
			keys := []string{"a", "a", "a", "a", "d", "b", "r", "j", "k", "1", "2", "enter", "esc", "space", "pgup", "tab", "left", "right", "/", "m", "?", "s", "home", "end", "e", "c", "S", "g", "v", "t", "n", "handle", "A", "D", "R", "G", "y"}
			for range rapid.IntRange(1, 60).Draw(rt, "steps") {
				written.Store(rapid.SampledFrom([]string{"ls\n", "rm -rf x\n", ""}).Draw(rt, "written"))
				switch rapid.IntRange(0, 9).Draw(rt, "step") {
				case 0:
					w.add()
				case 1:
					w.drop()
				case 2:
					w.change()
				case 3:
					size := rapid.SampledFrom([][2]int{{80, 24}, {120, 40}, {300, 80}, {20, 5}}).Draw(rt, "size")
					w.w, w.h = size[0], size[1]
					w.p.Resize(w.w, w.h)
					w.look()
				case 4:
					w.p.Paste("y")
				default:
					k := rapid.SampledFrom(keys).Draw(rt, "key")
					if k == "handle" {
						for _, r := range w.p.On() {
							w.pass(60 * time.Millisecond)
							w.press(string(r))
						}
					} else {
						w.press(k)
					}
				}
				w.pass(time.Duration(rapid.SampledFrom([]int{1, 30, 150, 300, 700}).Draw(rt, "ms")) * time.Millisecond)
				w.check()
				drawn(rt, w.p.Frame())
			}
		})
	})
}

// drawn refuses a frame with anything but visible characters, line ends and our styles.
func drawn(t interface{ Fatalf(string, ...any) }, frame string) {
	for _, s := range []string{"\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[32m", "\x1b[31m", "\x1b[7m", "\x1b[m", "\n"} {
		frame = strings.ReplaceAll(frame, s, "")
	}
	if i := strings.IndexFunc(frame, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }); i >= 0 {
		t.Fatalf("drawn: %q", frame[max(0, i-20):min(len(frame), i+20)])
	}
}

// TestHarmless: no text of a member reaches the terminal as more than visible characters, and none
// makes a line wider than the screen.
func TestHarmless(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		inside(t, func() {
			evil := rapid.OneOf(rapid.String(), rapid.StringMatching("([a-z]|\x1b\\[[0-9;?]{0,4}[A-Za-z]|\x1b\\]0;x\x07|\n|\r|\t|\x08|\x1b.|\u202e|\u4e16){0,40}"))
			q := request(1, evil.Draw(rt, "who"), evil.Draw(rt, "command"), policy.RiskLow)
			q.Team, q.Cwd, q.Reason, q.Task, q.Suggest = evil.Draw(rt, "team"), evil.Draw(rt, "cwd"), evil.Draw(rt, "reason"), evil.Draw(rt, "task"), []string{evil.Draw(rt, "rule")}
			m := member(evil.Draw(rt, "member"), "working", evil.Draw(rt, "why"))
			d := &desk{lines: []string{evil.Draw(rt, "line")}, err: fmt.Errorf("%s", evil.Draw(rt, "error"))}
			p := tui.Play(d, 80, 24, false)
			defer p.Close()
			p.Ask(q)
			p.Man(tui.Crew{Members: []tui.Member{m}, Problems: []string{evil.Draw(rt, "problem")}})
			for _, k := range []string{"j", "k", "b", "esc", "r", "esc", "d"} {
				p.Keys(k)
				p.Wait(time.Second)
				drawn(rt, p.Frame())
				for _, l := range strings.Split(p.Text(), "\n") {
					if n := ansi.StringWidth(l); n > 80 {
						rt.Fatalf("%d columns: %q", n, l)
					}
				}
			}
		})
	})
}
