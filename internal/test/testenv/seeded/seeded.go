// Package seeded gives the properties of rapid the seed of the other random tests, testenv.Seed. A test
// package that draws with rapid imports it for that:
//
//	import _ "waggle/internal/test/testenv/seeded"
//
// -rapid.seed of the command line is stronger.
package seeded

import (
	"flag"
	"strconv"

	_ "pgregory.net/rapid" // it defines the flag

	"waggle/internal/test/testenv"
)

func init() {
	if seed, err := testenv.UsualSeed(); err == nil { // testenv.Seed reports one that is no number
		_ = flag.Set("rapid.seed", strconv.FormatUint(seed, 10)) // the flag takes every number
	}
}
