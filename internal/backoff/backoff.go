// Package backoff has the pause before something that failed is tried again.
package backoff

import (
	"context"
	"io"
	"time"
)

// Backoff is a pause that doubles with each failure, from First to Most. One goroutine at a time may use it.
type Backoff struct {
	First, Most time.Duration
	Chance      io.Reader // takes up to half of each pause away, so that not all try at once; nil: nothing
	pause       time.Duration
	until       time.Time
}

// Fail begins the pause that follows a failure, and returns how long it is.
func (b *Backoff) Fail(now time.Time) time.Duration {
	d := b.next()
	b.until = now.Add(d)
	return d
}

func (b *Backoff) next() time.Duration {
	b.pause = min(max(2*b.pause, b.First), b.Most)
	var part [1]byte
	if b.Chance != nil {
		_, _ = io.ReadFull(b.Chance, part[:]) // without it nothing is taken away
	}
	return b.pause - b.pause/2*time.Duration(part[0])/256
}

// Due reports whether no pause is left: nothing failed, the pause is over, or the clock was set back.
func (b *Backoff) Due(now time.Time) bool {
	return !now.Before(b.until) || b.until.Sub(now) > b.Most
}

// Reset makes it due, and the next pause the first one.
func (b *Backoff) Reset() { b.pause, b.until = 0, time.Time{} }

// Wait waits out the pause that follows a failure, or until ctx ends.
func (b *Backoff) Wait(ctx context.Context) { Pause(ctx, b.next()) }

// Pause waits for a time, and reports whether ctx did not end before.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
