package control_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// elsewhere has the rows of protocol §5 that are no move of a machine: the test that shows each,
// with its directory.
var elsewhere = map[string]string{
	"L13": "poll TestPassOrder", // a tick: receive, apply, then deliver
}

// TestRowsOfTheProtocol: the tables implement all of W1-W19 and L1-L14, and name
// no others but those of questions.
func TestRowsOfTheProtocol(t *testing.T) {
	rows := map[string]bool{}
	for _, table := range [][]machine.Transition{machine.WorkerTable, machine.LeaderTable, machine.RequestTable, machine.TeamTable} {
		seen := map[string]bool{}
		for _, r := range table {
			rows[r.Row] = true
			move := fmt.Sprint(r.From, "/", r.On, "/", r.To)
			if seen[move] {
				t.Errorf("the move %s is there twice", move)
			}
			seen[move] = true
		}
	}
	want := map[string]bool{}
	for n := 1; n <= 19; n++ {
		want[fmt.Sprint("W", n)] = true
	}
	for n := 1; n <= 14; n++ {
		want[fmt.Sprint("L", n)] = true
	}
	want["Q1"], want["Q2"] = true, true // ours: questions
	for row, at := range elsewhere {
		dir, test, _ := strings.Cut(at, " ")
		files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
		testenv.Must(t, err)
		found := false
		for _, f := range files {
			b, err := os.ReadFile(f)
			testenv.Must(t, err)
			found = found || strings.Contains(string(b), "func "+test+"(")
		}
		if !found {
			t.Errorf("row %s: there is no %s in %s", row, test, dir)
		}
		if rows[row] {
			t.Errorf("row %s is in a table and elsewhere", row)
		}
		rows[row] = true
	}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
}

// TestTeamTable: a leader that exits leaves the team as it is; the next one continues, and a team
// that has ended stays so (L14).
func TestTeamTable(t *testing.T) {
	var rows []machine.Transition
	l := control.NewLeader(func(o machine.Observation) {
		if o.Machine == machine.Team {
			rows = append(rows, machine.Transition{Row: o.Row, From: o.From, On: o.On, To: o.To})
		}
	})
	n := 0
	add := func(kind string, body any, by journal.Writer) {
		n++
		testenv.Must(t, l.Apply(recordOf(t, n, kind, by, body)))
	}
	opened := func(epoch uint64) {
		add(record.KindOpened, record.Opened{Team: "t", UID: uid, Instance: "lead", Name: protocol.Lead, Epoch: epoch}, journal.Writer{Instance: "lead", Epoch: epoch})
	}
	opened(1)
	opened(2)
	add(record.KindEnded, record.Ended{How: "down"}, operator)
	add(record.KindEnded, record.Ended{How: "down"}, operator)
	opened(3)
	if l.State() != machine.Over || l.Ended.How != "down" {
		t.Errorf("%s, %+v", l.State(), l.Ended)
	}
	want := machine.TeamTable
	want = []machine.Transition{want[0], want[1], want[3], want[2]}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
}

// TestRequestTable reaches every row of a request: answered at once and late, by
// two, sent and fetched, asked again at every stage, abandoned and left behind.
func TestRequestTable(t *testing.T) {
	rows := map[machine.Transition]bool{}
	observe := func(o machine.Observation) {
		if o.Machine == machine.Request {
			rows[machine.Transition{Row: o.Row, From: o.From, On: o.On, To: o.To}] = true
		}
	}
	again := func(w *world, r *control.Request) { // its message is in the mailbox once more
		for _, s := range w.of("ada").w.Outbox {
			if s.Mail.Kind == tool {
				env := envelopeOf(t, s.Mail)
				w.see(w.box.put(env, false))
			}
		}
	}
	open := func(set record.PolicySet) (*world, *member, *control.Request) {
		w := newWorld(t, set, observe)
		m := w.join("ada", false)
		m.do(func() ([]journal.Draft, error) { return m.w.Take(record.Taken{Entries: []string{"chat"}}, m.lead) })
		k := m.ask(tool, bash)
		m.flush()
		w.pass()
		r := w.request(k)
		again(w, r)
		return w, m, r
	}
	fetch := func(m *member, r *control.Request) {
		env, err := r.Order.Mail.Open()
		m.must(err)
		m.receive(m.box.put(env, false))
	}
	leave := func(w *world, m *member) {
		w.command(m, func(lm *control.Member) ([]journal.Draft, error) { return w.l.Let(lm, record.LeftDied, ""), nil })
	}

	w, m, r := open(record.PolicySet{}) // fetched before it was sent
	w.decide(verdict(r, true), operator)
	again(w, r)
	fetch(m, r)
	w.settle()
	again(w, r)
	w.append(w.lead(), record.KindSent, record.Sent{Ref: uint64(r.Order.Seq)})

	w, m, r = open(record.PolicySet{}) // sent, asked again, sent again, taken
	w.decide(verdict(r, false), operator)
	w.deliver()
	again(w, r)
	w.deliver()
	m.poll()
	w.settle()
	if r.State != machine.RequestClosed || len(m.box.entries) != 2 {
		t.Errorf("%s, %d answers sent", r.State, len(m.box.entries))
	}

	w, m, _ = open(record.PolicySet{}) // without an answer
	leave(w, m)
	for _, sent := range []bool{false, true} { // the answer came too late
		w, m, r = open(record.PolicySet{})
		w.decide(verdict(r, true), operator)
		if sent {
			w.deliver()
		}
		leave(w, m)
		if r.State != machine.RequestClosed || r.Closed != "its member has ended" || len(w.l.Outbox()) != 0 {
			t.Errorf("%s: %s", r.State, r.Closed)
		}
	}

	w, _, r = open(record.PolicySet{Decide: record.Deciders{policy.GateTool: policy.DecideLeader}})
	w.escalate(r, policy.RoleLeader, w.lead())
	w, _, r = open(record.PolicySet{Decide: record.Deciders{policy.GateTool: policy.DecideTwo}})
	if w.decide(verdict(r, true), operator); r.State != machine.RequestPending || len(r.Votes) != 1 {
		t.Errorf("%s after one of two", r.State)
	}
	for _, row := range machine.RequestTable {
		if !rows[row] {
			t.Errorf("row %s: %s --%s--> %s is reached by nothing", row.Row, row.From, row.On, row.To)
		}
		delete(rows, row)
	}
	if len(rows) > 0 {
		t.Errorf("moves that no row has: %v", rows)
	}
}
