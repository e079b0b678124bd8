package control_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle"
	"waggle/control"
	"waggle/journal"
	"waggle/policy"
)

// tried is a record that would move a machine, and its event.
type tried struct {
	on   control.Event
	kind string
	body any
	by   journal.Writer
}

// explored is what exploring a machine found.
type explored struct {
	rows    map[control.Transition]bool
	states  map[control.State]bool
	refused map[string]bool // "state: event" that only the table refused
}

// explore applies every move to every reachable state, and checks each against the table: a move
// without a row is refused, or changes nothing and is not observed.
func explore(t *testing.T, machine string, table []control.Transition, open func(control.Observer) (journal.Fold, func() control.State),
	signature func(journal.Fold) string, moves func([]tried) []tried, depth int) explored {
	t.Helper()
	rows := map[string]bool{}
	for _, row := range table {
		rows[fmt.Sprint(row.From, row.On)] = true
	}
	ex := explored{map[control.Transition]bool{}, map[control.State]bool{}, map[string]bool{}}
	seen := map[string]bool{}
	frontier := [][]tried{nil}
	for range depth {
		var next [][]tried
		for _, path := range frontier {
			for _, m := range moves(path) {
				var last []control.Observation
				fold, state := open(func(o control.Observation) {
					if o.Machine == machine {
						last = append(last, o)
					}
				})
				for i, p := range path {
					if err := fold.Apply(record(t, i+1, p.kind, p.by, p.body)); err != nil {
						t.Fatalf("replay: %v", err)
					}
				}
				from := state()
				last = nil
				err := fold.Apply(record(t, len(path)+1, m.kind, m.by, m.body))
				ex.states[from] = true
				var te *control.TransitionError
				if errors.As(err, &te) {
					ex.refused[fmt.Sprintf("%s: %s", te.From, te.On)] = true
				}
				if err != nil {
					if again := fold.Apply(record(t, len(path)+2, control.RecCheckpoint, m.by, nil)); again == nil {
						t.Errorf("%s from %s: the fold goes on after %v", m.on, from, err)
					}
					continue
				}
				if !rows[fmt.Sprint(from, m.on)] && !(len(last) == 1 && alias(m.on, last[0].On)) && (len(last) > 0 || state() != from) {
					t.Errorf("%s from %s leads to %s, and no row has it", m.on, from, state())
				}
				switch {
				case len(last) > 1:
					t.Errorf("%s from %s: one record, %d transitions", m.on, from, len(last))
				case len(last) == 0 && state() != from:
					t.Errorf("%s from %s leads to %s and nobody was told", m.on, from, state())
				case len(last) == 1:
					o := last[0]
					ex.rows[control.Transition{Row: o.Row, From: o.From, On: o.On, To: o.To}] = true
					if o.From != from || o.On != m.on && o.On != "" && !alias(m.on, o.On) || o.To != state() {
						t.Errorf("%s from %s to %s was reported as %+v", m.on, from, state(), o)
					}
				}
				if sig := signature(fold); !seen[sig] {
					seen[sig] = true
					next = append(next, append(slices.Clone(path), m))
				}
			}
		}
		frontier = next
	}
	if len(frontier) > 0 {
		t.Errorf("%d states are not explored to their end: go deeper", len(frontier))
	}
	t.Logf("%d states in detail, %d of %d rows", len(seen), len(ex.rows), len(table))
	for _, row := range table {
		if !ex.rows[row] {
			t.Errorf("row %s: %s --%s--> %s is reached by nothing", row.Row, row.From, row.On, row.To)
		}
	}
	return ex
}

// alias lists records that have another event in some states: a second shutdown is only one more
// command, a late answer to a plan is only an answer.
func alias(tried, seen control.Event) bool {
	return tried == control.EvShutdownAsked && seen == control.EvApplied ||
		(tried == control.EvPlanApproved || tried == control.EvPlanRejected) && seen == control.EvAnswered
}

func mailOf(k waggle.Kind, to waggle.MemberName) *control.Mail {
	return &control.Mail{To: to, Kind: k, SHA256: "x", Envelope: []byte(`{}`)}
}

