package control

import (
	"errors"
	"testing"

	"waggle/journal"
	"waggle/machine"
	"waggle/record"
)

// TestMoved: a move of the team, of a member or of a request that its table does not have is an error before it is
// written. On record it is observed without a row, and the fold goes on.
func TestMoved(t *testing.T) {
	var told []machine.Observation
	l := NewLeader(func(o machine.Observation) { told = append(told, o) })
	l.Instance = "lead"
	m := &Member{Joined: record.Joined{Instance: "i", Name: "ada"}, base: machine.Idle}
	l.byInst["i"] = m
	req := &Request{Key: record.Key{Instance: "i", ID: "a"}, State: machine.RequestClosed}
	moves := map[string]func(journal.Record) error{
		"team team-lead": func(r journal.Record) error { return l.moved(machine.Leading, machine.EvEnded, r) },
		"leader ada":     func(r journal.Record) error { return l.did(m, machine.Terminated, machine.EvWork, r, "") },
		"request ada":    func(r journal.Record) error { return l.advance(req, machine.EvDecided, req.State, r) },
	}
	seq := journal.Seq(0)
	for of, move := range moves {
		seq++
		l.Hold()
		var wrong *machine.TransitionError
		if err := move(journal.Record{Seq: seq}); !errors.As(err, &wrong) || wrong.Machine != of || wrong.To == "" {
			t.Errorf("%s, not written yet: %v", of, err)
		}
		l.Keep()
		if len(told) > 0 {
			t.Errorf("%s was refused and told: %+v", of, told)
		}
		if err := move(journal.Record{Seq: seq}); err != nil || len(told) != 1 || told[0].Row != "" || told[0].Seq != uint64(seq) {
			t.Errorf("%s, on record: %v, %+v", of, err, told)
		}
		told = nil
	}
	if err := l.moved(machine.Leading, machine.EvOpened, journal.Record{}); err != nil {
		t.Error(err)
	}
}
