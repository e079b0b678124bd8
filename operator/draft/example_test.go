package draft_test

import (
	"fmt"

	"waggle/operator/draft"
)

// The file of a team without members.
func ExampleOpen() {
	fmt.Print(draft.Open("api", draft.Facts{Dir: "/work/api"}))
	// Output:
	// team: api
	// lead: operator
	// decide: {tool: operator, plan: operator, network: operator}
	// policy: {mode: acceptEdits, sandboxed: allow}
	// sandbox: {mode: auto}
	// members: []
}
