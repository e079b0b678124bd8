package view

import (
	"fmt"
	"strings"

	"waggle/internal/view/page"
	"waggle/operator/process"
)

// BrokenDocument is a break in a journal, and what continues without the records after it.
type BrokenDocument struct {
	Team         string   `json:"team"`
	Journal      string   `json:"journal"` // leader, or the instance of a member
	Member       string   `json:"member"`  // the owner; "": the leader
	File         string   `json:"file"`
	Line         int      `json:"line"`
	Seq          uint64   `json:"seq"` // of the bad record: the argument of an acknowledgement
	Why          string   `json:"why"`
	Readable     uint64   `json:"readable_records"` // how many records stand before it
	Lost         int      `json:"lost_records"`     // the bad record and those after it
	Bytes        int64    `json:"lost_bytes"`
	SHA256       string   `json:"lost_sha256"`
	Kept         string   `json:"kept"`    // the path of the unchanged journal
	Members      []string `json:"members"` // members that continue, each as a new instance
	Dropped      []string `json:"dropped"` // members that do not continue; all are empty until it is acknowledged
	Acknowledged bool     `json:"acknowledged"`
}

// Broken is the document of a break.
func Broken(b *process.Broken) BrokenDocument { return BrokenDocument(*b) }

// BrokenPage shows where a journal is broken, which records are lost, and what continues.
func BrokenPage(b *process.Broken) (p page.Page) {
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
