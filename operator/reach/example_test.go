package reach_test

import (
	"context"
	"fmt"
	"os"

	"waggle/operator"
	"waggle/operator/reach"
	"waggle/record"
)

// The self-test of a sandbox tries each point from inside. Only points that were tried count.
func Example() {
	test := func(ctx context.Context, op operator.Operator) (reach.Tested, error) {
		self, err := os.Executable()
		if err != nil {
			return reach.Tested{}, err
		}
		b, err := reach.Of(op).OpenBox(ctx, self, reach.Where{Team: "api", Member: "bob"})
		if err != nil {
			return reach.Tested{}, err
		}
		return b.Tested(), b.Close()
	}
	_ = test
	fmt.Println(reach.Tested{Level: record.HeldEnforced}.Passed())
	fmt.Println(reach.Tested{Level: record.HeldEnforced, Points: []reach.Point{{Name: "secrets cannot be read", OK: true}}}.Passed())
	// Output:
	// false
	// true
}
