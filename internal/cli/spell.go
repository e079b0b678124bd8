package cli

import (
	"waggle/operator/board"
	"waggle/operator/doctor"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/operator/teams"
)

// What follows puts the texts of steps into the documents that people and programs read. A
// sentence gets its step once.

func spellTask(v *board.TaskView) { v.Note = sentence(v.Note, v.Do) }

func spellKept(ks []process.Kept) {
	for i := range ks {
		ks[i].Why = sentence(ks[i].Why, ks[i].Do)
	}
}

func spellControls(cs []teams.Control) {
	for i := range cs {
		cs[i].How = sentence(cs[i].How, cs[i].Do)
	}
}

func spellFindings(fs []doctor.Finding) {
	for i := range fs {
		fs[i].Next = sentence(fs[i].Next, fs[i].Do)
	}
}

func spellDigest(d *inspect.Digest) {
	for i := range d.Results {
		d.Results[i].Next = stepText(d.Results[i].Do)
	}
	for _, ms := range [][]inspect.DigestMember{d.Members, d.Trouble} {
		for i := range ms {
			ms[i].Next = stepText(ms[i].Do)
		}
	}
	for _, ns := range [][]inspect.DigestDecision{d.Decisions, d.Calls.Denied} {
		for i := range ns {
			ns[i].Next = stepText(ns[i].Do)
		}
	}
	for i := range d.Waiting {
		d.Waiting[i].Next = stepText(d.Waiting[i].Do)
	}
}
