package backoff_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"waggle/internal/backoff"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	b := backoff.Backoff{First: time.Second, Most: 5 * time.Second}
	if !b.Due(now) {
		t.Error("not due before a failure")
	}
	for _, want := range []time.Duration{1, 2, 4, 5, 5} {
		want *= time.Second
		if got := b.Fail(now); got != want {
			t.Errorf("a pause of %s, want %s", got, want)
		}
		if b.Due(now.Add(want-1)) || !b.Due(now.Add(want)) || !b.Due(now.Add(-time.Hour)) {
			t.Errorf("the pause of %s ends at another time", want)
		}
	}
	b.Chance = bytes.NewReader([]byte{128})
	if got := b.Fail(now); got != 3750*time.Millisecond {
		t.Errorf("chance leaves %s", got)
	}
	b.Reset()
	if !b.Due(now) || b.Fail(now) != time.Second {
		t.Error("it goes on after a success where it was")
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, began := backoff.Backoff{First: time.Second, Most: 4 * time.Second}, time.Now()
		b.Wait(t.Context())
		b.Wait(t.Context())
		if d := time.Since(began); d != 3*time.Second { // the bubble's clock
			t.Errorf("waited %s", d)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if b.Wait(ended); time.Since(began) != 3*time.Second { // the bubble's clock
			t.Error("waited after the end")
		}
	})
}
