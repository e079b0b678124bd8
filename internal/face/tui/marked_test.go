package tui_test

import (
	"slices"
	"testing"

	"waggle/internal/face/tui"
	"waggle/policy"
)

// The reason of a risky part of several lines is below the last one, and no empty line is between them,
// also where the part fills a line.
func TestMarkedOverLines(t *testing.T) {
	t.Parallel()
	got := tui.Marked("rm 日本語abcdef", []policy.RiskPart{{From: 0, To: len("rm 日本語abcdef"), Why: "it deletes"}}, 14)
	want := []string{"  | rm 日本語a", "    ^^^^^^^^^^", "  + bcdef", "    ^^^^^", "    it deletes"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
