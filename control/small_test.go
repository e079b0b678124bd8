package control_test

import (
	"encoding/json"
	"slices"
	"testing"

	"waggle/control"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// TestMaySetAside: a fold that has not been opened leaves no record out, and one that is open only
// those whose absence allows nothing.
func TestMaySetAside(t *testing.T) {
	may := []string{record.KindJoined, record.KindProcess, record.KindSent, record.KindClosed, record.KindSeen, record.KindSaid}
	kinds := append([]string{record.KindOpened, record.KindPolicy, record.KindDecided, record.KindVoted, record.KindLeft, record.KindAnswered,
		record.KindAsked, record.KindStarted, record.KindApplied, record.KindUnverified, "unknown to all", ""}, may...)
	w, m := working(t, record.PolicySet{}, false)
	for _, kind := range kinds {
		if want := slices.Contains(may, kind); w.l.MaySetAside(kind) != want || m.w.MaySetAside(kind) != want {
			t.Errorf("%s: leader %v, worker %v, want %v", kind, w.l.MaySetAside(kind), m.w.MaySetAside(kind), want)
		}
		if control.NewLeader(nil).MaySetAside(kind) || control.NewWorker(nil).MaySetAside(kind) {
			t.Errorf("%s is left out before anything is known", kind)
		}
	}
}

// TestVotes: the same allow by the same principal is one vote; one under another policy or with
// another input takes its place, and none of them decides alone.
func TestVotes(t *testing.T) {
	two := record.PolicySet{Decide: record.Deciders{policy.GateTool: policy.DecideTwo}}
	w, _, r := asked(t, two, tool, bash)
	votes := func(want int) {
		t.Helper()
		n := 0
		for _, rec := range w.mem.Records() {
			if rec.Kind == record.KindVoted {
				n++
			}
		}
		if n != want || len(r.Votes) != 1 || r.Decided != nil {
			t.Fatalf("%d votes on record, want %d; %d count; decided %+v", n, want, len(r.Votes), r.Decided)
		}
	}
	v := verdict(r, true)
	for range 3 {
		if out := w.decide(v, operator); !out.Voted || out.Changed {
			t.Fatalf("%+v", out)
		}
		votes(1)
	}
	changed := v
	changed.UpdatedInput = `{"command":"go vet ./..."}`
	w.decide(changed, operator)
	votes(2)
	w.decide(changed, operator)
	votes(2)
	w.setPolicy(policy.Policy{Allow: policy.MustRules("Read")})
	w.decide(v, operator)
	votes(3)
	w.decide(v, operator)
	votes(3)
	w.setPolicy(policy.Policy{Allow: policy.MustRules("Grep")})
	w.decide(v, operator)
	votes(4)
}

// TestUnreadableMessage: the audit record of a control message that cannot be read holds what is
// wrong with it, at the leader and at a member.
func TestUnreadableMessage(t *testing.T) {
	w, m := working(t, record.PolicySet{}, false)
	const text = `{"type":"shutdown_request","requestId":7,"from":"team-lead"}`
	d := protocol.Decode(envelope("team-lead", text))
	if d.Kind != protocol.KindInvalid || len(d.Warnings) == 0 {
		t.Fatalf("%+v", d)
	}
	for who, recs := range map[string][]journal.Record{
		"the member": m.receive(m.box.put(envelope("team-lead", text), true)),
		"the leader": w.see(w.box.put(envelope("ada", text), true)),
	} {
		var u record.Unverified
		if len(recs) != 1 || json.Unmarshal(recs[0].Body, &u) != nil || u.Why != "cannot be read: "+d.Warnings[0] {
			t.Errorf("%s: %d records, %+v; want %q", who, len(recs), u, d.Warnings[0])
		}
	}
}
