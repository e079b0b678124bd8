package results_test

import (
	"fmt"

	"waggle/operator/results"
)

// Comments returns the text that a person wrote below a line of a diff.
func ExampleComments() {
	const diff = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n one\n+two\n"
	for _, c := range results.Comments(diff, diff+"why two?\n") {
		fmt.Printf("%s:%d %q: %s\n", c.File, c.Line, c.Quoted, c.Text)
	}
	// Output:
	// f:2 "+two": why two?
}
