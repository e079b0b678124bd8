package agentcheck_test

import (
	"fmt"

	"waggle/operator/agentcheck"
)

// Script writes acts as lines for an agent of another program.
func ExampleScript() {
	fmt.Print(agentcheck.Script([]agentcheck.Act{{Plan: "First this."}, {Run: "echo ran"}, {Ask: &agentcheck.Asked{Text: "Which way?", Options: []string{"Left", "Right"}}}}))
	// Output:
	// plan First this.
	// run echo ran
	// ask Which way? | Left | Right
}
