package atomicfile_test

import (
	"bytes"
	"strings"
	"testing"

	"waggle/internal/fs/atomicfile"
)

// TestSame: a file of the same length and bytes is the same; a shorter, a longer and another one are
// not, also beyond one piece.
func TestSame(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef", 9<<10) // more than two pieces
	for _, c := range []struct {
		name, was, is string
		same          bool
	}{
		{"empty", "", "", true},
		{"grown from nothing", "", "x", false},
		{"emptied", "x", "", false},
		{"short", "abc", "abc", true},
		{"longer", "abc", "abcd", false},
		{"shorter", "abc", "ab", false},
		{"another", "abc", "abd", false},
		{"long", long, long, true},
		{"long and longer", long, long + "x", false},
		{"long and shorter", long, long[:len(long)-1], false},
		{"shorter by a piece", long, long[:64<<10], false},
		{"another at the end", long, long[:len(long)-1] + "x", false},
	} {
		if same := atomicfile.Same(bytes.NewReader([]byte(c.is)), []byte(c.was)); same != c.same {
			t.Errorf("%s: the same: %v, want %v", c.name, same, c.same)
		}
	}
}
