package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// A record that no correct program writes into a worker's journal is an error: the journal is not
// used any further.
func TestWorkerRecordsThatAreErrors(t *testing.T) {
	by := journal.Writer{Instance: "i", Epoch: 2}
	key := func(kind protocol.Kind, id string) record.Key {
		return record.Key{Instance: "i", Kind: kind, ID: protocol.RequestID(id)}
	}
	ask := func(k record.Key) record.Asked {
		a := map[protocol.Kind]record.Ask{tool: bash, host: {Host: "x.org"}, plan: {Plan: "one"}}[k.Kind]
		return record.Asked{Key: k, Digest: record.DigestOf(uid, k, a), Ask: a, Mail: mailOf(k.Kind, protocol.Lead)}
	}
	useBy := start.Add(time.Hour)
	answer := func(k record.Key, decision string) record.Answered {
		return record.Answered{Key: k, Digest: ask(k).Digest, Decision: decision, By: policy.RoleOperator, Leader: 7, UseBy: &useBy}
	}
	run := func(k record.Key) record.Started {
		return record.Started{Key: k, Digest: ask(k).Digest, Tool: "Bash"}
	}
	said := func(k protocol.Kind, id string) record.Said {
		return record.Said{Kind: k, ID: protocol.RequestID(id), Mail: mailOf(k, protocol.Lead)}
	}
	a, p := key(tool, "a"), key(plan, "p")
	allow := answer(a, record.DecisionAllow)
	changed := allow
	changed.UpdatedInput = `{"command":"true"}`
	ruled := record.Answered{Key: key(tool, "r"), Digest: ask(key(tool, "r")).Digest, Decision: record.DecisionAllow, By: policy.RoleRules, Ask: &bash}
	opened := tried{kind: record.KindOpened, body: record.Opened{UID: uid, Instance: "i", Name: "ada", Epoch: 2}, by: by}
	chat := tried{kind: record.KindTaken, body: record.Taken{Entries: []string{"e"}}, by: by}
	planned := tried{kind: record.KindTaken, body: record.Taken{Plan: true}, by: by}
	rec := func(kind string, body any) tried { return tried{kind: kind, body: body, by: by} }
	asks := rec(record.KindAsked, ask(a))
	allows := rec(record.KindAnswered, allow)
	starts := rec(record.KindStarted, run(a))
	leaves := rec(record.KindApplied, record.Applied{What: record.CommandShutdown, Ref: 5, ID: "s"})
	for name, c := range map[string]struct {
		words string
		tape  []tried
	}{
		"before it was opened":      {"before the journal was opened", []tried{chat}},
		"opened by epoch 0":         {"after epoch 0", []tried{{kind: record.KindOpened, body: record.Opened{UID: uid, Instance: "i"}, by: journal.Writer{Instance: "i"}}}},
		"opened by another":         {"by epoch 2", []tried{{kind: record.KindOpened, body: record.Opened{UID: uid, Instance: "j", Epoch: 2}, by: by}}},
		"opened by the same epoch":  {"after epoch 2", []tried{opened, opened}},
		"opened for another":        {"in the journal of", []tried{opened, {kind: record.KindOpened, body: record.Opened{UID: uid, Instance: "j", Epoch: 3}, by: journal.Writer{Instance: "j", Epoch: 3}}}},
		"opened for another team":   {"in the journal of", []tried{opened, {kind: record.KindOpened, body: record.Opened{UID: "x", Instance: "i", Epoch: 3}, by: journal.Writer{Instance: "i", Epoch: 3}}}},
		"by an older epoch":         {"by epoch 1", []tried{opened, {kind: record.KindTaken, body: record.Taken{}, by: journal.Writer{Instance: "i", Epoch: 1}}}},
		"by somebody else":          {`of "j"`, []tried{opened, {kind: record.KindTaken, body: record.Taken{}, by: journal.Writer{Instance: "j", Epoch: 2}}}},
		"by the operator":           {"by epoch 0", []tried{opened, {kind: record.KindTaken, body: record.Taken{}, by: operator}}},
		"a kind of the future":      {"newer waggle", []tried{opened, rec("voted", record.Decided{})}},
		"a command of the future":   {"newer waggle", []tried{opened, rec(record.KindApplied, record.Applied{What: "dance", Ref: 1})}},
		"no body":                   {"taken:", []tried{opened, rec(record.KindTaken, []int{1})}},
		"asked outside a turn":      {"outside a turn", []tried{opened, asks}},
		"asked twice":               {"asked twice", []tried{opened, chat, asks, asks}},
		"asked again, still waits":  {"asked twice", []tried{opened, chat, asks, rec(record.KindAsked, func() record.Asked { b := ask(a); b.Mail = nil; return b }())}},
		"asked without mail":        {"no message", []tried{opened, chat, rec(record.KindAsked, func() record.Asked { b := ask(a); b.Mail = nil; return b }())}},
		"asked of another digest":   {"digest", []tried{opened, chat, rec(record.KindAsked, func() record.Asked { b := ask(a); b.Ask.Cwd = "/"; return b }())}},
		"asked for another":         {`for "j"`, []tried{opened, chat, rec(record.KindAsked, ask(record.Key{Instance: "j", Kind: tool, ID: "a"}))}},
		"asked no question":         {"of kind", []tried{opened, chat, rec(record.KindAsked, record.Asked{Key: key(protocol.KindShutdownRequest, "a"), Digest: record.DigestOf(uid, key(protocol.KindShutdownRequest, "a"), record.Ask{}), Mail: mailOf(tool, protocol.Lead)})}},
		"asked while leaving":       {"shutting down", []tried{opened, chat, leaves, asks}},
		"answered, never asked":     {"never asked", []tried{opened, chat, allows}},
		"answered twice":            {"answered twice", []tried{opened, chat, asks, allows, allows}},
		"answered with nothing":     {`answer ""`, []tried{opened, chat, asks, rec(record.KindAnswered, answer(a, ""))}},
		"answered by another":       {"another request", []tried{opened, chat, asks, rec(record.KindAnswered, func() record.Answered { b := allow; b.Digest = ""; return b }())}},
		"answered with a change":    {"changed input", []tried{opened, chat, asks, rec(record.KindAnswered, changed)}},
		"stopped waiting with yes":  {"allows it", []tried{opened, chat, asks, rec(record.KindAnswered, func() record.Answered { b := allow; b.Waited = true; return b }())}},
		"ruled by the operator":     {"by other than the rules", []tried{opened, chat, rec(record.KindAnswered, func() record.Answered { b := ruled; b.By = policy.RoleOperator; return b }())}},
		"ruled by the leader's seq": {"by other than the rules", []tried{opened, chat, rec(record.KindAnswered, func() record.Answered { b := ruled; b.Leader = 3; return b }())}},
		"ruled outside a turn":      {"outside a turn", []tried{opened, rec(record.KindAnswered, ruled)}},
		"ruled twice":               {"answered twice", []tried{opened, chat, rec(record.KindAnswered, ruled), rec(record.KindAnswered, ruled)}},
		"started, never asked":      {"never asked", []tried{opened, chat, starts}},
		"started unanswered":        {"without a matching allow", []tried{opened, chat, asks, starts}},
		"started after a deny":      {"without a matching allow", []tried{opened, chat, asks, rec(record.KindAnswered, answer(a, record.DecisionDeny)), starts}},
		"started twice":             {"second start", []tried{opened, chat, asks, allows, starts, starts}},
		"started of another digest": {"another digest", []tried{opened, chat, asks, allows, rec(record.KindStarted, record.Started{Key: a, Digest: "x", Tool: "Bash"})}},
		"started as another tool":   {"another digest", []tried{opened, chat, asks, allows, rec(record.KindStarted, record.Started{Key: a, Digest: ask(a).Digest, Tool: "Read"})}},
		"started while leaving":     {"shutting down", []tried{opened, chat, asks, allows, leaves, starts}},
		"started outside a turn":    {"outside a turn", []tried{opened, chat, asks, allows, rec(record.KindSaid, said(protocol.KindIdleNotification, "")), starts}},
		"started before the plan":   {"before the plan", []tried{opened, planned, asks, allows, starts}},
		"a plan claimed unasked":    {"without a matching allow", []tried{opened, planned, rec(record.KindAsked, ask(p)), rec(record.KindStarted, record.Started{Key: p, Digest: ask(p).Digest})}},
		"a plan claimed twice":      {"second start", []tried{opened, planned, rec(record.KindAsked, ask(p)), rec(record.KindAnswered, answer(p, record.DecisionAllow)), rec(record.KindStarted, record.Started{Key: p, Digest: ask(p).Digest})}},
		"ended, never started":      {"does not run", []tried{opened, chat, asks, allows, rec(record.KindFinished, record.Finished{Key: a})}},
		"ended twice":               {"does not run", []tried{opened, chat, asks, allows, starts, rec(record.KindFinished, record.Finished{Key: a}), rec(record.KindFinished, record.Finished{Key: a})}},
		"ended and unknown":         {"does not run", []tried{opened, chat, asks, allows, starts, rec(record.KindFinished, record.Finished{Key: a}), rec(record.KindUnknown, record.UnknownEnd{Key: a})}},
		"unknown and ended":         {"does not run", []tried{opened, chat, asks, allows, starts, rec(record.KindUnknown, record.UnknownEnd{Key: a}), rec(record.KindFinished, record.Finished{Key: a})}},
		"applied twice":             {"applied twice", []tried{opened, leaves, leaves}},
		"no task":                   {"without a task", []tried{opened, rec(record.KindApplied, record.Applied{What: record.CommandAssigned, Ref: 1})}},
		"an older policy":           {"after 4", []tried{opened, rec(record.KindApplied, record.Applied{What: record.CommandPolicy, Ref: 1, Version: 4}), rec(record.KindApplied, record.Applied{What: record.CommandMode, Ref: 2, Version: 4})}},
		"taken twice":               {"while a turn runs", []tried{opened, chat, chat}},
		"taken, not assigned":       {"not assigned", []tried{opened, rec(record.KindTaken, record.Taken{Task: "1"})}},
		"taken without its plan":    {"without its plan", []tried{opened, rec(record.KindApplied, record.Applied{What: record.CommandAssigned, Ref: 1, Task: &record.Task{ID: "1", PlanRequired: true}}), rec(record.KindTaken, record.Taken{Task: "1"})}},
		"said without mail":         {"was said", []tried{opened, rec(record.KindSaid, record.Said{Kind: protocol.KindText})}},
		"said an authority":         {"was said", []tried{opened, rec(record.KindSaid, said(protocol.KindPermissionResponse, ""))}},
		"said a question":           {"was said", []tried{opened, rec(record.KindSaid, said(tool, "a"))}},
		"said with other mail":      {"was said", []tried{opened, rec(record.KindSaid, record.Said{Kind: protocol.KindText, Mail: mailOf(tool, protocol.Lead)})}},
		"approved unasked":          {"not being decided", []tried{opened, rec(record.KindSaid, said(protocol.KindShutdownApproved, "s"))}},
		"approved another":          {"not being decided", []tried{opened, leaves, rec(record.KindSaid, said(protocol.KindShutdownApproved, "t"))}},
		"approved twice":            {"not being decided", []tried{opened, leaves, rec(record.KindSaid, said(protocol.KindShutdownApproved, "s")), rec(record.KindSaid, said(protocol.KindShutdownApproved, "s"))}},
		"rejected after yes":        {"not being decided", []tried{opened, leaves, rec(record.KindSaid, said(protocol.KindShutdownApproved, "s")), rec(record.KindSaid, said(protocol.KindShutdownRejected, "s"))}},
	} {
		t.Run(name, func(t *testing.T) {
			w := control.NewWorker(nil)
			for i, r := range c.tape {
				err := w.Apply(recordOf(t, i+1, r.kind, r.by, r.body))
				if i < len(c.tape)-1 {
					if err != nil {
						t.Fatalf("record %d: %v", i+1, err)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), c.words) {
					t.Errorf("%v, want %q", err, c.words)
				}
				if again := w.Apply(recordOf(t, i+2, record.KindCheckpoint, by, nil)); again != err && !w.MaySetAside(r.kind) {
					t.Errorf("and then %v", again)
				}
			}
		})
	}
}

