package testenv

import (
	"flag"
	"strconv"
)

// Overlap lets n parallel tests of this program run at once, where the command line
// does not say -parallel: the usual number is that of the processors. TestMain calls it,
// with more in a package whose tests wait for programs, and with 1 in one whose tests have
// time limits that others beside them would break. With the race detector it is a third: there they
// compute where they wait otherwise.
func Overlap(n int) {
	if Slow > 1 {
		n = (n + 2) / 3
	}
	if f := flag.Lookup("test.parallel"); f != nil && !flag.Parsed() {
		_ = f.Value.Set(strconv.Itoa(n)) // the flag takes every number
	}
}
