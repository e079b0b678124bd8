package control_test

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// kinds of both journals, and an unknown one.
var kinds = []string{
	record.KindOpened, record.KindPolicy, record.KindJoined, record.KindProcess, record.KindLeft, record.KindSeen, record.KindVoted,
	record.KindDecided, record.KindCommanded, record.KindSent, record.KindClosed, record.KindUnverified, record.KindCheckpoint,
	record.KindDiverged, record.KindAcknowledged, record.KindEnded,
	record.KindAsked, record.KindSaid, record.KindAnswered, record.KindStarted, record.KindFinished, record.KindUnknown,
	record.KindApplied, record.KindTaken, "invented",
}

// fuzzed is a record as the fuzzer writes it.
type fuzzed struct {
	Kind   string
	Writer journal.Writer
	Must   bool
	Body   json.RawMessage
}

// consistentLeader checks the invariants of every fold, whatever its records were.
func consistentLeader(t *testing.T, l *control.Leader) {
	t.Helper()
	pending := map[record.Instance]int{}
	for _, r := range l.Pending() {
		pending[r.Instance]++
		if r.Decided != nil || r.State != machine.RequestPending {
			t.Fatalf("request %s is open and %s", r.ID, r.State)
		}
	}
	for _, r := range l.Requests {
		open := slices.Contains(l.Pending(), r)
		if (r.State == machine.RequestPending) != open || !open && r.Decided == nil && r.State != machine.RequestClosed {
			t.Fatalf("request %s is %s: %+v", r.ID, r.State, r)
		}
		if d := r.Decided; d != nil && (r.Order == nil || d.Digest != r.Digest || d.Key != r.Key || d.Mail == nil) {
			t.Fatalf("request %s is decided by %+v", r.ID, d)
		}
		if r.Digest != record.DigestOf(l.UID, r.Key, r.Ask) {
			t.Fatalf("request %s does not have its digest", r.ID)
		}
	}
	names := map[protocol.MemberName]bool{}
	for _, m := range l.Members {
		known := map[machine.State]bool{machine.Spawning: true, machine.Idle: true, machine.Busy: true, machine.AwaitingDecision: true,
			machine.ShutdownRequested: true, machine.Terminated: true}
		if !known[m.State()] || m.State() == machine.AwaitingDecision && pending[m.Instance] == 0 {
			t.Fatalf("member %s is %s with %d open questions", m.Name, m.State(), pending[m.Instance])
		}
		if m.Left == nil && names[m.Name] {
			t.Fatalf("two live members are called %s", m.Name)
		}
		names[m.Name] = names[m.Name] || m.Left == nil
		if m.Left != nil && slices.ContainsFunc(l.Unclosed(m.Instance), func(o *control.Order) bool { return o.Commanded != nil }) {
			t.Fatalf("the departed %s has orders", m.Name)
		}
	}
	for _, o := range l.Outbox() {
		if o.Closed || o.Mail == nil || o.Sent {
			t.Fatalf("order %d is to be sent: %+v", o.Seq, o)
		}
	}
}

// consistentWorker is consistentLeader for a worker.
func consistentWorker(t *testing.T, w *control.Worker) {
	t.Helper()
	for _, c := range w.Calls {
		if c.Started && (c.Answer == nil || c.Answer.Decision != record.DecisionAllow) {
			t.Fatalf("call %s was started and %+v", c.ID, c.Answer)
		}
		if c.Digest != record.DigestOf(w.UID, c.Key, c.Ask) || c.Open() && c.Started || c.Finished != nil && !c.Started {
			t.Fatalf("call %+v", c)
		}
	}
	switch s := w.State(); s {
	case machine.Idle, machine.Booting:
		if w.Turn() != nil || len(w.Blocking()) > 0 {
			t.Fatalf("%s with a turn or a question", s)
		}
	case machine.Executing, machine.PlanProposed:
		if w.Turn() == nil {
			t.Fatalf("%s without a turn", s)
		}
	case machine.BlockedPermission, machine.BlockedSandbox, machine.BlockedQuestion:
		if len(w.Blocking()) == 0 {
			t.Fatalf("%s by nothing", s)
		}
	case machine.ShuttingDown, machine.Terminated:
		if w.Shutdown == nil {
			t.Fatalf("%s and nobody asked for it", s)
		}
	default:
		t.Fatalf("worker is %q", s)
	}
}

// FuzzFold feeds both folds arbitrary records: they never panic, and stay consistent after each
// accepted record. Every step is called on the result.
func FuzzFold(f *testing.F) {
	seed := func(recs []journal.Record) {
		var fs []fuzzed
		for _, r := range recs {
			fs = append(fs, fuzzed{r.Kind, r.Writer, r.Must, r.Body})
		}
		b, err := json.Marshal(fs)
		testenv.Must(f, err)
		f.Add(b)
	}
	t := &testing.T{}
	w, m := fullLife(t)
	seed(w.mem.Records())
	seed(m.mem.Records())
	for _, kind := range kinds {
		for _, body := range []string{`null`, `{}`, `[]`, `{"mail":null,"task":null,"ask":null,"key":null}`,
			`{"instance":"ada-2","kind":"permission_request","id":"x","digest":"","ref":4,"what":"assigned","mail":{}}`} {
			var fs []fuzzed
			for _, r := range append(w.mem.Records()[:5:5], m.mem.Records()[:3]...) {
				fs = append(fs, fuzzed{r.Kind, r.Writer, r.Must, r.Body})
			}
			b, err := json.Marshal(append(fs, fuzzed{kind, journal.Writer{Operator: true}, true, json.RawMessage(body)},
				fuzzed{kind, journal.Writer{Instance: "ada-2", Epoch: 1}, false, json.RawMessage(body)}))
			testenv.Must(f, err)
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var fs []fuzzed
		if json.Unmarshal(data, &fs) != nil || len(fs) > 200 {
			return
		}
		var recs []journal.Record
		for _, x := range fs {
			recs = append(recs, journal.Record{Kind: x.Kind, Writer: x.Writer, Must: x.Must, Body: x.Body})
		}
		feed(t, recs)
	})
}