func TestUnknownKinds(t *testing.T) {
	for _, fold := range []journal.Fold{control.NewWorker(nil), control.NewLeader(nil)} {
		r := recordOf(t, 1, "invented", operator, nil)
		r.Must = false
		if err := fold.Apply(r); err != nil {
			t.Errorf("a kind that may be left out: %v", err)
		}
		r.Must = true
		var future *journal.FutureError
		if err := fold.Apply(r); !errors.As(err, &future) {
			t.Errorf("a kind that must be understood: %v", err)
		}
	}
}

// Records of the leader's journal: a record that its writer was not allowed to write is ignored;
// one that only a defective program writes is an error.
func TestLeaderRecords(t *testing.T) {
	lead := journal.Writer{Instance: "lead-instance", Epoch: 1}
	ada := journal.Writer{Instance: "ada-1", Epoch: 1}
	assigned := record.Commanded{What: record.CommandAssigned, Instance: "ada-1", By: policy.RoleLeader,
		Task: &record.Task{ID: "2", SHA256: record.HashText("")}, Mail: mailOf(protocol.KindTaskAssignment, "ada")}
	mode := record.Commanded{What: record.CommandMode, Instance: "ada-1", By: policy.RoleLeader, Mode: policy.ModePlan, Version: 2, Mail: mailOf(protocol.KindModeSetRequest, "ada")}
	ignored := ""
	for name, c := range map[string]struct {
		by    journal.Writer
		kind  string
		body  any
		words string // of the error; "": it is ignored
	}{
		"joined by a member":         {ada, record.KindJoined, record.Joined{Instance: "x", Name: "x"}, ignored},
		"commanded by a member":      {ada, record.KindCommanded, assigned, ignored},
		"seen by a member":           {ada, record.KindSeen, record.Seen{Entry: "e", Instance: "ada-1", Kind: protocol.KindIdleNotification}, ignored},
		"left by a member":           {ada, record.KindLeft, record.Left{Instance: "ada-1"}, ignored},
		"sent by a member":           {ada, record.KindSent, record.Sent{Ref: 5}, ignored},
		"closed by a member":         {ada, record.KindClosed, record.Closed{Ref: 5}, ignored},
		"ended by a member":          {ada, record.KindEnded, record.Ended{}, ignored},
		"policy by a member":         {ada, record.KindPolicy, record.PolicySet{Policy: policy.Policy{Version: 9}}, ignored},
		"policy by the lead":         {lead, record.KindPolicy, record.PolicySet{Policy: policy.Policy{Version: 9}}, ignored},
		"policy by an old lead":      {journal.Writer{Instance: "lead-instance"}, record.KindPolicy, record.PolicySet{}, ignored},
		"diverged by a member":       {ada, record.KindDiverged, record.Diverged{}, ignored},
		"unverified by a member":     {ada, record.KindUnverified, record.Unverified{Entry: "e"}, ignored},
		"opened by a member":         {ada, record.KindOpened, record.Opened{UID: uid, Instance: "lead-instance", Epoch: 2}, ignored},
		"process of another":         {ada, record.KindProcess, record.Process{Instance: "bob-2", Epoch: 9}, ignored},
		"acknowledged by the lead":   {lead, record.KindAcknowledged, record.Acknowledged{Ref: 1}, ignored},
		"acknowledged, nothing open": {operator, record.KindAcknowledged, record.Acknowledged{Ref: 1}, ignored},
		"commanded by a worker":      {lead, record.KindCommanded, func() record.Commanded { b := assigned; b.By = policy.RoleWorker; return b }(), ignored},
		"closed, not open":           {lead, record.KindClosed, record.Closed{Key: &record.Key{Instance: "ada-1"}}, ignored},
		"opened again":               {operator, record.KindOpened, record.Opened{UID: uid, Instance: "lead-instance", Epoch: 1}, "epoch 1 after epoch 1"},
		"opened for another team":    {operator, record.KindOpened, record.Opened{UID: "x", Instance: "lead-instance", Epoch: 2}, "in the journal of"},
		"policy of the same version": {operator, record.KindPolicy, record.PolicySet{Policy: policy.Policy{Version: 1}}, "after 1"},
		"joined twice":               {operator, record.KindJoined, record.Joined{Instance: "ada-1", Name: "eve"}, "cannot join"},
		"joined as the lead":         {operator, record.KindJoined, record.Joined{Instance: "lead-instance", Name: "eve"}, "cannot join"},
		"joined as nobody":           {operator, record.KindJoined, record.Joined{Name: "eve"}, "cannot join"},
		"joined under a live name":   {operator, record.KindJoined, record.Joined{Instance: "x", Name: "ada"}, "joined twice"},
		"process of nobody":          {lead, record.KindProcess, record.Process{Instance: "x", Epoch: 1}, "unknown instance"},
		"process of an old epoch":    {ada, record.KindProcess, record.Process{Instance: "ada-1", Epoch: 1}, "not newer"},
		"left by nobody":             {lead, record.KindLeft, record.Left{Instance: "x"}, "unknown instance"},
		"seen from nobody":           {lead, record.KindSeen, record.Seen{Entry: "e", Instance: "x"}, "unknown instance"},
		"seen without its question":  {lead, record.KindSeen, record.Seen{Entry: "e", Instance: "ada-1", Kind: tool, ID: "x", Digest: "d"}, "digest"},
		"seen of another digest":     {lead, record.KindSeen, record.Seen{Entry: "e", Instance: "ada-1", Kind: tool, ID: "x", Digest: "d", Ask: &bash}, "digest"},
		"command to nobody":          {lead, record.KindCommanded, func() record.Commanded { b := assigned; b.Instance = "x"; return b }(), "no member"},
		"command without mail":       {lead, record.KindCommanded, func() record.Commanded { b := assigned; b.Mail = nil; return b }(), "without its message"},
		"command with other mail": {lead, record.KindCommanded, func() record.Commanded {
			b := assigned
			b.Mail = mailOf(protocol.KindPermissionResponse, "ada")
			return b
		}(), "without its message"},
		"command to another box":  {lead, record.KindCommanded, func() record.Commanded { b := assigned; b.Mail = mailOf(protocol.KindTaskAssignment, "bob"); return b }(), "without its message"},
		"command of the future":   {lead, record.KindCommanded, record.Commanded{What: "dance", Instance: "ada-1", Mail: mailOf(protocol.KindTaskAssignment, "ada")}, "newer waggle"},
		"assigned without a task": {lead, record.KindCommanded, func() record.Commanded { b := assigned; b.Task = nil; return b }(), "without its task"},
		"assigned other words": {lead, record.KindCommanded, func() record.Commanded {
			b := assigned
			b.Task = &record.Task{ID: "2", Instructions: "x", SHA256: record.HashText("y")}
			return b
		}(), "without its task"},
		"an older mode":          {lead, record.KindCommanded, func() record.Commanded { b := mode; b.Version = 1; return b }(), "after 1"},
		"an unknown mode":        {lead, record.KindCommanded, func() record.Commanded { b := mode; b.Mode = "yolo"; return b }(), "yolo"},
		"news of another policy": {lead, record.KindCommanded, func() record.Commanded { b := mode; b.What, b.Version = record.CommandPolicy, 7; return b }(), "version 1 is in force"},
		"sent, not ordered":      {lead, record.KindSent, record.Sent{Ref: 999}, "no order"},
		"closed, not ordered":    {lead, record.KindClosed, record.Closed{Ref: 999}, "no order"},
		"no body":                {lead, record.KindSent, []int{}, "sent:"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := working(t, record.PolicySet{}, false)
			w.join("bob", false)
			before := len(w.l.Ignored)
			_, err := w.j.Append(context.Background(), journal.Writer{Instance: c.by.Instance, Operator: c.by.Operator, Epoch: c.by.Epoch},
				func() ([]journal.Draft, error) { return []journal.Draft{{Kind: c.kind, Must: true, Body: c.body}}, nil })
			var stale *journal.StaleError
			switch {
			case errors.As(err, &stale):
				t.Fatal("the journal refused it before the fold did")
			case c.words == ignored && (err != nil || len(w.l.Ignored) != before+1 || w.l.Ignored[before].Why == ""):
				t.Errorf("%v, ignored %v", err, w.l.Ignored)
			case c.words != ignored && (err == nil || !strings.Contains(err.Error(), c.words)):
				t.Errorf("%v, want %q", err, c.words)
			}
			goesOn(t, w.j, w.mem, w.l, control.NewLeader(nil))
		})
	}
}

