package inspect_test

import (
	"encoding/json"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Of requests that one command answered the first decision counts, also when others have decided between them.
func TestLastLooked(t *testing.T) {
	key := func(id string) record.Key { return record.Key{Instance: "i", ID: protocol.RequestID(id)} }
	var recs []operator.LogRecord
	at := func(n int) time.Time { return time.Unix(int64(1000*n), 0) }
	add := func(kind string, body any) {
		b := testenv.Value(json.Marshal(body))(t)
		recs = append(recs, operator.LogRecord{Name: "leader", Record: journal.Record{Kind: kind, Time: at(len(recs)), Body: b}})
	}
	decided := func(by policy.Role, id, first string) {
		d := record.Decided{Key: key(id), By: by}
		if first != "" {
			k := key(first)
			d.First = &k
		}
		add(record.KindDecided, d)
	}
	is := func(what string, want int, why string) {
		t.Helper()
		if got, said := inspect.LastLooked(&control.Leader{}, recs); !got.Equal(at(want)) || said != why {
			t.Errorf("%s: %v, %s", what, got, said)
		}
	}
	add(record.KindOpened, struct{}{})
	decided(policy.RoleOperator, "old", "")
	decided(policy.RoleOperator, "a", "")
	add(record.KindDied, struct{}{})
	decided(policy.RoleOperator, "b", "a")
	decided(policy.RoleRules, "r", "")
	decided(policy.RoleOperator, "c", "a")
	is("a group", 2, "you decided c")
	decided(policy.RoleOperator, "d", "")
	is("one after it", 7, "you decided d")
	add(record.KindDetached, record.Detached{})
	is("detached", 8, "you detached")
	add(record.KindLeading, record.LeadingProcess{Detached: true})
	add(record.KindDied, struct{}{})
	add(record.KindLeading, record.LeadingProcess{Detached: true, Up: true})
	is("started in the background", 9, "you left it in the background")
}
