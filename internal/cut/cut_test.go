package cut_test

import (
	"testing"

	"waggle/internal/cut"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s                        string
		n                        int
		runes, bytes, valid, end string
	}{
		{"", 3, "", "", "", ""},
		{"abc", 3, "abc", "abc", "abc", "abc"},
		{"abcd", 3, "ab…", "abc…", "abc…", "bcd"},
		{"ééé", 3, "ééé", "é…", "é\uFFFD…", "\uFFFDé"},
		{"éééé", 3, "éé…", "é…", "é\uFFFD…", "\uFFFDé"},
	} {
		runes, bytes, valid, end := cut.Runes(c.s, c.n), cut.Bytes(c.s, c.n), cut.Valid(c.s, c.n), cut.End(c.s, c.n)
		if runes != c.runes || bytes != c.bytes || valid != c.valid || end != c.end {
			t.Errorf("%q to %d: %q, %q, %q, %q", c.s, c.n, runes, bytes, valid, end)
		}
	}
}

// What is written in pieces is kept as if it had come at once.
func TestWriters(t *testing.T) {
	t.Parallel()
	for _, pieces := range [][]string{{"abcdefg"}, {"abc", "d", "efg"}, {"abcdefg", ""}, {"ab", "cdefg"}} {
		head, tail := cut.Head{Max: 4}, cut.Tail{Max: 4}
		for _, p := range pieces {
			for _, w := range []interface{ Write([]byte) (int, error) }{&head, &tail} {
				if n, err := w.Write([]byte(p)); n != len(p) || err != nil {
					t.Errorf("%q: %d, %v", p, n, err)
				}
			}
		}
		if string(head.Kept) != "abcd" || !head.Over || string(tail.Kept) != "defg" {
			t.Errorf("%q: %q, %t, %q", pieces, head.Kept, head.Over, tail.Kept)
		}
	}
	whole := cut.Head{Max: 4}
	if _, _ = whole.Write([]byte("abcd")); whole.Over {
		t.Error("nothing more was written")
	}
}
