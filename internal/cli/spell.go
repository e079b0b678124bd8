package cli

import (
	"waggle/operator/doctor"
	"waggle/operator/process"
)

// What follows puts the texts of steps into the documents that people and programs read. A
// sentence gets its step once.

func spellKept(ks []process.Kept) {
	for i := range ks {
		ks[i].Why = sentence(ks[i].Why, ks[i].Do)
	}
}

func spellFindings(fs []doctor.Finding) {
	for i := range fs {
		fs[i].Next = sentence(fs[i].Next, fs[i].Do)
	}
}
