package cli

import (
	"slices"
	"testing"

	"waggle/internal/face/tui"
	"waggle/operator/results"
)

// TestReviewInLines: a comment is on the line whose number is typed before it, else on all of it.
func TestReviewInLines(t *testing.T) {
	t.Parallel()
	r := reviewing{m: tui.Member{}, texts: map[int]string{}, diff: &results.Diff{Files: []results.FileChange{{Path: "a.txt"}},
		Text: "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n"}}
	for _, c := range []struct{ typed, says string }{
		{"7 say two", "comment on a.txt:2, +zwei: say two"},
		{"6 keep it", "comment on a.txt:2, -two: keep it"},
		{"1 why", "comment on a.txt: why"},
		{"all good", "comment on all of it: all good"},
		{"8 far", "there is no line 8: the lines are 1 to 7"},
		{"0 near", "there is no line 0: the lines are 1 to 7"},
		{"1", "no comment there"},
		{"6   ", "no comment there"},
	} {
		if got := r.comment(c.typed); got != c.says {
			t.Errorf("%q: %s", c.typed, got)
		}
	}
	if got := r.said(); !slices.Equal(got, []string{"comment on all of it: all good", "comment on a.txt:2, +zwei: say two"}) {
		t.Errorf("%q", got)
	}
	const want = "1 file, +0 -0, since \n1 diff --git a/a.txt b/a.txt\n2 --- a/a.txt\n3 +++ b/a.txt\n4 @@ -1,2 +1,2 @@\n5  one\n6 -two\n7 +zwei"
	if got := r.numbered(); got != want {
		t.Errorf("%q", got)
	}
}
