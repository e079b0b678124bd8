package view

import (
	"fmt"
	"strconv"

	"waggle/internal/view/page"
	"waggle/operator"
	"waggle/operator/inspect"
)

// VerifiedDocument is the result of a check of a team's record.
type VerifiedDocument struct {
	Team          string                 `json:"team"`
	ID            string                 `json:"id"`
	OK            bool                   `json:"ok"`
	Journals      []JournalVerified      `json:"journals"`
	Problems      []BadRecordDocument    `json:"problems"`
	Acknowledged  []AcknowledgedDocument `json:"acknowledged"` // breaks that the operator has acknowledged
	Snapshots     int                    `json:"snapshots"`    // the number of snapshots that were compared with the folds of their journals
	Recomputed    int                    `json:"recomputed"`   // the number of decisions of the rules that the judge repeated
	NotRecomputed int                    `json:"not_recomputed"`
}

// JournalVerified is one journal whose every line was read.
type JournalVerified struct {
	Name    string `json:"name"`
	Owner   string `json:"owner"` // leader, or the member
	Records uint64 `json:"records"`
	Head    string `json:"head"` // SHA-256 of the last line
	OK      bool   `json:"ok"`
}

// BadRecordDocument is a record or file that is not as it was written, and its position.
type BadRecordDocument struct {
	Journal string `json:"journal"`
	Owner   string `json:"owner"`
	File    string `json:"file"` // absolute; "" when the problem is not in one file
	Line    int    `json:"line"` // from 1; 0: the whole file
	Seq     uint64 `json:"seq"`
	Why     string `json:"why"`
}

// AcknowledgedDocument is a break that a record of the leader's journal names.
type AcknowledgedDocument struct {
	BadRecordDocument
	Lost int    `json:"lost_records"`
	Kept string `json:"kept"` // the path of the unchanged journal
	At   string `json:"at"`   // when it was acknowledged
}

// unread are the journals that an error is about (operator.JournalErrors).
func unread(err error) []BadRecordDocument {
	var ds []BadRecordDocument
	for _, e := range operator.JournalErrors(err) {
		d := BadRecordDocument{Journal: string(e.Journal), Owner: e.Owner}
		d.File, d.Line, d.Seq, d.Why = e.Place()
		ds = append(ds, d)
	}
	return ds
}

// Verified is the document of a check.
func Verified(v *inspect.Verified) VerifiedDocument {
	d := VerifiedDocument{v.Team, v.ID, v.OK, make([]JournalVerified, 0, len(v.Journals)), make([]BadRecordDocument, 0, len(v.Problems)),
		make([]AcknowledgedDocument, 0, len(v.Acknowledged)), v.Snapshots, v.Recomputed, v.NotRecomputed}
	for _, j := range v.Journals {
		d.Journals = append(d.Journals, JournalVerified(j))
	}
	for _, b := range v.Problems {
		d.Problems = append(d.Problems, BadRecordDocument(b))
	}
	for _, k := range v.Acknowledged {
		d.Acknowledged = append(d.Acknowledged, AcknowledgedDocument{BadRecordDocument(k.BadRecord), k.Lost, k.Kept, page.Stamp(k.At)})
	}
	return d
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
