package record_test

import (
	"testing"

	"waggle/record"
)

// TestReason: the evidence that waggle's programs have written of orders and words, in their own words.
func TestReason(t *testing.T) {
	for evidence, want := range map[string][2]string{
		"withdrawn": {record.Withdrawn}, "superseded": {record.Superseded}, "superseded by 0b81": {record.Superseded, "0b81"},
		"replaced by a newer one": {record.Replaced}, "expired": {record.Expired},
		"failed: append: disk full by now": {record.Failed, "append: disk full by now"},
		"its reader has marked it read":    {record.ReaderMarked}, "its reader has taken it out of the mailbox": {record.ReaderTook},
		"another program erased it, twice": {record.ReaderNever},
		"taken":                            {record.KindTaken}, "applied": {record.KindApplied}, "answered": {record.KindAnswered}, "": {},
	} {
		if word, detail := (record.Closed{Evidence: evidence}).Reason(); word != want[0] || detail != want[1] {
			t.Errorf("%q: %q, %q", evidence, word, detail)
		}
	}
}
