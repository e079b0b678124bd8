package sentence

import (
	"fmt"

	"waggle/record"
)

// Spent says in a few words what was used.
func Spent(u record.Usage) string {
	return fmt.Sprintf("%d tokens, $%d.%02d, %s", u.Tokens(), u.CostMicros/1e6, u.CostMicros%1e6/1e4, u.Source)
}