// A record that is there already has no second effect.
func TestDoubledRecords(t *testing.T) {
	w, m := fullLife(t)
	n := 0
	again := func(kind string, body any) {
		t.Helper()
		w.append(operator, kind, body)
		if n++; len(w.l.Ignored) != n {
			t.Errorf("%s: ignored %v", kind, w.l.Ignored)
		}
	}
	again(record.KindSeen, record.Seen{Entry: w.box.entries[0].id, Instance: m.instance, Kind: protocol.KindIdleNotification})
	again(record.KindUnverified, record.Unverified{Entry: w.box.entries[0].id})
	again(record.KindVoted, record.Decided{Key: w.l.Requests[0].Key})
	again(record.KindClosed, record.Closed{Ref: uint64(w.l.Requests[0].Order.Seq)})
	for range 2 {
		w.append(operator, record.KindLeft, record.Left{Instance: m.instance, How: record.LeftHandshake})
		w.append(operator, record.KindEnded, record.Ended{How: "run"})
		w.append(operator, record.KindDiverged, record.Diverged{Instance: m.instance})
	}
	if n += 3; len(w.l.Ignored) != n || w.l.Ended.How != "run" {
		t.Errorf("ignored %v", w.l.Ignored)
	}
	w, _, r := asked(t, record.PolicySet{}, tool, bash)
	w.append(operator, record.KindVoted, record.Decided{Key: r.Key, Digest: r.Digest, Decision: record.DecisionAllow, By: policy.RoleOperator, Policy: 1})
	if len(r.Votes) != 0 || len(w.l.Ignored) != 1 {
		t.Errorf("a vote where none is taken: %+v", r.Votes)
	}
	if rs := w.l.RequestsByID(r.ID); len(rs) != 1 || rs[0] != r || w.l.RequestsByID("else") != nil {
		t.Errorf("%v", rs)
	}
}

