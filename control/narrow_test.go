package control_test

import (
	"errors"
	"path/filepath"
	"testing"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// TestAcknowledgedBreak: a leader's journal whose newest record contradicts the others, and may not
// be set aside, continues after the acknowledgement; only the operator's counts.
func TestAcknowledgedBreak(t *testing.T) {
	d := opened(t)
	raw(t, d, journal.Leader, journal.Draft{Kind: record.KindPolicy, Must: true, Body: record.PolicySet{Policy: policy.Policy{Version: 4}}})
	raw(t, d, journal.Leader, journal.Draft{Kind: record.KindPolicy, Must: true, Body: record.PolicySet{Policy: policy.Policy{Version: 2}}}, joined("eve"))
	b, err := d.FindBreak(journal.Leader, control.NewLeader(nil), journal.Options{})
	if err != nil || b == nil || b.Prefix != 4 || b.Records != 2 {
		t.Fatalf("break %+v, %v", b, err)
	}
	ack := journal.Draft{Kind: record.KindAcknowledged, Must: true, Body: record.Acknowledged{Break: &record.KnownBreak{Journal: journal.Leader, Seq: uint64(b.Err.Seq)}}}
	l := control.NewLeader(nil)
	err = d.Continue(t.Context(), b, filepath.Join(t.TempDir(), "kept"), l, journal.Options{}, operator, func() ([]journal.Draft, error) { return []journal.Draft{ack}, nil })
	if err != nil || l.Continued != 5 || len(l.Members) != 2 || l.Policy.Policy.Version != 4 {
		t.Fatalf("continued at %d with %d members and policy %d, %v", l.Continued, len(l.Members), l.Policy.Policy.Version, err)
	}
	ack.Body = record.Acknowledged{Break: &record.KnownBreak{Journal: "ada-1"}}
	if _, err := d.Open(journal.Leader, l, journal.Options{}); err == nil {
		t.Fatal("a fold was used twice") // it is one for a fresh journal
	}
	l = control.NewLeader(nil)
	j, err := d.Open(journal.Leader, l, journal.Options{})
	testenv.Must(t, err)
	for _, w := range []journal.Writer{{Instance: "ada-1", Epoch: 1, PID: 1}, operator} {
		if m, _ := l.Member("ada"); m.Broken {
			t.Fatal("a member acknowledged the break of its own journal")
		}
		if _, err := j.Append(t.Context(), w, func() ([]journal.Draft, error) { return []journal.Draft{ack}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if m, _ := l.Member(protocol.MemberName("ada")); !m.Broken {
		t.Error("the operator's acknowledgement is not on record")
	}
	if b, err := d.FindBreak(journal.Leader, control.NewLeader(nil), journal.Options{}); b != nil || errors.Join(err) != nil {
		t.Errorf("%+v, %v", b, err)
	}
}
