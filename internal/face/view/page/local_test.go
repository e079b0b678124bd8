package page_test

import (
	"testing"
	"time"

	"waggle/internal/face/view/page"
)

func TestLocal(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 13, 0, 0, 0, time.FixedZone("there", 3600))
	for in, want := range map[string]string{
		"decided: deny by operator at 2026-11-20T11:00:10.345Z":     "decided: deny by operator at 12:00:10",
		"from 2026-11-19T23:30:00.000Z to 2026-11-19T22:59:59.999Z": "from 00:30:00 to 2026-11-19 23:59:59",
		"2026-11-20T11:00:10Z is no time that waggle wrote":         "2026-11-20T11:00:10Z is no time that waggle wrote",
		"2026-13-40T11:00:10.345Z is none":                          "2026-13-40T11:00:10.345Z is none",
	} {
		if got := page.Local(in, now); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := page.Local("at 2026-11-20T11:00:10.345Z", now.In(page.UTC)); got != "at 2026-11-20T11:00:10Z" {
		t.Errorf("in UTC: %s", got)
	}
}