// A journal that begins with anything else than its opening is not used.
func TestLeaderBeginsWithOpened(t *testing.T) {
	for _, r := range []journal.Record{
		recordOf(t, 1, record.KindPolicy, journal.Writer{}, record.PolicySet{Policy: policy.Policy{Version: 1}}),
		recordOf(t, 1, record.KindOpened, operator, record.Opened{Instance: "i", Epoch: 1}),
		recordOf(t, 1, record.KindOpened, operator, record.Opened{UID: uid, Epoch: 1}),
		recordOf(t, 1, record.KindOpened, operator, record.Opened{UID: uid, Instance: "i"}),
	} {
		l := control.NewLeader(nil)
		if err := l.Apply(r); err == nil {
			t.Errorf("%s %s was folded", r.Kind, r.Body)
		}
	}
}

func TestDivergence(t *testing.T) {
	w, m, r := asked(t, record.PolicySet{}, tool, bash)
	k2 := m.ask(host, record.Ask{Host: "x.org"})
	w.round()
	w.decide(verdict(r, true), operator)
	w.round()
	// The leader's journal is restored from an older copy: the decision is missing.
	recs := w.mem.Records()
	w.mem = journal.NewMemory(string(uid), journal.Leader, func() time.Time { return w.now })
	w.restart()
	for _, rec := range recs {
		if rec.Kind == record.KindDecided {
			break
		}
		w.append(rec.Writer, rec.Kind, json.RawMessage(rec.Body))
	}
	w.settle()
	if w.l.Divergence == nil || w.l.Divergence.Instance != m.instance {
		t.Fatal("nobody noticed")
	}
	d := w.l.Divergence
	w.settle()
	if w.l.Divergence != d {
		t.Error("noticed twice")
	}
	q := w.request(k2)
	if out := w.decide(verdict(q, true), operator); !errors.Is(out.Refusal, control.ErrDiverged) || out.Drafts != nil {
		t.Errorf("decided while the journals disagree: %+v", out)
	}
	w.append(operator, record.KindDecided, record.Decided{Key: q.Key, Digest: q.Digest, Decision: record.DecisionAllow, By: policy.RoleOperator, Policy: 1,
		Mail: mailOf(protocol.KindSandboxPermissionResponse, "ada")})
	if q.Decided != nil {
		t.Error("a decision on record counts while the journals disagree")
	}
	w.append(w.lead(), record.KindAcknowledged, record.Acknowledged{Ref: uint64(d.Seq)})
	if w.l.Divergence == nil {
		t.Error("the lead acknowledged it")
	}
	w.append(operator, record.KindAcknowledged, record.Acknowledged{Ref: uint64(d.Seq)})
	w.settle()
	if w.l.Divergence != nil {
		t.Error("what the operator has looked at diverges again")
	}
	if out := w.decide(verdict(q, false), operator); !out.Changed {
		t.Errorf("%+v", out)
	}
	// A command that is not here diverges too.
	w2, m2 := working(t, record.PolicySet{}, false)
	recs = w2.mem.Records()
	w2.mem = journal.NewMemory(string(uid), journal.Leader, func() time.Time { return w2.now })
	w2.restart()
	for _, rec := range recs {
		if rec.Kind == record.KindCommanded {
			break
		}
		w2.append(rec.Writer, rec.Kind, json.RawMessage(rec.Body))
	}
	w2.settle()
	if w2.l.Divergence == nil || w2.l.Divergence.Instance != m2.instance {
		t.Error("nobody noticed a command")
	}
}

