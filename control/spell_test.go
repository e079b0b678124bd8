package control_test

import (
	"encoding/json"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/record"
	"waggle/spawn"
)

// Awake leaves out what the leader's journal says that the machine was suspended, each part once.
func TestAwake(t *testing.T) {
	t.Parallel()
	at := func(min int) time.Time { return time.Date(2026, 3, 1, 10, min, 0, 0, time.UTC) }
	l := control.NewLeader(nil)
	seq := journal.Seq(0)
	put := func(now time.Time, pid int, kind string, body any) {
		t.Helper()
		seq++
		raw, err := json.Marshal(body)
		testenv.Must(t, err)
		testenv.Must(t, l.Apply(journal.Record{Seq: seq, Time: now, Kind: kind, Writer: journal.Writer{Instance: "lead", Epoch: 1, PID: pid, Operator: true}, Body: raw}))
	}
	put(at(0), 1, record.KindOpened, record.Opened{Team: "api", UID: "u", Instance: "lead", Name: "team-lead", Epoch: 1})
	put(at(20), 1, record.KindSlept, record.Slept{ForMS: (10 * time.Minute).Milliseconds()}) // 10 to 20
	put(at(21), 1, record.KindSlept, record.Slept{ForMS: (10 * time.Minute).Milliseconds()}) // by another process: one minute is new
	put(at(40), 1, record.KindSlept, record.Slept{ForMS: (5 * time.Minute).Milliseconds()})  // 35 to 40
	for _, c := range []struct{ from, to, want int }{{0, 10, 10}, {0, 50, 34}, {15, 30, 9}, {36, 38, 0}, {30, 20, 0}, {41, 50, 9}} {
		if got := l.Awake(at(c.from), at(c.to)); got != time.Duration(c.want)*time.Minute {
			t.Errorf("%d to %d: %s, not %dm", c.from, c.to, got, c.want)
		}
	}

	// The death of a process is known as it happened when the one that records it led before that process began.
	leader := spawn.Identity{PID: 7, Start: "1", Boot: "b"}
	put(at(41), 7, record.KindLeading, record.LeadingProcess{ID: leader})
	put(at(42), 1, record.KindJoined, record.Joined{Instance: "i", Name: "ann", Trust: record.Cooperative})
	put(at(43), 1, record.KindProcess, record.Process{Instance: "i", Epoch: 1, ID: spawn.Identity{PID: 8, Start: "1", Boot: "b"}})
	m, _ := l.Member("ann")
	put(at(50), 7, record.KindDied, record.Died{Instance: "i", Epoch: 1, Attempt: 1})
	if when, ok := l.Lost(m); !ok || !when.Equal(at(50)) {
		t.Errorf("seen: %v, %t", when, ok)
	}
	put(at(51), 1, record.KindProcess, record.Process{Instance: "i", Epoch: 2, ID: spawn.Identity{PID: 9, Start: "1", Boot: "b"}})
	if _, ok := l.Lost(m); ok {
		t.Error("it runs")
	}
	put(at(52), 6, record.KindDied, record.Died{Instance: "i", Epoch: 2, Attempt: 1})
	if _, ok := l.Lost(m); ok {
		t.Error("another process than the one that leads has found it")
	}
}
