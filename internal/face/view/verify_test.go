package view_test

import (
	"testing"

	"waggle/internal/face/view"
	"waggle/operator/inspect"
)

func TestVerified(t *testing.T) {
	bad := inspect.BadRecord{Journal: "0123", Owner: "ann", File: "/state/ann.jsonl", Line: 3, Seq: 3, Why: "its sum is another"}
	v := &inspect.Verified{Team: "api", ID: "api-01234567", Journals: []inspect.JournalVerified{{Name: "leader", Owner: "leader", Records: 9, Head: "ab", OK: true}, {Name: "0123", Owner: "ann"}},
		Problems:     []inspect.BadRecord{bad, {Owner: "leader", Seq: 1, Why: "no end"}},
		Acknowledged: []inspect.AcknowledgedBreak{{BadRecord: bad, Lost: 2, Kept: "/state/kept", At: at(4)}}, Snapshots: 1, Recomputed: 5, NotRecomputed: 2}
	golden(t, "verified", v)
	golden(t, "verified_empty", &inspect.Verified{})
	samePage(t, "verified", view.VerifiedPage(v))
	samePage(t, "verified_empty", view.VerifiedPage(&inspect.Verified{ID: "api-01234567", OK: true}))
}
