package reportview_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"waggle/internal/face/view/reportview"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/supervise"
	"waggle/record"
)

// TestReportText: the report for people names all that the report holds, and nothing in it
// reaches the terminal as a command.
func TestReport(t *testing.T) {
	three := 3
	r := &supervise.Report{Team: "api", Reason: "required tasks are open", Began: at(0), Took: operator.Seconds(90 * time.Second), Sandbox: "off", State: "/state/api",
		Tasks: []supervise.TaskReport{
			{ID: "1", Subject: "done", Owner: "ann", Status: "completed", Began: at(1), Took: operator.Seconds(2345 * time.Millisecond), OutputTail: "not shown"},
			{ID: "2", Subject: "fail\x1b[2J", Owner: "bob", Status: "failed", ExitCode: &three, Why: "no luck", OutputTail: "last\twords\nof it\n"},
		},
		Requests: []supervise.RequestReport{
			{Member: "ann", Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), Decision: "allow", By: "rules", Rule: "Bash(make:*)", At: at(3), Started: true},
			{Member: "ann", Host: "example.com:443", Decision: "deny", By: "operator"},
			{Member: "bob", Decision: "allow", By: "operator"},
			{Member: "bob", Host: "example.org:443"},
		},
		Members: []supervise.MemberReport{
			{Name: "ann", PID: 7, Trust: "cooperative", Left: "handshake", Files: "/f/ann", Worktree: &supervise.WorktreeReport{Path: "/w/ann", Branch: "b", Kept: true, Why: "1 uncommitted file", Files: []string{"?? x"}}},
			{Name: "bob", Trust: string(record.Enforced), Left: "stopped", Why: "kill", Worktree: &supervise.WorktreeReport{Path: "/w/bob"}},
		},
		Overlaps: []inspect.Overlap{{File: "a.go", Members: []string{"ann", "bob"}}},
	}
	text := reportview.Text(r, 7)
	for _, want := range []string{"team api: exit 7, required tasks are open\nsandbox: off\ntook: 1m30s\n", "1  completed  ann  done (2.3s)\n", "2  failed     bob", "(exit status 3): no luck", "| last    words\n     | of it\n",
		"allow by rules (Bash(make:*))  Bash make\n", "deny  by operator  network example.com:443", "allow by operator  plan\n",
		"pid 7       cooperative, left: handshake\n", "no process  sandbox required, left: stopped: kill\n", "unanswered  network example.org:443", "files in /f/ann", "worktree kept: 1 uncommitted file: /w/ann (branch b)", "  ?? x\n", "its worktree was clean and is removed",
		"Files that several members edited\n  a.go: ann, bob\n", "\nJournals: /state/api\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
	if strings.ContainsRune(text, '\x1b') || strings.Contains(text, "not shown") {
		t.Errorf("%q", text)
	}
	if text := reportview.Text(&supervise.Report{}, 0); strings.Contains(text, "several members") {
		t.Errorf("%q", text)
	}
	same(t, "report.txt", reportview.Text(r, 7))
	r.Tasks[1].Why = "exit status 3"
	if text := reportview.Text(r, 7); !strings.Contains(text, "(exit status 3)\n") {
		t.Errorf("the exit status stands twice:\n%s", text)
	}
	r.Tasks[1].Why = "no luck"
	golden(t, "report", reportview.Of(r, 7))
	golden(t, "report_empty", reportview.Of(&supervise.Report{}, 0))
}

// TestReportSpent: the report has a member's record.Usage, with its source.
func TestReportSpent(t *testing.T) {
	u := record.Usage{Input: 1000, Output: 200, CacheRead: 30, CacheWrite: 4, CostMicros: 1_239_999, Source: record.UsageReported}
	r := &supervise.Report{Members: []supervise.MemberReport{{Name: "ann", Spent: &u}}}
	if text := reportview.Text(r, 0); !strings.Contains(text, "used 1234 tokens, $1.23, reported") || reportview.Of(r, 0).Members[0].Spent.Output != 200 {
		t.Error(text)
	}
}
