package decide_test

import (
	"fmt"

	"waggle/operator"
	"waggle/operator/decide"
)

// ParseNetTarget normalises a host that a person allows, and refuses a pattern for all hosts of a
// public suffix.
func Example() {
	t, err := decide.ParseNetTarget("Example.COM:443")
	fmt.Println(t.Host, t.Port, err)
	_, err = decide.ParseNetTarget("*.com")
	fmt.Println(operator.KindOf(err) == operator.Refused)
	// Output:
	// example.com 443 <nil>
	// true
}
