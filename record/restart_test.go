package record_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"waggle/record"
)

// secondNext reads the rule of restarts once more: count the deaths of the window, then double.
func secondNext(r record.Restart, deaths []time.Time, fresh bool, now time.Time) (time.Duration, bool) {
	n := 0
	for i := len(deaths) - 1; i >= 0; i-- { // a death before the window ends the count
		if now.Sub(deaths[i]) > time.Duration(r.Window)*time.Millisecond {
			break
		}
		n++
	}
	if !fresh {
		n-- // its own death is the last of them
	}
	if n >= r.Most {
		return 0, true
	}
	ms := r.First
	for i := 0; i < n; i++ {
		if ms *= 2; ms > r.Longest {
			ms = r.Longest
		}
	}
	return time.Duration(ms) * time.Millisecond, false
}

// TestRestartBacksOff: the waits double up to the longest, deaths that are as old as the window
// count and older ones do not, and as many deaths as the policy bears end it.
func TestRestartBacksOff(t *testing.T) {
	r := record.Restart{Most: 4, Window: 10_000, First: 1000, Longest: 3000}
	ago := func(ms ...int64) (ts []time.Time) {
		for _, m := range ms {
			ts = append(ts, start.Add(-time.Duration(m)*time.Millisecond))
		}
		return ts
	}
	for _, c := range []struct {
		deaths []time.Time
		fresh  bool
		wait   time.Duration
		gaveUp bool
	}{
		{nil, true, time.Second, false},
		{ago(0), false, time.Second, false},
		{ago(5), true, 2 * time.Second, false},
		{ago(9, 5), true, 3 * time.Second, false},
		{ago(9, 5, 1), true, 3 * time.Second, false},
		{ago(9, 5, 1, 0), true, 0, true},
		{ago(9, 5, 1, 0), false, 3 * time.Second, false},
		{ago(9, 5, 1, 1, 0), false, 0, true},
		{ago(10_001, 10_000), true, 2 * time.Second, false},
		{ago(10_001, 10_001, 10_001, 10_001), true, time.Second, false},
	} {
		at, gaveUp := r.Next(c.deaths, c.fresh, start)
		if gaveUp != c.gaveUp || (at == nil) != c.gaveUp || at != nil && at.Sub(start) != c.wait {
			t.Errorf("after %v, fresh %v: %v, %v; want %v, %v", c.deaths, c.fresh, at, gaveUp, c.wait, c.gaveUp)
		}
	}
	none := record.Restart{Most: 0, Window: 1}
	if at, gaveUp := none.Next(nil, true, start); at != nil || !gaveUp {
		t.Errorf("a policy without restarts: %v, %v", at, gaveUp)
	}
}

func TestRestartProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 9)
		r := record.Restart{Most: int(n.Draw(t, "most")), Window: n.Draw(t, "window"), First: n.Draw(t, "first"), Longest: n.Draw(t, "longest")}
		deaths, at := []time.Time(nil), start
		for _, gap := range rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 9).Draw(t, "gaps") {
			at = at.Add(time.Duration(gap) * time.Millisecond)
			deaths = append(deaths, at)
		}
		fresh := len(deaths) == 0 || rapid.Bool().Draw(t, "fresh")
		want, gone := secondNext(r, deaths, fresh, at)
		got, gaveUp := r.Next(deaths, fresh, at)
		if gaveUp != gone || (got == nil) != gone || got != nil && got.Sub(at) != want {
			t.Fatalf("%+v after %v: %v, %v; want %v, %v", r, deaths, got, gaveUp, want, gone)
		}
	})
}
