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

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// tried is a record that would move a machine, and its event.
type tried struct {
	on   machine.Event
	kind string
	body any
	by   journal.Writer
}

// explored is what exploring a machine found.
type explored struct {
	rows    map[machine.Transition]bool
	states  map[machine.State]bool
	refused map[string]bool // "state: event" that only the table refused, before it was written
}

// explore applies every move to every reachable state, and checks each against the table: a move
// without a row is refused before it is written, or changes nothing and is not observed. One that another
// program wrote is folded, and what follows it is explored too.
func explore(t *testing.T, of string, table []machine.Transition, open func(machine.Observer) (journal.Tentative, func() machine.State),
	signature func(journal.Fold) string, moves func([]tried) []tried, depth int) explored {
	t.Helper()
	rows := map[string]bool{}
	for _, row := range table {
		rows[fmt.Sprint(row.From, row.On)] = true
	}
	ex := explored{map[machine.Transition]bool{}, map[machine.State]bool{}, map[string]bool{}}
	seen := map[string]bool{}
	var last []machine.Observation
	at := func(path []tried) (journal.Tentative, func() machine.State) {
		fold, state := open(func(o machine.Observation) {
			if o.Machine == of {
				last = append(last, o)
			}
		})
		for i, p := range path {
			if err := fold.Apply(recordOf(t, i+1, p.kind, p.by, p.body)); err != nil {
				t.Fatalf("replay: %v", err)
			}
		}
		last = nil
		return fold, state
	}
	frontier := [][]tried{nil}
	for range depth {
		var next [][]tried
		for _, path := range frontier {
			for _, m := range moves(path) {
				fold, state := at(path)
				from := state()
				ex.states[from] = true
				fold.Hold()
				err := fold.Apply(recordOf(t, len(path)+1, m.kind, m.by, m.body))
				fold.Keep()
				var te *machine.TransitionError
				without := errors.As(err, &te)
				if without {
					if te.From != from || te.On != m.on || len(last) > 0 {
						t.Errorf("%s from %s is refused with %v, told %v", m.on, from, err, last)
					}
					ex.refused[fmt.Sprintf("%s: %s", te.From, te.On)] = true
					onRecord(t, at, moves, path, m)
					fold, state = at(path)
					err = fold.Apply(recordOf(t, len(path)+1, m.kind, m.by, m.body))
				}
				if err != nil {
					if again := fold.Apply(recordOf(t, len(path)+2, record.KindCheckpoint, m.by, nil)); again == nil {
						t.Errorf("%s from %s: the fold goes on after %v", m.on, from, err)
					}
					continue
				}
				if !without && !rows[fmt.Sprint(from, m.on)] && !(len(last) == 1 && alias(m.on, last[0].On)) && (len(last) > 0 || state() != from) {
					t.Errorf("%s from %s leads to %s, and no row has it", m.on, from, state())
				}
				switch {
				case len(last) > 1:
					t.Errorf("%s from %s: one record, %d transitions", m.on, from, len(last))
				case len(last) == 0 && state() != from:
					t.Errorf("%s from %s leads to %s and nobody was told", m.on, from, state())
				case len(last) == 1:
					o := last[0]
					if (o.Row == "") != without {
						t.Errorf("%s from %s, without a row %v: %+v", m.on, from, without, o)
					}
					if !without {
						ex.rows[machine.Transition{Row: o.Row, From: o.From, On: o.On, To: o.To}] = true
					}
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

// onRecord checks what a move that no row has does to a fold that reads it: reading goes on, nothing is asked,
// answered, decided or started that was refused before it, and all else that was accepted before still is.
func onRecord(t *testing.T, at func([]tried) (journal.Tentative, func() machine.State), moves func([]tried) []tried, path []tried, m tried) {
	t.Helper()
	accepts := func(path []tried, r tried) bool {
		fold, _ := at(path)
		return fold.Apply(recordOf(t, len(path)+1, r.kind, r.by, r.body)) == nil
	}
	if !accepts(path, m) {
		t.Errorf("%s fails the fold of the journal that has it", m.on)
		return
	}
	with := append(slices.Clone(path), m)
	for _, r := range moves(with) {
		allows := slices.Contains([]string{record.KindAsked, record.KindAnswered, record.KindDecided, record.KindStarted}, r.kind)
		switch was, is := accepts(path, r), accepts(with, r); {
		case is && !was && allows:
			t.Errorf("%s allows %s %+v", m.on, r.kind, r.body)
		case was && !is && r.kind != m.kind:
			t.Errorf("%s refuses %s %+v", m.on, r.kind, r.body)
		}
	}
}

// alias lists records that have another event in some states: a second shutdown is only one more
// command, a late answer to a plan is only an answer.
func alias(tried, seen machine.Event) bool {
	return tried == machine.EvShutdownAsked && seen == machine.EvApplied ||
		(tried == machine.EvPlanApproved || tried == machine.EvPlanRejected) && seen == machine.EvAnswered
}

func mailOf(k protocol.Kind, to protocol.MemberName) *record.Mail {
	return &record.Mail{To: to, Kind: k, SHA256: "x", Envelope: []byte(`{}`)}
}

// workerMoves is one record for everything that can happen to a worker. Two tool
// calls, two hosts and one plan are enough to be blocked in every way.
func workerMoves(path []tried) []tried {
	epoch, ref := uint64(1), uint64(len(path)+1)
	for _, p := range path {
		if p.kind == record.KindOpened {
			epoch = p.by.Epoch + 1
		}
	}
	by := journal.Writer{Instance: "i", Epoch: max(epoch-1, 1)}
	opener := journal.Writer{Instance: "i", Epoch: epoch}
	var ms []tried
	add := func(on machine.Event, kind string, body any) { ms = append(ms, tried{on, kind, body, by}) }
	first := machine.EvReopened
	if len(path) == 0 {
		first = machine.EvReady
	}
	if epoch <= 2 {
		ms = append(ms, tried{first, record.KindOpened, record.Opened{Team: "t", UID: uid, Instance: "i", Name: "ada", Epoch: epoch}, opener})
	}
	add(machine.EvTaken, record.KindTaken, record.Taken{Entries: []string{"e"}})
	add(machine.EvTakenPlan, record.KindTaken, record.Taken{Plan: true})
	useBy := start.Add(time.Hour)
	for _, q := range []struct {
		id  string
		k   protocol.Kind
		on  machine.Event
		ask record.Ask
	}{
		{"a", tool, machine.EvAskedTool, bash}, {"b", tool, machine.EvAskedTool, bash},
		{"h", host, machine.EvAskedHost, record.Ask{Host: "x.org"}}, {"g", host, machine.EvAskedHost, record.Ask{Host: "x.org"}}, {"p", plan, machine.EvAskedPlan, record.Ask{Plan: "do it"}},
		{"q", words, machine.EvAskedWords, asking}, {"r", words, machine.EvAskedWords, asking},
	} {
		k := record.Key{Instance: "i", Kind: q.k, ID: protocol.RequestID(q.id)}
		d := record.DigestOf(uid, k, q.ask)
		if q.k == words {
			add(q.on, record.KindAsked, record.Asked{Key: k, Digest: d, Ask: q.ask})
			add(machine.EvAnswered, record.KindAnswered, record.Answered{Key: k, Digest: d, Decision: record.DecisionAnswer, Answers: answering, By: policy.RoleOperator, Leader: 9, UseBy: &useBy})
			continue
		}
		add(q.on, record.KindAsked, record.Asked{Key: k, Digest: d, Ask: q.ask, Mail: mailOf(q.k, protocol.Lead)})
		if q.k != plan {
			add("", record.KindStarted, record.Started{Key: k, Digest: d, Tool: q.ask.Tool})
		}
		yes, no := machine.EvAnswered, machine.EvAnswered
		if q.k == plan {
			yes, no = machine.EvPlanApproved, machine.EvPlanRejected
		}
		add(yes, record.KindAnswered, record.Answered{Key: k, Digest: d, Decision: record.DecisionAllow, By: policy.RoleOperator, Leader: 9, UseBy: &useBy})
		if q.k == tool {
			add(machine.EvDenied, record.KindAnswered, record.Answered{Key: k, Digest: d, Decision: record.DecisionDeny, By: policy.RoleOperator, Leader: 9})
		}
		if q.k == plan {
			add(no, record.KindAnswered, record.Answered{Key: k, Digest: d, Decision: record.DecisionDeny, By: policy.RoleOperator, Leader: 9})
			add(no, record.KindAnswered, record.Answered{Key: k, Digest: d, Decision: record.DecisionDeny, By: policy.RoleSystem, Waited: true})
			add(machine.EvPlanApproved, record.KindStarted, record.Started{Key: k, Digest: d})
		}
	}
	add(machine.EvTurnEnded, record.KindSaid, record.Said{Kind: protocol.KindIdleNotification, Mail: mailOf(protocol.KindIdleNotification, protocol.Lead)})
	add(machine.EvTurnFailed, record.KindSaid, record.Said{Kind: protocol.KindIdleNotification, Failed: true, Mail: mailOf(protocol.KindIdleNotification, protocol.Lead)})
	add(machine.EvUnverified, record.KindUnverified, record.Unverified{Entry: fmt.Sprint("u", len(path))})
	add(machine.EvApplied, record.KindApplied, record.Applied{What: record.CommandAssigned, Ref: ref, Task: &record.Task{ID: "1"}})
	add(machine.EvShutdownAsked, record.KindApplied, record.Applied{What: record.CommandShutdown, Ref: ref, ID: "s"})
	add(machine.EvShutdownApproved, record.KindSaid, record.Said{Kind: protocol.KindShutdownApproved, ID: "s", Mail: mailOf(protocol.KindShutdownApproved, protocol.Lead)})
	add(machine.EvShutdownRejected, record.KindSaid, record.Said{Kind: protocol.KindShutdownRejected, ID: "s", Mail: mailOf(protocol.KindShutdownRejected, protocol.Lead)})
	return ms
}

func TestWorkerTable(t *testing.T) {
	testenv.OneGoroutine(t)
	ex := explore(t, machine.Worker, machine.WorkerTable,
		func(o machine.Observer) (journal.Tentative, func() machine.State) {
			w := control.NewWorker(o)
			return w, w.State
		},
		func(f journal.Fold) string {
			w := f.(*control.Worker)
			var calls []string // tool calls and hosts show all they can while they block
			for _, c := range w.Calls {
				if c.Kind == plan {
					calls = append(calls, fmt.Sprint(c.ID, c.Open(), c.Answer != nil && c.Answer.Decision == record.DecisionAllow))
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
	for _, s := range states(machine.WorkerTable) {
		if !ex.states[s] {
			t.Errorf("state %s was never tried", s)
		}
	}
}

// wasteful drops moves that only reach the same states again: one restart and one second shutdown
// are enough, and so are two requests of one kind when nothing else was asked.
func wasteful(path []tried, m tried) bool {
	n := map[machine.Event]int{}
	for _, p := range path {
		n[p.on]++
	}
	second := func(b any) bool {
		a, ok := b.(record.Asked)
		return ok && (a.ID == "b" || a.ID == "g" || a.ID == "r")
	}
	kinds, with := 0, 0
	for _, on := range []machine.Event{machine.EvAskedTool, machine.EvAskedHost, machine.EvAskedPlan, machine.EvAskedWords} {
		if n[on] > 0 {
			kinds++
		}
		if n[on] > 0 || m.on == on {
			with++
		}
	}
	alone := kinds < 2
	if m.kind == record.KindAsked && with > 2 && (n[machine.EvAskedWords] > 0 || m.on == machine.EvAskedWords) {
		return true // a question beside one other kind shows all that it can
	}
	if second(m.body) && (!alone || n[m.on] == 0) || m.kind == record.KindAsked && slices.ContainsFunc(path, func(p tried) bool { return second(p.body) && p.on != m.on }) {
		return true
	}
	switch m.on {
	case machine.EvReopened:
		return n[m.on] > 0
	case machine.EvShutdownAsked:
		return n[m.on] > 1
	case machine.EvTaken, machine.EvTakenPlan:
		return n[machine.EvTaken]+n[machine.EvTakenPlan] > 0
	}
	return false
}

func states(table []machine.Transition) []machine.State {
	var ss []machine.State
	for _, row := range table {
		for _, s := range []machine.State{row.From, row.To} {
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
	add := func(on machine.Event, kind string, body any) { ms = append(ms, tried{on, kind, body, by}) }
	n := len(path)
	seen := func(k protocol.Kind, id protocol.RequestID) record.Seen {
		return record.Seen{Entry: fmt.Sprint("e", n), Ref: uint64(n), Instance: "i", Kind: k, ID: id}
	}
	add(machine.EvJoined, record.KindJoined, record.Joined{Instance: "i", Name: "ada", Trust: record.Cooperative})
	add(machine.EvProcess, record.KindProcess, record.Process{Instance: "i", Epoch: uint64(n + 1)})
	add(machine.EvIdle, record.KindSeen, seen(protocol.KindIdleNotification, ""))
	add(machine.EvWork, record.KindCommanded, record.Commanded{What: record.CommandAssigned, Instance: "i", By: policy.RoleLeader,
		Task: &record.Task{ID: "1", SHA256: record.HashText("")}, Mail: mailOf(protocol.KindTaskAssignment, "ada")})
	for _, id := range []protocol.RequestID{"a", "b"} {
		k := record.Key{Instance: "i", Kind: tool, ID: id}
		d := record.DigestOf(uid, k, bash)
		s := seen(tool, id)
		s.Digest, s.Ask = d, &bash
		add(machine.EvAsked, record.KindSeen, s)
		ms = append(ms, tried{machine.EvDecided, record.KindDecided, record.Decided{Key: k, Digest: d, Decision: record.DecisionDeny,
			By: policy.RoleOperator, Policy: 1, Mail: mailOf(protocol.KindPermissionResponse, "ada")}, operator})
		add(machine.EvRequestDropped, record.KindClosed, record.Closed{Key: &k, Evidence: "withdrawn"})
	}
	add(machine.EvShutdownSent, record.KindCommanded, record.Commanded{What: record.CommandShutdown, Instance: "i", ID: "s", By: policy.RoleLeader,
		Mail: mailOf(protocol.KindShutdownRequest, "ada")})
	add(machine.EvShutdownYes, record.KindSeen, seen(protocol.KindShutdownApproved, "s"))
	add(machine.EvShutdownNo, record.KindSeen, seen(protocol.KindShutdownRejected, "s"))
	add(machine.EvGone, record.KindLeft, record.Left{Instance: "i", How: record.LeftDied})
	var epoch uint64
	for i, p := range path {
		if p.on == machine.EvProcess {
			epoch = uint64(i + 1)
		}
	}
	add(machine.EvDied, record.KindDied, record.Died{Instance: "i", Epoch: epoch})
	return ms
}

func TestLeaderTable(t *testing.T) {
	testenv.OneGoroutine(t)
	ex := explore(t, machine.Leader, machine.LeaderTable,
		func(o machine.Observer) (journal.Tentative, func() machine.State) {
			l := control.NewLeader(o)
			for i, r := range []tried{
				{"", record.KindOpened, record.Opened{Team: "t", UID: uid, Instance: "lead", Name: protocol.Lead, Epoch: 1}, operator},
				{"", record.KindPolicy, record.PolicySet{Policy: policy.Policy{Version: 1}}, operator},
			} {
				testenv.Must(t, l.Apply(recordOf(t, -i, r.kind, r.by, r.body)))
			}
			return l, func() machine.State {
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
			n := map[machine.Event]int{}
			for _, p := range path {
				n[p.on]++
			}
			return slices.DeleteFunc(leaderMoves(path), func(m tried) bool {
				return (m.on == machine.EvWork || m.on == machine.EvIdle || m.on == machine.EvProcess) && n[m.on] > 1 || m.on == machine.EvDied && n[m.on] > 0 || m.on == machine.EvShutdownSent && n[m.on] > 1
			})
		}, 14)
	if len(ex.refused) > 0 {
		t.Errorf("only the table refuses %v", slices.Sorted(maps.Keys(ex.refused)))
	}
	for _, s := range states(machine.LeaderTable) {
		if !ex.states[s] {
			t.Errorf("state %s was never tried", s)
		}
	}
}

// TestTransitionError: another program has written that a worker took work while it was shutting down. The fold of that
// journal goes on, and this program writes no such record.
func TestTransitionError(t *testing.T) {
	d, by := journal.Dir{Path: t.TempDir(), UID: string(uid)}, journal.Writer{Instance: "i", Epoch: 1}
	open := func(f journal.Fold) *journal.File {
		j, err := d.Open("i", f, journal.Options{})
		testenv.Must(t, err)
		return j
	}
	add := func(j journal.Journal, kind string, body any) error {
		_, err := j.Append(t.Context(), by, func() ([]journal.Draft, error) { return []journal.Draft{{Kind: kind, Must: true, Body: body}}, nil })
		return err
	}
	must := func(err error) {
		t.Helper()
		testenv.Must(t, err)
	}
	other := open(nil)
	must(add(other, record.KindOpened, record.Opened{UID: uid, Instance: "i", Name: "ada", Epoch: 1}))
	must(add(other, record.KindApplied, record.Applied{What: record.CommandShutdown, Ref: 1, ID: "s"}))
	must(add(other, record.KindTaken, record.Taken{}))
	for n := range 2 {
		var told []machine.Observation
		w := control.NewWorker(func(o machine.Observation) { told = append(told, o) })
		j := open(w)
		if len(told) < 3 || told[2].On != machine.EvTaken || told[2].Row != "" || w.State() != machine.ShuttingDown || len(j.Aside()) > 0 {
			t.Errorf("%s, %+v, set aside %v", w.State(), told, j.Aside())
		}
		must(add(j, record.KindSaid, record.Said{Kind: protocol.KindIdleNotification, Mail: mailOf(protocol.KindIdleNotification, protocol.Lead)}))
		end := j.Seq()
		err := add(j, record.KindTaken, record.Taken{})
		var draft *journal.DraftError
		var te *machine.TransitionError
		if !errors.As(err, &draft) || !errors.As(err, &te) || te.From != machine.ShuttingDown || te.On != machine.EvTaken || !strings.Contains(err.Error(), "worker ada") {
			t.Errorf("work taken while shutting down: %v", err)
		}
		must(add(j, record.KindUnverified, record.Unverified{Entry: fmt.Sprint(n)}))
		if j.Seq() != end+1 || w.Unverified != n+1 || w.Turn() != nil {
			t.Errorf("after seq %d: seq %d, %d unverified", end, j.Seq(), w.Unverified)
		}
	}
}