// workerMoves is one record for everything that can happen to a worker. Two tool
// calls, two hosts and one plan are enough to be blocked in every way.
func workerMoves(path []tried) []tried {
	epoch, ref := uint64(1), uint64(len(path)+1)
	for _, p := range path {
		if p.kind == control.RecOpened {
			epoch = p.by.Epoch + 1
		}
	}
	by := journal.Writer{Instance: "i", Epoch: max(epoch-1, 1)}
	opener := journal.Writer{Instance: "i", Epoch: epoch}
	var ms []tried
	add := func(on control.Event, kind string, body any) { ms = append(ms, tried{on, kind, body, by}) }
	first := control.EvReopened
	if len(path) == 0 {
		first = control.EvReady
	}
	if epoch <= 2 {
		ms = append(ms, tried{first, control.RecOpened, control.Opened{Team: "t", UID: uid, Instance: "i", Name: "ada", Epoch: epoch}, opener})
	}
	add(control.EvTaken, control.RecTaken, control.Taken{Entries: []string{"e"}})
	add(control.EvTakenPlan, control.RecTaken, control.Taken{Plan: true})
	useBy := start.Add(time.Hour)
	for _, q := range []struct {
		id  string
		k   waggle.Kind
		on  control.Event
		ask control.Ask
	}{
		{"a", tool, control.EvAskedTool, bash}, {"b", tool, control.EvAskedTool, bash},
		{"h", host, control.EvAskedHost, control.Ask{Host: "x.org"}}, {"g", host, control.EvAskedHost, control.Ask{Host: "x.org"}}, {"p", plan, control.EvAskedPlan, control.Ask{Plan: "do it"}},
	} {
		k := control.Key{Instance: "i", Kind: q.k, ID: waggle.RequestID(q.id)}
		d := control.DigestOf(uid, k, q.ask)
		add(q.on, control.RecAsked, control.Asked{Key: k, Digest: d, Ask: q.ask, Mail: mailOf(q.k, waggle.Lead)})
		yes, no := control.EvAnswered, control.EvAnswered
		if q.k == plan {
			yes, no = control.EvPlanApproved, control.EvPlanRejected
		}
		add(yes, control.RecAnswered, control.Answered{Key: k, Digest: d, Decision: control.DecisionAllow, By: policy.RoleOperator, Leader: 9, UseBy: &useBy})
		if q.k == tool {
			add(control.EvDenied, control.RecAnswered, control.Answered{Key: k, Digest: d, Decision: control.DecisionDeny, By: policy.RoleOperator, Leader: 9})
		}
		if q.k == plan {
			add(no, control.RecAnswered, control.Answered{Key: k, Digest: d, Decision: control.DecisionDeny, By: policy.RoleOperator, Leader: 9})
			add(no, control.RecAnswered, control.Answered{Key: k, Digest: d, Decision: control.DecisionDeny, By: policy.RoleSystem, Waited: true})
			add(control.EvPlanApproved, control.RecStarted, control.Started{Key: k, Digest: d})
		}
	}
	add(control.EvTurnEnded, control.RecSaid, control.Said{Kind: waggle.KindIdleNotification, Mail: mailOf(waggle.KindIdleNotification, waggle.Lead)})
	add(control.EvTurnFailed, control.RecSaid, control.Said{Kind: waggle.KindIdleNotification, Failed: true, Mail: mailOf(waggle.KindIdleNotification, waggle.Lead)})
	add(control.EvUnverified, control.RecUnverified, control.Unverified{Entry: fmt.Sprint("u", len(path))})
	add(control.EvApplied, control.RecApplied, control.Applied{What: control.CommandAssigned, Ref: ref, Task: &control.Task{ID: "1"}})
	add(control.EvShutdownAsked, control.RecApplied, control.Applied{What: control.CommandShutdown, Ref: ref, ID: "s"})
	add(control.EvShutdownApproved, control.RecSaid, control.Said{Kind: waggle.KindShutdownApproved, ID: "s", Mail: mailOf(waggle.KindShutdownApproved, waggle.Lead)})
	add(control.EvShutdownRejected, control.RecSaid, control.Said{Kind: waggle.KindShutdownRejected, ID: "s", Mail: mailOf(waggle.KindShutdownRejected, waggle.Lead)})
	return ms
}

