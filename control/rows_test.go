package control_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle"
	"waggle/control"
	"waggle/journal"
)

// What WIRE §5 has as a row and what is no move of a machine: the test that shows
// it instead, with the directory that it is in.
var elsewhere = map[string]string{
	"L13": "poll TestPassOrder", // a tick: receive, apply, then deliver
}

// TestRowsOfTheProtocol: the tables implement all of W1-W19 and L1-L14, and name
// no others.
func TestRowsOfTheProtocol(t *testing.T) {
	rows := map[string]bool{}
	for _, table := range [][]control.Transition{control.WorkerTable, control.LeaderTable, control.RequestTable, control.TeamTable} {
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
	for row, at := range elsewhere {
		dir, test, _ := strings.Cut(at, " ")
		files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
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

// TestTeamTable: a leader that exits leaves the team as it is; the next one goes
// on, and a team that has ended stays so (L14).
func TestTeamTable(t *testing.T) {
	var rows []control.Transition
	l := control.NewLeader(func(o control.Observation) {
		if o.Machine == control.MachineTeam {
			rows = append(rows, control.Transition{Row: o.Row, From: o.From, On: o.On, To: o.To})
		}
	})
	n := 0
	add := func(kind string, body any, by journal.Writer) {
		n++
		if err := l.Apply(record(t, n, kind, by, body)); err != nil {
			t.Fatal(err)
		}
	}
	opened := func(epoch uint64) {
		add(control.RecOpened, control.Opened{Team: "t", UID: uid, Instance: "lead", Name: waggle.Lead, Epoch: epoch}, journal.Writer{Instance: "lead", Epoch: epoch})
	}
	opened(1)
	opened(2)
	add(control.RecEnded, control.Ended{How: "down"}, operator)
	add(control.RecEnded, control.Ended{How: "down"}, operator)
	opened(3)
	if l.State() != control.Over || l.Ended.How != "down" {
		t.Errorf("%s, %+v", l.State(), l.Ended)
	}
	want := control.TeamTable
	want = []control.Transition{want[0], want[1], want[3], want[2]}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
}
