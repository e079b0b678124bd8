package tui

import (
	"time"

	"waggle/internal/face/ask"
)

// The event loop may be late by so much before what was typed meanwhile no longer counts. While a
// question is new it is less than ask.Stand: a key that waited for the loop was then typed after the
// question was on the screen. Once it has stood for settling it is more, and a key that waited was
// typed later than ask.Stand.
const (
	stalled     = 400 * time.Millisecond
	settling    = 3 * time.Second
	longStalled = 1700 * time.Millisecond
)

// standing decides whether a key may answer. It is told what is shown and when something happens,
// and reads no clock.
type standing struct {
	what  string    // identifies the question and everything of it that is shown; "": none is whole on the screen
	frame int       // the first frame with it; 0: none was drawn
	since time.Time // when the terminal had taken it; zero: it has not
	last  time.Time // the last event
	key   time.Time // the last key
}

// show says what is shown from the next frame on.
func (s *standing) show(what string) {
	if what != s.what {
		s.what, s.since, s.frame = what, time.Time{}, 0
	}
}

// drawn says that a frame was drawn.
func (s *standing) drawn(n int) {
	if s.frame == 0 {
		s.frame = n
	}
}

// took says that the terminal has taken a frame. What is shown stands from now on: a key that was
// typed before this was told does not count.
func (s *standing) took(n int, now time.Time) {
	if s.what != "" && s.frame > 0 && n >= s.frame && s.since.IsZero() {
		s.since = now
	}
}

// anew says that the program was stopped: what is shown stands from now on.
func (s *standing) anew(now time.Time) {
	if !s.since.IsZero() {
		s.since = now
	}
}

// pass is told of every event, and reports whether the loop was late. The question then stands
// anew.
func (s *standing) pass(now time.Time) bool {
	limit := stalled
	if s.settled(s.last) {
		limit = longStalled
	}
	late := s.what != "" && !s.since.IsZero() && (now.Sub(s.last) >= limit || now.Before(s.last))
	s.last = now
	if late {
		s.anew(now)
	}
	return late
}

// armed reports whether the question has stood long enough.
func (s *standing) armed(now time.Time) bool {
	return s.what != "" && !s.since.IsZero() && now.Sub(s.since) >= ask.Stand
}

// settled reports whether the question stands for so long that the loop may be later.
func (s *standing) settled(now time.Time) bool {
	return s.what != "" && !s.since.IsZero() && now.Sub(s.since) >= settling
}

// typed records a key, and returns how long there was none before it.
func (s *standing) typed(now time.Time) time.Duration {
	since := now.Sub(s.key)
	s.key = now
	return since
}
