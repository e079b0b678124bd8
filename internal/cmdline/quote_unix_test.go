//go:build unix

package cmdline_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/cmdline"
	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
)

// TestQuote: sh reads the words that were quoted, whatever is in them.
func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\nb", "it's\n'x'", "\t", "\x1b[31m", "\xff", "~", "a=b", "if", "$HOME", "`x`", "\\"})), 1, 5).
			Filter(func(ws []string) bool { return !strings.Contains(strings.Join(ws, ""), "\x00") }).Draw(t, "words")
		text, err := cmdline.Quote(words)
		testenv.Must(t, err)
		out, err := exec.Command("sh", "-c", `printf '%s\000' `+text).Output()
		if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(got, words) {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	})
	if text, err := cmdline.Quote([]string{"a", "b\x00"}); err == nil || !strings.Contains(err.Error(), "word 2") {
		t.Errorf("%q, %v", text, err)
	}
}
