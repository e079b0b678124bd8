package fresh_test

import (
	"fmt"

	"waggle/operator/fresh"
)

// The name of a member is derived from its task.
func ExampleNameOf() {
	taken := map[string]bool{"fix-login-page": true}
	fmt.Println(fresh.NameOf("Fix the login page on mobile", func(n string) bool { return taken[n] }))
	// Output:
	// fix-login-page-2
}
