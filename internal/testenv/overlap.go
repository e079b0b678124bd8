package testenv

import (
	"flag"
	"strconv"
)

// Overlap lets n parallel tests of this program run at once, where the command line
// does not say -parallel. TestMain calls it in a package whose tests wait more than they
// compute: the usual number is that of the processors, and a test that waits counts. With
// the race detector tests compute, and the usual number stays.
func Overlap(n int) {
	if Slow > 1 {
		return
	}
	if f := flag.Lookup("test.parallel"); f != nil && !flag.Parsed() {
		_ = f.Value.Set(strconv.Itoa(n)) // the flag takes every number
	}
}
