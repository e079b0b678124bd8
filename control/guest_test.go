package control_test

import (
	"testing"

	"waggle/control"
	"waggle/internal/json/jsonobj"
	"waggle/journal"
	"waggle/policy"
	"waggle/record"
)

// TestFileChannelIsForGuests: in a team that waggle leads, a member's fold takes no order and no
// answer whose only evidence is a file.
func TestFileChannelIsForGuests(t *testing.T) {
	file := policy.ChannelFile
	for _, guest := range []bool{false, true} {
		for _, c := range []struct {
			b  record.Applied
			ok bool // for a guest
		}{
			{record.Applied{What: record.CommandShutdown, Entry: "e#1", ID: "shutdown-1@gopher", Channel: file}, true},
			{record.Applied{What: record.CommandMode, Mode: policy.ModePlan, Channel: file}, true},
			{record.Applied{What: record.CommandPolicy, Deny: policy.MustRules("Bash"), Channel: file}, true},
			{record.Applied{What: record.CommandMode, Version: 2, Channel: file}, false},
			{record.Applied{What: record.CommandMode, Deny: policy.MustRules("Bash"), Channel: file}, false},
			{record.Applied{What: record.CommandPolicy, Mode: policy.ModePlan, Channel: file}, false},
			{record.Applied{What: record.CommandAssigned, Task: &record.Task{ID: "1"}, Channel: file}, false},
			{record.Applied{What: record.CommandMode, Mode: policy.ModePlan, Ref: 1}, false},
		} {
			j := &memoryRecords{t: t, fold: control.NewWorker(nil)}
			j.add(record.KindOpened, record.Opened{Team: "session-1a2b3c4d", UID: "u", Instance: "i", Name: "gopher", Epoch: 1, Guest: guest})
			if err := j.try(record.KindApplied, c.b); (err == nil) != (guest && c.ok) {
				t.Errorf("guest %v: %+v: %v", guest, c.b, err)
			}
		}
	}
}

// memoryRecords gives a worker's fold its records.
type memoryRecords struct {
	t    *testing.T
	fold *control.Worker
	seq  journal.Seq
}

func (m *memoryRecords) add(kind string, body any) {
	m.t.Helper()
	if err := m.try(kind, body); err != nil {
		m.t.Fatal(err)
	}
}

func (m *memoryRecords) try(kind string, body any) error {
	m.seq++
	raw, err := jsonobj.Marshal(body)
	if err != nil {
		m.t.Fatal(err)
	}
	return m.fold.Apply(journal.Record{Seq: m.seq, Kind: kind, Must: true, Body: raw, Writer: journal.Writer{Instance: "i", Epoch: 1}})
}
