package draft

import "fmt"

// Open is the file of a team without members: edits in a member's own tree are free, a person decides what no rule
// allows, and commands are confined as far as the machine can.
func Open(name string, f Facts) string {
	return fmt.Sprintf(`team: %s
lead: operator
decide: {tool: operator, plan: operator, network: operator}
policy: {mode: %s, sandboxed: %s}
sandbox: {mode: auto%s}
members: []
`, scalar(name), f.mode(), f.sandboxed(), f.caches())
}
