package testenv

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Drawn is Whole for a test of a package that has many like it: go test ./... runs one in three of them,
// drawn by Seed, as its aim is three minutes. WAGGLE_TESTS=2 runs one in two, and so on; all of them run
// where All says so.
func Drawn(t testing.TB) {
	t.Helper()
	Whole(t)
	if !All() && !draws(Seed(t), t.Name(), share()) {
		t.Skip("not drawn this time: with -run, or with WAGGLE_TESTS=all")
	}
}

// DrawnOf returns those of the names that a run takes, of a list of tests that are files.
func DrawnOf(t testing.TB, names []string) (drawn []string) {
	t.Helper()
	if All() {
		return names
	}
	seed, one := Seed(t), share()
	for _, name := range names {
		if draws(seed, name, one) {
			drawn = append(drawn, name)
		}
	}
	return drawn
}

// All reports whether every test runs that Drawn would leave out: with WAGGLE_TESTS=all, where -run
// names tests, and where Tables says that tables are whole.
func All() bool {
	run := flag.Lookup("test.run")
	return Tables() || os.Getenv("WAGGLE_TESTS") == "all" || run != nil && run.Value.String() != ""
}

// share is the number of names of which one is drawn.
func share() int {
	if n, err := strconv.Atoi(os.Getenv("WAGGLE_TESTS")); err == nil && n > 0 {
		return n
	}
	return 3
}

// draws reports whether a seed draws a name: one name in so many.
func draws(seed uint64, name string, one int) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it never fails
	return rand.New(rand.NewPCG(seed, h.Sum64())).IntN(one) == 0
}
