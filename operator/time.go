package operator

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"waggle/internal/json/jsonobj"
)

// ParseUntil reads when something ends, from now on: a span (90s, 2h, 14d), a time
// of day (18:00, the next one), a date or a time (2026-12-24, RFC 3339). It must
// lie ahead.
func ParseUntil(s string, now time.Time) (time.Time, error) {
	t, err := parseUntil(strings.TrimSpace(s), now)
	switch {
	case err != nil:
		return time.Time{}, &Error{Kind: Usage, Op: "time", Msg: fmt.Sprintf("%q is not an end: give a span (2h, 14d), today, a time of day (18:00) or a date (2026-12-24)", s)}
	case !t.After(now):
		return time.Time{}, &Error{Kind: Usage, Op: "time", Msg: fmt.Sprintf("%q is over", s)}
	}
	return t, nil
}

func parseUntil(s string, now time.Time) (time.Time, error) {
	if s == "today" {
		return time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, now.Location()), nil
	}
	if d, err := ParseSpan(s); err == nil {
		return now.Add(d), nil
	}
	if t, err := time.ParseInLocation("15:04", s, now.Location()); err == nil {
		at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
		if !at.After(now) {
			at = time.Date(now.Year(), now.Month(), now.Day()+1, t.Hour(), t.Minute(), 0, 0, now.Location())
		}
		return at, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, now.Location()); err == nil {
		return t, nil
	}
	return time.Parse(time.RFC3339, s)
}

// ParseSpan reads a length of time as Go writes it, and whole days: 14d.
func ParseSpan(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 36500 {
			return 0, fmt.Errorf("%q is not a number of days", s)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	return time.ParseDuration(s)
}

// Age writes a time span for people.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// Seconds is a duration of which a document has the seconds, to the millisecond.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return jsonobj.Marshal(math.Round(time.Duration(s).Seconds()*1000) / 1000)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var n float64
	err := json.Unmarshal(b, &n)
	*s = Seconds(n * float64(time.Second))
	return err
}
