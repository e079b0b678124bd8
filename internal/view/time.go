package view

import (
	"fmt"
	"time"

	"waggle"
	"waggle/operator"
)

// stamp is a time in a document, "" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return waggle.FormatTime(t)
}

// Since is how long ago a time was, "" for none. Documents have milliseconds, and so has it.
func Since(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return operator.Age(now.Sub(t.Truncate(time.Millisecond)).Truncate(time.Second))
}

// Clock is a time of day where now is, with the date when it is not today's.
func Clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// Count is a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// until is a time in a document, null for none.
func until(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := stamp(t)
	return &s
}

// ageS is how many seconds ago a time was, 0 for none and for one to come.
func ageS(t, now time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(0, int64(now.Sub(t)/time.Second))
}

// Age is how long ago a time was, for people.
func Age(t, now time.Time) string {
	return operator.Age(time.Duration(ageS(t, now)) * time.Second)
}
