package cmdline

import "slices"

// Risk grades what a command does.
type Risk string

// The risks.
const (
	RiskLow    Risk = "low"    // reads
	RiskMedium Risk = "medium" // writes, builds, tests
	RiskHigh   Risk = "high"   // deletes, network, privilege, what cannot be parsed
)

// Worse is the higher of two risks.
func Worse(a, b Risk) Risk {
	all := []Risk{RiskLow, RiskMedium, RiskHigh}
	return all[max(slices.Index(all, a), slices.Index(all, b))]
}