func TestWorkerTable(t *testing.T) {
	ex := explore(t, control.MachineWorker, control.WorkerTable,
		func(o control.Observer) (journal.Fold, func() control.State) {
			w := control.NewWorker(o)
			return w, w.State
		},
		func(f journal.Fold) string {
			w := f.(*control.Worker)
			var calls []string // tool calls and hosts show all they can while they block
			for _, c := range w.Calls {
				if c.Kind == plan {
					calls = append(calls, fmt.Sprint(c.ID, c.Open(), c.Answer != nil && c.Answer.Decision == control.DecisionAllow))
				}
			}
			var waits []string
			for _, c := range w.Blocking() {
				waits = append(waits, fmt.Sprint(c.ID, c.Kind == plan && c.Epoch < w.Epoch))
			}
			return fmt.Sprint(w.State(), w.Epoch, w.Turn() != nil, w.Turn() != nil && w.Turn().Plan, w.Shutdown != nil, calls, waits)
		},
		func(path []tried) []tried {
			ms := workerMoves(path)
			if len(path) > 0 {
				return slices.DeleteFunc(ms, func(m tried) bool { return wasteful(path, m) })
			}
			return ms
		}, 14)
	if d := cmp.Diff([]string{
		"shutting_down: work taken", "shutting_down: work taken, plan required",
		"terminated: work taken", "terminated: work taken, plan required",
	}, slices.Sorted(maps.Keys(ex.refused))); d != "" {
		t.Errorf("what only the table refuses: %s", d)
	}
	for _, s := range states(control.WorkerTable) {
		if !ex.states[s] {
			t.Errorf("state %s was never tried", s)
		}
	}
}

// wasteful drops moves that only reach the same states again: one restart and one second shutdown
// are enough, and so are two requests of one kind when nothing else was asked.
func wasteful(path []tried, m tried) bool {
	n := map[control.Event]int{}
	for _, p := range path {
		n[p.on]++
	}
	second := func(b any) bool {
		a, ok := b.(control.Asked)
		return ok && (a.ID == "b" || a.ID == "g")
	}
	alone := n[control.EvAskedTool] == 0 && n[control.EvAskedPlan] == 0 || n[control.EvAskedHost] == 0 && n[control.EvAskedPlan] == 0
	if second(m.body) && (!alone || n[m.on] == 0) || m.kind == control.RecAsked && slices.ContainsFunc(path, func(p tried) bool { return second(p.body) && p.on != m.on }) {
		return true
	}
	switch m.on {
	case control.EvReopened:
		return n[m.on] > 0
	case control.EvShutdownAsked:
		return n[m.on] > 1
	case control.EvTaken, control.EvTakenPlan:
		return n[control.EvTaken]+n[control.EvTakenPlan] > 0
	}
	return false
}

func states(table []control.Transition) []control.State {
	var ss []control.State
	for _, row := range table {
		for _, s := range []control.State{row.From, row.To} {
			if s != "" && !slices.Contains(ss, s) {
				ss = append(ss, s)
			}
		}
	}
	return ss
}

func leaderMoves(path []tried) []tried {
	by := journal.Writer{Instance: "lead", Epoch: 1}
	var ms []tried
	add := func(on control.Event, kind string, body any) { ms = append(ms, tried{on, kind, body, by}) }
	n := len(path)
	seen := func(k waggle.Kind, id waggle.RequestID) control.Seen {
		return control.Seen{Entry: fmt.Sprint("e", n), Ref: uint64(n), Instance: "i", Kind: k, ID: id}
	}
	add(control.EvJoined, control.RecJoined, control.Joined{Instance: "i", Name: "ada", Trust: control.Cooperative})
	add(control.EvProcess, control.RecProcess, control.Process{Instance: "i", Epoch: uint64(n + 1)})
	add(control.EvIdle, control.RecSeen, seen(waggle.KindIdleNotification, ""))
	add(control.EvWork, control.RecCommanded, control.Commanded{What: control.CommandAssigned, Instance: "i", By: policy.RoleLeader,
		Task: &control.Task{ID: "1", SHA256: control.HashText("")}, Mail: mailOf(waggle.KindTaskAssignment, "ada")})
	for _, id := range []waggle.RequestID{"a", "b"} {
		k := control.Key{Instance: "i", Kind: tool, ID: id}
		d := control.DigestOf(uid, k, bash)
		s := seen(tool, id)
		s.Digest, s.Ask = d, &bash
		add(control.EvAsked, control.RecSeen, s)
		ms = append(ms, tried{control.EvDecided, control.RecDecided, control.Decided{Key: k, Digest: d, Decision: control.DecisionDeny,
			By: policy.RoleOperator, Policy: 1, Mail: mailOf(waggle.KindPermissionResponse, "ada")}, operator})
		add(control.EvRequestDropped, control.RecClosed, control.Closed{Key: &k, Evidence: "withdrawn"})
	}
	add(control.EvShutdownSent, control.RecCommanded, control.Commanded{What: control.CommandShutdown, Instance: "i", ID: "s", By: policy.RoleLeader,
		Mail: mailOf(waggle.KindShutdownRequest, "ada")})
	add(control.EvShutdownYes, control.RecSeen, seen(waggle.KindShutdownApproved, "s"))
	add(control.EvShutdownNo, control.RecSeen, seen(waggle.KindShutdownRejected, "s"))
	add(control.EvGone, control.RecLeft, control.Left{Instance: "i", How: control.LeftDied})
	var epoch uint64
	for i, p := range path {
		if p.on == control.EvProcess {
			epoch = uint64(i + 1)
		}
	}
	add(control.EvDied, control.RecDied, control.Died{Instance: "i", Epoch: epoch})
	return ms
}

