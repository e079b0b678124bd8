package control_test

import (
	"fmt"
	"testing"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// history is a leader's journal of n questions, decided, sent and closed.
func history(tb testing.TB, n int) []journal.Record {
	tb.Helper()
	lead := journal.Writer{Instance: "lead", Epoch: 1}
	var recs []journal.Record
	add := func(kind string, w journal.Writer, body any) {
		recs = append(recs, recordOf(tb, len(recs)+1, kind, w, body))
	}
	add(record.KindOpened, operator, record.Opened{Team: "api", UID: uid, Instance: "lead", Name: protocol.Lead, Epoch: 1})
	add(record.KindPolicy, operator, record.PolicySet{Policy: policy.Policy{Version: 1}})
	add(record.KindJoined, operator, record.Joined{Instance: "i", Name: "ada"})
	for i := range n {
		k := record.Key{Instance: "i", Kind: tool, ID: protocol.RequestID(fmt.Sprint("perm-", i))}
		d := record.DigestOf(uid, k, bash)
		m := mailOf(protocol.KindPermissionResponse, "ada")
		m.SHA256, m.Envelope = record.HashText(string(k.ID)), []byte(`{"from":"team-lead","text":"{\"type\":\"permission_response\"}","timestamp":"2026-11-20T16:00:00.000Z"}`)
		add(record.KindSeen, lead, record.Seen{Entry: fmt.Sprint("e", i), Ref: uint64(i), Instance: "i", Kind: tool, ID: k.ID, Digest: d, Ask: &bash})
		add(record.KindDecided, operator, record.Decided{Key: k, Digest: d, Decision: record.DecisionAllow, By: policy.RoleOperator, Policy: 1, Mail: m})
		ref := uint64(len(recs))
		add(record.KindSent, lead, record.Sent{Ref: ref})
		add(record.KindClosed, lead, record.Closed{Ref: ref, Evidence: record.KindAnswered})
	}
	return recs
}

func BenchmarkFoldLeader(b *testing.B) {
	recs := history(b, 10_000)
	for b.Loop() {
		folded(b, control.NewLeader(nil), recs)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(recs)), "ns/record")
}

// BenchmarkPass measures what a leader reads in every pass, after a long history.
func BenchmarkPass(b *testing.B) {
	l := folded(b, control.NewLeader(nil), history(b, 10_000))
	for b.Loop() {
		if len(l.Due(start))+len(l.Outbox())+len(l.Unclosed("i"))+len(l.Pending()) > 0 {
			b.Fatal("something is open")
		}
		l.Vouches("i", protocol.KindPermissionResponse, "x")
	}
}

// BenchmarkSnapshot writes the fold of 100,000 records, and BenchmarkRestore reads it, as a leader
// does at the end of a long catch-up and when it starts.
func BenchmarkSnapshot(b *testing.B) {
	l := folded(b, control.NewLeader(nil), history(b, 25_000))
	size := 0
	for b.Loop() {
		s, err := l.Snapshot()
		testenv.Must(b, err)
		size = len(s)
	}
	b.ReportMetric(float64(size), "bytes")
}

func BenchmarkRestore(b *testing.B) {
	s, err := folded(b, control.NewLeader(nil), history(b, 25_000)).Snapshot()
	testenv.Must(b, err)
	for b.Loop() {
		testenv.Must(b, control.NewLeader(nil).Restore(s))
	}
}
