package resultview_test

import (
	"strings"
	"testing"
	"time"

	"waggle/internal/face/view/resultview"
	"waggle/operator/mail"
	"waggle/operator/results"
)

func someDiff() *results.Diff {
	return &results.Diff{Team: "api", Member: "bob", Branch: "waggle/api/bob", Path: "/w/bob", Base: "0123456789abcdef", Head: "fedcba9876543210",
		Files:       []results.FileChange{{Path: "a.go", Added: 2, Deleted: 1}, {Path: "logo.png", Binary: true}, {Path: "new.go", Added: 3}},
		Uncommitted: []string{"new.go"}, Text: "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1 +1,2 @@\n-one\n+two\n+three\n"}
}

func TestDiffViews(t *testing.T) {
	golden(t, "diff", someDiff())
	samePage(t, "diff_stat", resultview.DiffStatPage(someDiff()))
	d := *someDiff()
	d.Text = ""
	golden(t, "diff_stat", d)
	d.Files, d.More = d.Files[:1], true
	samePage(t, "diff_stat_cut", resultview.DiffStatPage(&d))
}

func TestMergedViews(t *testing.T) {
	m := &results.Merged{Team: "api", Member: "bob", Branch: "waggle/api/bob", Into: "main", How: results.HowMerge, Commit: "abc", Message: "fix it\n\nWork of bob in team api.\n", Files: []string{"a.go", "new.go"},
		Check: &results.Checked{Command: "go test ./...", Dir: "/w/bob", Tail: "ok\n", Took: 8200 * time.Millisecond}, Before: "fedcba9876543210", Result: "0123456789abcdef", Changed: true, Untouched: 2, Hooks: []string{"pre-commit", "commit-msg"}, Stopped: true, Removed: true}
	golden(t, "merged", m)
	samePage(t, "merged", resultview.MergedPage(m))
	kept := *m
	kept.Hooks, kept.Message, kept.Check, kept.Stopped, kept.Removed, kept.Kept = nil, "", nil, false, false, "as asked"
	kept.NoHooks, kept.Hooked = "bob is confined", true
	samePage(t, "merged_kept", resultview.MergedPage(&kept))
	failed := *m
	failed.Changed, failed.Removed, failed.Stopped, failed.Check = false, false, false, &results.Checked{Command: "go test ./...", Confined: true, Status: 1}
	samePage(t, "merged_failed", resultview.MergedPage(&failed))
	clash := failed
	clash.Check, clash.Conflict = nil, []string{"a.go", "b.go"}
	samePage(t, "merged_conflict", resultview.MergedPage(&clash))
	back := &results.Aborted{Team: "api", Member: "bob", Branch: "waggle/api/bob", Into: "main", At: "fedcba9876543210", Path: "/w/bob"}
	golden(t, "aborted", back)
	samePage(t, "aborted", resultview.AbortedPage(back))
	none := kept
	none.NoHooks, none.Hooked, none.Changed = "", true, false
	samePage(t, "merged_before", resultview.MergedPage(&none))
}

func TestPulledViews(t *testing.T) {
	p := &results.Pulled{Team: "api", Member: "bob", Branch: "waggle/api/bob", Into: "main", Remote: "origin", Commit: "abc", Title: "fix it", Message: "fix it\n", Files: []string{"a.go"}, URL: "https://example.com/1", Changed: true}
	golden(t, "pulled", p)
	samePage(t, "pulled", resultview.PulledPage(p))
	same(t, "pull_body.md", resultview.PullBody(results.Report{Diff: *someDiff(), Tasks: []results.Task{{ID: "1", Subject: "fix it", State: results.TaskDone}, {ID: "2", Subject: "more", State: results.TaskFailed}},
		Commits: []string{"fix it", "begin"}, Earlier: true}))
}

func TestReviewViews(t *testing.T) {
	cs := []results.Comment{{Text: "good"}, {File: "a.go", Line: 1, Deleted: true, Quoted: "-one", Text: "keep it"}, {File: "a.go", Line: 2, Quoted: "+three", Text: "why?\nreally"}, {File: "logo.png", Text: "large"}}
	golden(t, "review", resultview.ReviewDocument{Team: "api", Member: "bob", Comments: cs, Results: []mail.Sent{{To: "bob", MsgID: "m", State: mail.Queued}}})
	same(t, "review.txt", resultview.ReviewText(someDiff(), cs))
	same(t, "review_sheet.txt", resultview.ReviewSheet(someDiff()))
	if got := results.Comments(resultview.ReviewSheet(someDiff()), resultview.ReviewSheet(someDiff())); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestComparePage(t *testing.T) {
	t.Parallel()
	d := &results.Diff{Team: "api", Member: "ann", Files: []results.FileChange{{Path: "a", Added: 3, Deleted: 1}}}
	done := results.Compared{Member: "ann", Task: "fix", State: results.TaskDone, Added: 3, Deleted: 1, Files: d.Files, Check: &results.Checked{Command: "make"}}
	working, failed := done, done
	working.Task, working.State, working.Working, working.Check = "", results.TaskOpen, true, nil
	failed.Task, failed.State, failed.Check = "", results.TaskFailed, &results.Checked{Status: 2}
	cs := []results.Compared{done, working, failed}
	rows := (*resultview.ComparePage(cs)[0].Table).Rows
	for i, want := range []string{"ann done 1 3 1 passed fix", "ann working 1 3 1 - ", "ann failed 1 3 1 failed "} {
		if got := strings.Join(rows[i], " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
