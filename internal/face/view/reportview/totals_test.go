package reportview_test

import (
	"strings"
	"testing"

	"waggle/internal/face/view/reportview"
	"waggle/operator/decide"
	"waggle/operator/supervise"
	"waggle/record"
)

// TestTotals: a report begins with how many calls were allowed and denied, the plans and questions, and what all
// members have used together; without any of these the line is not there.
func TestTotals(t *testing.T) {
	used := func(micros int64) *record.Usage {
		return &record.Usage{Input: 100, CostMicros: micros, Source: record.UsageReported}
	}
	r := &supervise.Report{Requests: []supervise.RequestReport{{Tool: "Bash", Decision: "allow"}, {Host: "example.com", Decision: "deny"}, {Kind: decide.KindQuestion, Decision: "answer"},
		{Kind: decide.KindQuestion}, {Decision: "allow"}}, Members: []supervise.MemberReport{{Spent: used(1_000_000)}, {}, {Spent: used(240_000)}}}
	if got := reportview.Text(r, 0); !strings.Contains(got, "\n2 calls: 1 allowed, 1 denied; 1 plan; 2 questions; used 200 tokens, $1.24, reported\n") {
		t.Error(got)
	}
	r.Requests = append(r.Requests, supervise.RequestReport{Member: "ann", Tool: "Bash", Decision: "deny", By: "system", Closed: true, Reason: "the operator's stop of all work"})
	if got := reportview.Text(r, 0); !strings.Contains(got, "\n3 calls: 1 allowed, 1 denied, 1 closed unanswered; 1 plan") || !strings.Contains(got, "ann  closed: the operator's stop of all work  Bash") {
		t.Error(got)
	}
	if got := reportview.Text(&supervise.Report{}, 0); strings.Contains(got, "call") || strings.Contains(got, "used") {
		t.Error(got)
	}
}
