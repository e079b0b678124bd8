package control_test

import (
	"testing"

	"waggle/control"
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
			by := journal.Writer{Instance: "i", Epoch: 1}
			w := folded(t, control.NewWorker(nil), []journal.Record{recordOf(t, 1, record.KindOpened, by,
				record.Opened{Team: "session-1a2b3c4d", UID: "u", Instance: "i", Name: "gopher", Epoch: 1, Guest: guest})})
			if err := w.Apply(recordOf(t, 2, record.KindApplied, by, c.b)); (err == nil) != (guest && c.ok) {
				t.Errorf("guest %v: %+v: %v", guest, c.b, err)
			}
		}
	}
}