// feed folds records as a leader's journal and as a worker's.
func feed(t *testing.T, recs []journal.Record) (accepted int) {
	t.Helper()
	l, w := control.NewLeader(nil), control.NewWorker(nil)
	var lerr, werr error
	var ltook, wtook []journal.Record
	for i, r := range recs {
		r.V, r.Seq, r.Time = journal.Version, journal.Seq(i+1), start
		if lerr = refold(t, l, r, lerr, &ltook); lerr == nil {
			consistentLeader(t, l)
			accepted++
		}
		if werr = refold(t, w, r, werr, &wtook); werr == nil {
			consistentWorker(t, w)
			accepted++
		}
	}
	try(l, w)
	return accepted
}

// refold applies a record that is on record; after an error a fold may only repeat it, unless the record
// is set aside: then it is what it is without that one.
func refold(t *testing.T, f journal.Tentative, r journal.Record, before error, took *[]journal.Record) error {
	t.Helper()
	err := f.Apply(r)
	if before != nil && err != before {
		t.Fatalf("after %v: %v", before, err)
	}
	var te *machine.TransitionError
	if errors.As(err, &te) {
		t.Fatalf("a table fails the fold of what is on record: %v", err)
	}
	switch {
	case err == nil:
		*took = append(*took, r)
	case before == nil && f.MaySetAside(r.Kind):
		f.Reset()
		for _, r := range *took {
			if err := f.Apply(r); err != nil {
				t.Fatalf("without what was set aside: %v", err)
			}
		}
		return nil
	}
	return err
}

// TestMutatedJournals changes real journals: records dropped, doubled, moved, and their fields
// exchanged.
func TestMutatedJournals(t *testing.T) {
	w, m := fullLife(t)
	rng := rand.New(rand.NewPCG(3, 4))
	accepted := 0
	for range testenv.Scale(400, 100_000) {
		recs := slices.Clone(w.mem.Records())
		if rng.IntN(2) == 0 {
			recs = slices.Clone(m.mem.Records())
		}
		for range 1 + rng.IntN(4) {
			i, j := rng.IntN(len(recs)), rng.IntN(len(recs))
			switch rng.IntN(5) {
			case 0:
				recs = slices.Delete(recs, i, i+1)
			case 1:
				recs = slices.Insert(recs, j, recs[i])
			case 2:
				recs[i], recs[j] = recs[j], recs[i]
			default:
				recs[i].Body = crossed(t, rng, recs[i].Body, recs[j].Body)
			}
			if len(recs) == 0 {
				break
			}
		}
		accepted += feed(t, recs)
	}
	t.Logf("%d records accepted", accepted)
}

// crossed gives one field of a body a value from anywhere in another.
func crossed(t *testing.T, rng *rand.Rand, body, other json.RawMessage) json.RawMessage {
	t.Helper()
	var a, b map[string]any
	if json.Unmarshal(body, &a) != nil || json.Unmarshal(other, &b) != nil || len(a) == 0 {
		return body
	}
	values := []any{nil, "", 0.0, 1.0, -1.0, true, []any{}, map[string]any{}, "allow", "deny"}
	for _, k := range slices.Sorted(maps.Keys(b)) {
		values = append(values, b[k])
	}
	keys := slices.Sorted(maps.Keys(a))
	a[keys[rng.IntN(len(keys))]] = values[rng.IntN(len(values))]
	out, err := json.Marshal(a)
	testenv.Must(t, err)
	return out
}

// try calls every step; only that it returns matters, not its drafts.
func try(l *control.Leader, w *control.Worker) {
	mint := record.Mint{Now: start, MsgID: "00000000-0000-4000-8000-000000000001", Nonce: "0000001"}
	e := entry{id: "e", env: envelope("team-lead", `{"type":"shutdown_request","requestId":"s","from":"team-lead","timestamp":"2026-11-20T16:00:00.000Z"}`)}
	w.Receive(incoming(w.Name, e), l)
	l.See(incoming(protocol.Lead, e), w)
	l.Settle(w)
	for _, v := range append(l.Due(start), l.Ending()...) {
		_, _ = l.Decide(v, operator, mint)
	}
	for _, m := range l.Members {
		_, _ = l.Assign(m, record.Task{ID: "1"}, policy.RoleLeader, mint)
		_, _ = l.AskShutdown(m, "", policy.RoleOperator, mint)
		_, _ = l.SetMode(m, policy.ModePlan, policy.RoleOperator, operator, mint)
		l.Let(m, record.LeftDied, "")
	}
	_, _ = l.SetPolicy(l.Policy, operator, mint)
	w.Effective(l, start)
	for _, k := range []protocol.Kind{tool, plan, host} {
		_, _, _ = w.Ask(k, record.Ask{Tool: "Bash", Input: `{}`, Host: "x", Plan: "p"}, l, mint)
	}
	for _, c := range w.Calls {
		_, _ = w.Start(c.Key, w.Epoch, l, start)
		w.Finish(record.Finished{Key: c.Key})
		w.StopWaiting(c.Key, "")
	}
	w.Lost("")
	_, _ = w.Take(record.Taken{}, l)
	_, _ = w.AnswerShutdown(true, "", control.Shown{}, l, mint)
	for _, o := range l.Outbox() {
		w.Wants(o)
	}
	w.Waiting()
}