func TestTakingWork(t *testing.T) {
	w := newWorld(t, record.PolicySet{}, nil)
	m := w.join("ada", true)
	if _, err := m.w.Take(record.Taken{Task: "1"}, m.lead); err == nil {
		t.Error("a task was taken that nobody assigned")
	}
	// Chat that a plan is required of begins with a plan as well (W2).
	m.do(func() ([]journal.Draft, error) { return m.w.Take(record.Taken{Entries: []string{"e"}}, m.lead) })
	m.is(t, machine.PlanProposed)
	if _, err := m.w.Take(record.Taken{Entries: []string{"f"}}, m.lead); err == nil {
		t.Error("work was taken while a turn runs")
	}
	m.idle()
	m.idle() // a repeated notice is harmless
	// The same task, assigned twice before it is taken, is done once.
	w.assign(m, record.Task{ID: "1", Instructions: "old"})
	w.assign(m, record.Task{ID: "1", Instructions: "new"})
	w.round()
	if next := nextTask(m.w); next.Instructions != "new" {
		t.Fatalf("%+v", next)
	}
	m.take()
	// A task that is assigned again while it runs is done again.
	w.assign(m, record.Task{ID: "1", Instructions: "newer"})
	w.round()
	m.is(t, machine.PlanProposed)
	m.idle()
	lm, _ := w.l.Member("ada")
	w.round()
	if lm.Turns["1"] != nil {
		t.Error("the end of the older turn was taken for the newer one's")
	}
	if next := nextTask(m.w); next == nil || next.Instructions != "newer" {
		t.Fatalf("%+v", next)
	}
	m.take()
	m.idle()
	w.round()
	if lm.Turns["1"] == nil || nextTask(m.w) != nil || lm.State() != machine.Idle {
		t.Errorf("turns %v, next %+v, %s", lm.Turns, nextTask(m.w), lm.State())
	}
	// A task that requires no plan starts without one.
	bob := w.join("bob", false)
	w.assign(bob, record.Task{ID: "2", PlanRequired: true})
	w.assign(bob, record.Task{ID: "3"})
	w.round()
	bob.take()
	bob.is(t, machine.PlanProposed)
	bob.idle()
	bob.take()
	bob.is(t, machine.Executing)
}

