package page_test

import (
	"slices"
	"testing"
	"time"

	"waggle/internal/face/view/page"
	_ "waggle/internal/fs/atomicfile/ordertest" // every test checks the order of its locks
	"waggle/operator"
)

// TestTimes: a time is printed in the reader's zone, shorter when it is near; the zero time is printed as "".
func TestTimes(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 11, 20, 12, 0, s, 345_678_900, time.UTC) }
	now := at(90)
	for want, got := range map[string]string{
		"":                     page.Since(time.Time{}, now),
		"1m30s":                page.Since(at(0), now),
		"12:00":                page.Clock(at(0), now),
		"2026-11-19 12:00":     page.Clock(at(0).AddDate(0, 0, -1), now),
		"13:00":                page.Clock(at(0), now.In(time.FixedZone("", 3600))),
		"1m30s ago":            page.When(at(0), now),
		"2026-11-20T12:00:00Z": page.When(at(0), now.In(page.UTC)),
		"12:00:00":             page.ClockSeconds(at(0), now),
		"2m00s":                page.Age(at(-30), now),
		"1 member":             page.Count(1, "member"),
		"0 members":            page.Count(0, "member"),

		"2026-11-20T12:00:00.345Z": page.Stamp(at(0)),
		"2026-11-20 12:00:00":      page.ClockSeconds(at(0), now.AddDate(0, 0, 1)),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRows: a table without rows is not added.
func TestRows(t *testing.T) {
	var p page.Page
	p.Rows(page.Table{Head: []string{"A"}})
	p.Line()
	p.Rows(page.Table{Head: []string{"A"}, Rows: [][]string{{"1"}}})
	if len(p) != 2 || p[1].Table == nil {
		t.Errorf("%+v", p)
	}
}

// TestWithTeam: the column of teams goes from the head and from every row, unless several are listed.
func TestWithTeam(t *testing.T) {
	whole := func() page.Table {
		return page.Table{Head: []string{"A", "TEAM"}, Rows: [][]string{{"1", "x"}, {"2", "y"}}}
	}
	if got := whole().WithTeam(true); len(got.Head) != 2 || len(got.Rows[1]) != 2 {
		t.Errorf("several: %+v", got)
	}
	one := whole()
	got := one.WithTeam(false)
	if !slices.Equal(got.Head, []string{"A"}) || !slices.Equal(got.Rows[1], []string{"2"}) || len(one.Head) != 2 {
		t.Errorf("one: %+v of %+v", got, one)
	}
}

// TestSentence: a step is joined to a text with a semicolon, unless the step begins with its own sign. A text
// without a step and a step without a text have no semicolon.
func TestSentence(t *testing.T) {
	step := operator.NextPendingList.With()
	for want, got := range map[string]string{
		"it waits; do": page.Spell(func(operator.Next) string { return "do" }).Sentence(operator.Sentence{Text: "it waits", Do: step}),
		"it waits: do": page.Spell(func(operator.Next) string { return ": do" }).Sentence(operator.Sentence{Text: "it waits", Do: step}),
		"it waits":     page.Spell(func(operator.Next) string { return "" }).Sentence(operator.Sentence{Text: "it waits", Do: step}),
		"do":           page.Spell(func(operator.Next) string { return "do" }).Sentence(operator.Sentence{Do: step}),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
