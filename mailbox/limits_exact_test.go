package mailbox_test

import (
	"errors"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
)

// TestLimitsAreExact: an append that reaches a limit is taken, and one that goes over it
// by one is refused with both numbers and writes nothing. The size of an entry is what the
// first refusal says.
func TestLimitsAreExact(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 18, 15, 43, 0, time.UTC) // that of text
	limit := func(l mailbox.Limits, entries int) (*mailbox.LimitError, int) {
		t.Helper()
		b := openBox(t, t.TempDir(), mailbox.Options{Limits: l, Now: func() time.Time { return now }})
		for i := range entries {
			err := b.Append(t.Context(), text("hello"))
			if refused, ok := errors.AsType[*mailbox.LimitError](err); ok {
				if n := len(entriesOf(t, b)); n != i {
					t.Errorf("%+v: %d entries of %d after a refusal", l, n, i)
				}
				return refused, i
			}
			testenv.Must(t, err)
		}
		return nil, entries
	}
	first, _ := limit(mailbox.Limits{Entry: 1}, 1)
	if first == nil {
		t.Fatal("an entry of one byte at most is taken")
	}
	size := first.Have
	for what, c := range map[string]struct {
		set  func(l *mailbox.Limits, n int64)
		unit int64 // what one entry counts
		n    int   // how many fit
	}{
		"Entry":       {func(l *mailbox.Limits, n int64) { l.Entry = int(n) }, size, 1},
		"Count":       {func(l *mailbox.Limits, n int64) { l.Count = int(n) }, 1, 3},
		"Bytes":       {func(l *mailbox.Limits, n int64) { l.Bytes = n }, size, 3},
		"SenderCount": {func(l *mailbox.Limits, n int64) { l.SenderCount = int(n) }, 1, 3},
		"SenderBytes": {func(l *mailbox.Limits, n int64) { l.SenderBytes = n }, size, 3},
		"Rate":        {func(l *mailbox.Limits, n int64) { l.Rate = int(n) }, 1, 3},
	} {
		var l mailbox.Limits
		most := c.unit * int64(c.n)
		c.set(&l, most)
		if refused, n := limit(l, c.n); refused != nil {
			t.Errorf("%s of exactly %d: %d entries, then %v", what, most, n, refused)
		}
		c.set(&l, most-1)
		if refused, n := limit(l, c.n); refused == nil || n != c.n-1 || refused.What != what || refused.Max != most-1 || refused.Have != most {
			t.Errorf("%s of one less than %d: %d entries, then %+v", what, most, n, refused)
		}
	}
}
