package operator_test

import (
	"testing"
	"time"

	"waggle/operator"
)

func TestParseUntil(t *testing.T) {
	now := time.Date(2026, 11, 21, 17, 30, 0, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"2h":                   now.Add(2 * time.Hour),
		"14d":                  now.AddDate(0, 0, 14),
		"18:00":                time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC),
		"17:30":                time.Date(2026, 11, 22, 17, 30, 0, 0, time.UTC),
		"2026-12-24":           time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC),
		"2026-11-21T18:00:00Z": time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC),
	} {
		if got, err := operator.ParseUntil(in, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "soon", "-2h", "0s", "2026-01-01", "d", "1.5d", "25:00"} {
		_, err := operator.ParseUntil(in, now)
		if operator.KindOf(err) != operator.Usage {
			t.Errorf("%q: %v", in, err)
		}
	}
}