func TestSupersededProcess(t *testing.T) {
	_, m := working(t, record.PolicySet{Policy: policy.Policy{Allow: policy.MustRules("Bash")}}, false)
	k := m.ask(tool, bash)
	old, writer := m.w, m.writer()
	oldHandle := m.mem.Open(control.NewWorker(nil))
	m.boot()
	if _, err := m.w.Open(record.Opened{UID: uid, Instance: m.instance, Epoch: m.epoch}); !errors.Is(err, control.ErrSuperseded) {
		t.Errorf("the same epoch opens again: %v", err)
	}
	if _, err := m.w.Start(k, writer.Epoch, m.lead, m.now); err == nil {
		t.Error("an older process starts a call")
	}
	// The old process continues with an old fold: its append fails.
	_, err := oldHandle.Append(context.Background(), writer, func() ([]journal.Draft, error) { return old.Start(k, writer.Epoch, m.lead, m.now) })
	var stale *journal.StaleError
	if !errors.As(err, &stale) {
		t.Errorf("an older process appends: %v", err)
	}
}

// TestPrefixes folds every prefix of both journals and then the rest: the state is that of folding
// the whole. After a crash at any record, orders that are not sent are in the outbox again (trust
// §4).
func TestPrefixes(t *testing.T) {
	w, m := fullLife(t)
	recs := w.mem.Records()
	whole := folded(t, control.NewLeader(nil), recs)
	if d := cmp.Diff(w.l, whole, sameFold); d != "" {
		t.Errorf("steps changed the leader's fold: %s", d)
	}
	for n := range recs {
		l := folded(t, control.NewLeader(nil), recs[:n])
		want := map[uint64]bool{}
		for _, r := range recs[:n] {
			var b struct {
				Mail *record.Mail
				Ref  uint64
			}
			testenv.Must(t, json.Unmarshal(r.Body, &b))
			switch {
			case b.Mail != nil:
				want[uint64(r.Seq)] = true
			case r.Kind == record.KindSent:
				delete(want, b.Ref)
			}
		}
		got := map[uint64]bool{}
		for _, o := range l.Outbox() {
			got[uint64(o.Seq)] = true
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("after %d records: %s", n, d)
		}
		if d := cmp.Diff(whole, folded(t, l, recs[n:]), sameFold); d != "" {
			t.Errorf("leader, cut at %d: %s", n, d)
		}
	}
	recs = m.mem.Records()
	all := folded(t, control.NewWorker(nil), recs)
	if d := cmp.Diff(m.w, all, sameFold); d != "" {
		t.Errorf("steps changed the worker's fold: %s", d)
	}
	for n := range recs {
		if d := cmp.Diff(all, folded(t, folded(t, control.NewWorker(nil), recs[:n]), recs[n:]), sameFold); d != "" {
			t.Errorf("worker, cut at %d: %s", n, d)
		}
	}
}