func TestLeaderTable(t *testing.T) {
	ex := explore(t, control.MachineLeader, control.LeaderTable,
		func(o control.Observer) (journal.Fold, func() control.State) {
			l := control.NewLeader(o)
			for i, r := range []tried{
				{"", control.RecOpened, control.Opened{Team: "t", UID: uid, Instance: "lead", Name: waggle.Lead, Epoch: 1}, operator},
				{"", control.RecPolicy, control.PolicySet{Policy: policy.Policy{Version: 1}}, operator},
			} {
				if err := l.Apply(record(t, -i, r.kind, r.by, r.body)); err != nil {
					t.Fatal(err)
				}
			}
			return l, func() control.State {
				if m, ok := l.ByInstance("i"); ok {
					return m.State()
				}
				return ""
			}
		},
		func(f journal.Fold) string {
			l := f.(*control.Leader)
			m, ok := l.ByInstance("i")
			if !ok {
				return ""
			}
			var rs []string
			for _, r := range l.Requests {
				rs = append(rs, fmt.Sprint(r.ID, r.State))
			}
			slices.Sort(rs)
			return fmt.Sprint(m.State(), m.Process != nil, m.LastIdle != nil, len(l.Unclosed("i")) > 0, m.Shutdown != nil, m.Approved, m.Left != nil, rs)
		},
		func(path []tried) []tried {
			n := map[control.Event]int{}
			for _, p := range path {
				n[p.on]++
			}
			return slices.DeleteFunc(leaderMoves(path), func(m tried) bool {
				return (m.on == control.EvWork || m.on == control.EvIdle || m.on == control.EvProcess) && n[m.on] > 1 || m.on == control.EvDied && n[m.on] > 0 || m.on == control.EvShutdownSent && n[m.on] > 1
			})
		}, 14)
	if len(ex.refused) > 0 {
		t.Errorf("only the table refuses %v", slices.Sorted(maps.Keys(ex.refused)))
	}
	for _, s := range states(control.LeaderTable) {
		if !ex.states[s] {
			t.Errorf("state %s was never tried", s)
		}
	}
}

func TestTransitionError(t *testing.T) {
	w := control.NewWorker(nil)
	by := journal.Writer{Instance: "i", Epoch: 1}
	for i, r := range []tried{
		{"", control.RecOpened, control.Opened{UID: uid, Instance: "i", Name: "ada", Epoch: 1}, by},
		{"", control.RecApplied, control.Applied{What: control.CommandShutdown, Ref: 1, ID: "s"}, by},
	} {
		if err := w.Apply(record(t, i+1, r.kind, r.by, r.body)); err != nil {
			t.Fatal(err)
		}
	}
	err := w.Apply(record(t, 3, control.RecTaken, by, control.Taken{}))
	var te *control.TransitionError
	if !errors.As(err, &te) || te.From != control.ShuttingDown || te.On != control.EvTaken || !strings.Contains(err.Error(), "worker ada") {
		t.Errorf("work taken while shutting down: %v", err)
	}
}
