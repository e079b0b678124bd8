package view_test

import (
	"testing"

	"waggle/internal/face/view"
	"waggle/operator/decide"
	"waggle/operator/repair"
)

func TestEscalated(t *testing.T) {
	e := &decide.Escalated{ID: "plan-1", Member: "ann", Revision: 2, Digest: "ab", Changed: true, Decider: "leader"}
	golden(t, "escalated", e)
	samePage(t, "escalated", view.EscalatedPage(e))
	e.Changed = false
	samePage(t, "escalated_before", view.EscalatedPage(e))
}

func TestPlanDiff(t *testing.T) {
	const diff = "--- a\n+++ b\n@@ -1 +1 @@\n-one\n+two\n same\n"
	golden(t, "plan_diff", view.PlanDiffDocument{A: "plan-1", B: "plan-2", Diff: diff})
	golden(t, "plan_diff_same", view.PlanDiffDocument{A: "plan-1", B: "plan-2", Same: true})
	samePage(t, "plan_diff", view.DiffPage(diff))
}

func TestDivergence(t *testing.T) {
	d := &repair.Divergence{Team: "api", Seq: 9, Member: "ann", Leader: 7, Why: "it took an answer that the leader's journal does not have", Lifted: true}
	golden(t, "divergence", d)
	samePage(t, "divergence", view.DivergencePage(d))
}
