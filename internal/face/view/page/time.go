package page

import (
	"fmt"
	"regexp"
	"time"

	"waggle/operator"
	"waggle/protocol"
)

// UTC is the place of people who asked for times in UTC: they are shown whole.
var UTC = time.FixedZone("UTC", 0)

// Stamp is a time in a document, "" for none.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return protocol.FormatTime(t)
}

// Since is how long ago a time was, "" for none. Documents have milliseconds, and so has it.
func Since(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return operator.Age(now.Sub(t.Truncate(time.Millisecond)).Truncate(time.Second))
}

// Clock is a time of day where now is, with the date when it is not today's. Where now is in UTC
// because that was asked for (UTC), it is the whole time.
func Clock(t, now time.Time) string { return clock(t, now, "15:04") }

// ClockSeconds is Clock with seconds. Where now is in UTC because that was asked for (UTC), it
// is the whole time.
func ClockSeconds(t, now time.Time) string { return clock(t, now, "15:04:05") }

func clock(t, now time.Time, of string) string {
	if now.Location() == UTC {
		return t.UTC().Format(time.RFC3339)
	}
	t = t.In(now.Location())
	if t.Format(time.DateOnly) != now.Format(time.DateOnly) {
		of = time.DateOnly + " " + of
	}
	return t.Format(of)
}

// wholeTime is a time as protocol.FormatTime writes it.
var wholeTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)

// Local is a sentence for people: times in it that protocol.FormatTime wrote are shown where now is.
func Local(sentence string, now time.Time) string {
	return wholeTime.ReplaceAllStringFunc(sentence, func(s string) string {
		t, err := protocol.ParseTime(s)
		if err != nil {
			return s
		}
		return ClockSeconds(t, now)
	})
}

// recent is how long ago a time may be to be shown as that.
const recent = time.Hour

// When is a time for people, "" for none: how long ago it was when that is less than an hour, else
// its Clock.
func When(t, now time.Time) string {
	if d := now.Sub(t); !t.IsZero() && d >= 0 && d < recent && now.Location() != UTC {
		return operator.Age(d.Truncate(time.Second)) + " ago"
	}
	return Moment(t, now)
}

// Moment is Clock, "" for no time.
func Moment(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Clock(t, now)
}

// Count is a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// At is the time of a pointer, zero for nil.
func At(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// AgeSeconds is how many seconds ago a time was, 0 for none and for one to come.
func AgeSeconds(t, now time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(0, int64(now.Sub(t)/time.Second))
}

// Age is how long ago a time was, for people.
func Age(t, now time.Time) string {
	return operator.Age(time.Duration(AgeSeconds(t, now)) * time.Second)
}
