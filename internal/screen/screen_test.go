package screen_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/screen"
	_ "waggle/internal/test/testenv/seeded"
)

func TestLines(t *testing.T) {
	for in, want := range map[string][]string{
		"":                          nil,
		"a\nb\n":                    {"a", "b"},
		"a\n\nb":                    {"a", "", "b"},
		"\x1b[31mred\x1b[0m done\n": {"red done"},
		"10%\r50%\r100%\nok\r\n":    {"100%", "ok"},
		"a\tb\n":                    {"a       b"},
		"ab\bc\n":                   {"ac"},
		"\x1b]0;owned\x07x\x1b]52;c;aGk=\x1b\\y\n": {"xy"},
		"\x1b[2Jgone?\n": {"gone?"},
	} {
		if got := screen.Lines([]byte(in)); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestMoves(t *testing.T) {
	for in, want := range map[string]bool{
		"plain\n": false, "\x1b[1;31mred\x1b[0m": false, "10%\r20%": false, "\x1b[K": false, "\x1b[?25l": false, "\x1b[": false,
		"\x1b[2;3Hx": true, "\x1b[?1049h": true, "\x1b[1A": true, "\x1b[0m\x1b[H": true,
	} {
		if got := screen.Moves([]byte(in)); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func TestOf(t *testing.T) {
	var b strings.Builder
	b.WriteString("lost\n\x1b[?1049h\x1b[2J\x1b[c\x1b[6n") // and terminal queries, which get no answer
	for i := range 5 {
		fmt.Fprintf(&b, "\x1b[%d;3Hrow %d", i+1, i)
	}
	b.WriteString("\x1b[2;3Hnew ")
	want := []string{"  row 0", "  new 1", "  row 2", "  row 3", "  row 4"}
	if got := screen.Of([]byte(b.String()), 20, 10); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := screen.Of(nil, 20, 10); got != nil {
		t.Errorf("nothing is %q", got)
	}
}

// TestHarmless: Lines and Of return no escape, tab or line end, whatever the output has.
func TestHarmless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out := []byte(rapid.OneOf(rapid.String(), rapid.StringMatching("([a-z]|\x1b\\[[0-9;?]{0,4}[A-Za-z]|\x1b\\]0;x\x07|\n|\r|\t|\x08|\x1b.){0,40}")).Draw(t, "out"))
		for _, lines := range [][]string{screen.Lines(out), screen.Of(out, 20, 5)} {
			for _, l := range lines {
				if strings.ContainsFunc(l, func(r rune) bool { return r == 0x1b || r == '\n' || r == '\r' || r == '\t' }) {
					t.Fatalf("%q of %q", l, out)
				}
			}
		}
	})
}
