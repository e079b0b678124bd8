package view

import (
	"fmt"
	"strconv"
	"strings"

	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/repair"
)

// unread are the journals that an error is about (operator.JournalErrors).
func unread(err error) []inspect.BadRecord {
	var ds []inspect.BadRecord
	for _, e := range operator.JournalErrors(err) {
		d := inspect.BadRecord{Journal: string(e.Journal), Owner: e.Owner}
		d.File, d.Line, d.Seq, d.Why = e.Place()
		ds = append(ds, d)
	}
	return ds
}

// VerifiedPage has a row for each journal, and the problems.
func VerifiedPage(v *inspect.Verified) (p page.Page) {
	p.Line(page.Strong(v.ID))
	t := page.Table{Head: []string{"JOURNAL", "RECORDS", "STATE", "HEAD"}}
	for _, j := range v.Journals {
		state := "whole"
		if !j.OK {
			state = "broken"
		}
		t.Rows = append(t.Rows, []string{j.Owner, strconv.FormatUint(j.Records, 10), state, j.Head})
	}
	p.Table(t)
	for _, b := range v.Problems {
		p.Line(page.Bad("bad:"), page.Plain(" "+b.String()))
	}
	for _, k := range v.Acknowledged {
		p.Line(page.Warning("acknowledged:"), page.Plain(fmt.Sprintf(" %s (%d lines lost, kept in %s)", k, k.Lost, k.Kept)))
	}
	p.Line(page.Plain(fmt.Sprintf("%d snapshots compared; %d decisions of the rules judged again, %d not recomputed (another version of the judge, or none on record)",
		v.Snapshots, v.Recomputed, v.NotRecomputed)))
	if v.OK {
		p.Line(page.Good("ok:"), page.Plain(" every line is as it was written, and the journals agree"))
	}
	return p
}

// BrokenPage shows where a journal is broken, which records are lost, and what continues.
func BrokenPage(b *repair.Broken) (p page.Page) {
	say := func(format string, args ...any) { p.Line(page.Plain(fmt.Sprintf(format, args...))) }
	whose := "the leader's journal"
	if b.Member != "" {
		whose = "the journal of " + b.Member
	}
	say("%s is broken at seq %d: %s", whose, b.Seq, b.Why)
	at := b.File
	if b.Line > 0 {
		at += fmt.Sprintf(", line %d", b.Line)
	}
	say("  %s", at)
	say("  %d records can be read before it; %d lines (%d bytes) are lost with it", b.Readable, b.Lost, b.Bytes)
	if b.Kept != "" {
		say("  kept as it was in %s", b.Kept)
	}
	if len(b.Members) > 0 {
		say("  go on as new instances: %s", strings.Join(b.Members, ", "))
	}
	if len(b.Dropped) > 0 {
		say("  do not go on: %s", strings.Join(b.Dropped, ", "))
	}
	return p
}

// DivergencePage shows how the journals contradict each other.
func DivergencePage(d *repair.Divergence) (p page.Page) {
	p.Line(page.Plain(fmt.Sprintf("seq %d: %s", d.Seq, d.Why)))
	return p
}
