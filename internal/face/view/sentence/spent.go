// Package sentence says what a record, a message or an amount is in one sentence for people.
package sentence

import (
	"fmt"
	"strings"

	"waggle/record"
)

// Spent says in a few words what was used. Turns are left out where none are counted.
func Spent(u record.Usage) string {
	var parts []string
	if u.Source != "" {
		parts = append(parts, fmt.Sprintf("%d tokens, $%d.%02d", u.Tokens(), u.CostMicros/1e6, u.CostMicros%1e6/1e4))
	}
	if u.Turns > 0 || u.Source == "" {
		parts = append(parts, record.Turns(u.Turns))
	}
	if u.Source != "" {
		parts = append(parts, u.Source)
	}
	return strings.Join(parts, ", ")
}

// Sandboxed says what sandboxed: allow does.
const Sandboxed = "a shell call that runs wholly inside a verified sandbox is allowed without asking; elsewhere it asks"
