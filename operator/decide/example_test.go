package decide_test

import (
	"fmt"

	"waggle/operator"
	"waggle/operator/decide"
)

// A host that a person allows is normalised first, and nobody allows everybody's.
func Example() {
	t, err := decide.ParseNetTarget("Example.COM:443")
	fmt.Println(t.Host, t.Port, err)
	_, err = decide.ParseNetTarget("*.com")
	fmt.Println(operator.KindOf(err) == operator.Refused)
	// Output:
	// example.com 443 <nil>
	// true
}
