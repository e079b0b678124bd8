package view

import (
	"fmt"
	"strings"

	"waggle/internal/face/view/page"
	"waggle/operator/repair"
)

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