// TestEveryEntryIsOwned: exactly the entries that were answered, applied, taken, seen or found
// unverified are owned.
func TestEveryEntryIsOwned(t *testing.T) {
	w, m := fullLife(t)
	for _, e := range m.box.entries {
		if !m.w.Owns(e.id) {
			t.Errorf("the worker does not own %s", e.env.Text)
		}
	}
	for _, e := range w.box.entries {
		if !w.l.Owns(e.id) {
			t.Errorf("the leader does not own %s", e.env.Text)
		}
	}
	if m.w.Owns("") || m.w.Owns("else") || w.l.Owns("else") {
		t.Error("owns what it never saw")
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	at := start
	r := &control.Request{Key: record.Key{ID: "perm-1"}, Expires: &at, At: start, Decided: &record.Decided{Decision: "allow", By: policy.RoleOperator}}
	for want, err := range map[string]error{
		"request perm-1 was already decided: allow by operator at 2026-11-20T16:00:00.000Z":          &control.DecidedError{Request: r},
		"request perm-1 expired at 2026-11-20T16:00:00.000Z and is denied; the worker may ask again": &control.ExpiredError{Request: r},
		"request perm-1 has digest 0123456789abcdef, not ff: look at it again before you decide":     &control.DigestError{ID: "perm-1", Want: "ff", Have: "0123456789abcdef0"},
		`no request "perm-2"; did you mean perm-1, perm-3?`:                                          &control.UnknownRequestError{ID: "perm-2", Near: []string{"perm-1", "perm-3"}},
		`no request "perm-2"`: &control.UnknownRequestError{ID: "perm-2"},
		`worker ada: no transition from "idle" to "executing" on "answered"`: &machine.TransitionError{Machine: "worker ada", From: machine.Idle, To: machine.Executing, On: machine.EvAnswered},
	} {
		if fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A task belongs to the member of its newest assignment, and only a process of the operator assigns
// in the operator's name.
func TestAssignment(t *testing.T) {
	w := newWorld(t, record.PolicySet{}, nil)
	ada, bob := w.join("ada", false), w.join("bob", false)
	w.assign(ada, record.Task{ID: "7"})
	w.assign(ada, record.Task{ID: "3"})
	assign := func(by journal.Writer, as policy.Role) {
		w.do(by, func() ([]journal.Draft, error) {
			m, _ := w.l.ByInstance(bob.instance)
			return w.l.Assign(m, record.Task{ID: "7", Instructions: "anew"}, as, w.mint())
		})
	}
	assign(w.lead(), policy.RoleOperator)
	if o, ok := w.l.Assignment("7"); !ok || o.Instance != ada.instance || len(w.l.Ignored) != 1 {
		t.Errorf("the lead assigned in the operator's name: %+v, ignored %v", o, w.l.Ignored)
	}
	w.round()
	assign(operator, policy.RoleOperator)
	w.round()
	if o, ok := w.l.Assignment("7"); !ok || o.Instance != bob.instance || o.Commanded.Task.Instructions != "anew" {
		t.Errorf("%+v", o)
	}
	if next := nextTask(bob.w); next == nil || next.ID != "7" {
		t.Errorf("bob did not take the order: %+v", next)
	}
	var ids []string
	for _, o := range w.l.Assignments() {
		ids = append(ids, o.Commanded.Task.ID)
	}
	if _, ok := w.l.Assignment("9"); ok || !slices.Equal(ids, []string{"3", "7"}) {
		t.Errorf("assigned: %v, 9 %v", ids, ok)
	}
}

// goesOn makes sure that a journal whose fold has refused a draft is as good as before,
// and that a fresh fold is what its own is.
func goesOn(t *testing.T, j journal.Journal, mem *journal.Memory, fold, fresh any) {
	t.Helper()
	if err := j.Refresh(context.Background()); err != nil {
		t.Fatalf("the journal after what was refused: %v", err)
	}
	if d := cmp.Diff(fold, folded(t, fresh.(journal.Fold), mem.Records()), sameFold); d != "" {
		t.Errorf("the fold holds what is not on record: %s", d)
	}
}
