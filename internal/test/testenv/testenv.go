// Package testenv is what tests ask of the machine they run on: programs that may
// be missing, how large to be, and which seed to use. Only tests import it.
//
//	tmux := testenv.Require(t, "tmux")   // skipped without tmux
//	n := testenv.Scale(60, 10_000)       // 10,000 only in make soak
//	rows := testenv.Rows(t, table, 2)  // all of them only in the full run
//	testenv.Long(t)                    // skipped but in the full run
//	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
//
// The environment decides:
//
//	WAGGLE_REQUIRE       comma list of programs that must be there: without one of
//	                     them a test fails instead of being skipped (.ci/run)
//	WAGGLE_NODE_MODULES  directory whose node_modules holds proper-lockfile
//	WAGGLE_SEED          the seed of random tests; without it 1, in the full run a fresh one
//	WAGGLE_TEST          "full": all tests, with whole tables (.ci/full); "soak": at the sizes of make soak
package testenv

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	_ "waggle/internal/fs/atomicfile/ordertest" // every test checks the order of its locks
)

// Require returns the path of a program that the test needs. Without the program
// the test is skipped, or fails if WAGGLE_REQUIRE names it. A bwrap that cannot
// make namespaces here counts as missing.
func Require(t testing.TB, tool string) string {
	t.Helper()
	path, err := usable(tool)
	if err != nil {
		Missing(t, tool, err)
	}
	return path
}

func usable(tool string) (path string, err error) {
	path, err = exec.LookPath(tool)
	if err == nil && tool == "bwrap" {
		err = confines()
	}
	return path, err
}

// Usable reports whether Require would find a tool. Its error says that WAGGLE_REQUIRE names one
// that is missing.
func Usable(tool string) (bool, error) {
	_, err := usable(tool)
	if err != nil && slices.Contains(strings.Split(os.Getenv("WAGGLE_REQUIRE"), ","), tool) {
		return false, fmt.Errorf("needs %s, which WAGGLE_REQUIRE names: %w", tool, err)
	}
	return err == nil, nil
}

// confines reports why bwrap is of no use on this machine. It is asked once.
var confines = sync.OnceValue(func() error {
	out, err := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true").CombinedOutput()
	if err != nil {
		line, _, _ := strings.Cut(string(out), "\n")
		return fmt.Errorf("it cannot make namespaces here: %w: %s", err, line)
	}
	return nil
})

// NodeModules returns the directory to put into NODE_PATH, which holds
// proper-lockfile 4.1.2, the lock that other programs take. Without it, or without
// node, the test is skipped, or fails if WAGGLE_REQUIRE names node.
func NodeModules(t testing.TB) string {
	t.Helper()
	Require(t, "node")
	base := os.Getenv("WAGGLE_NODE_MODULES")
	if base == "" {
		Missing(t, "node", errors.New("WAGGLE_NODE_MODULES does not say where proper-lockfile 4.1.2 is"))
	}
	dir := filepath.Join(base, "node_modules")
	if _, err := os.Stat(filepath.Join(dir, "proper-lockfile", "package.json")); err != nil {
		Missing(t, "node", fmt.Errorf("no proper-lockfile 4.1.2 below WAGGLE_NODE_MODULES: %w", err))
	}
	return dir
}

// Missing skips a test that lacks something, or fails it if WAGGLE_REQUIRE names the tool.
func Missing(t testing.TB, tool string, err error) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("WAGGLE_REQUIRE"), ","), tool) {
		t.Fatalf("needs %s, which WAGGLE_REQUIRE names: %v", tool, err)
	}
	t.Skipf("needs %s: %v", tool, err)
}

// Scale returns small, and in the soak sizes large.
func Scale(small, large int) int {
	return Sizes(small, small, large)
}

// Sizes returns usual, and in the full run full, and in the soak sizes soak.
func Sizes(usual, full, soak int) int {
	switch {
	case Soak():
		return soak
	case Full():
		return full
	}
	return usual
}

// Sample returns which cases of a long list a test takes: every n-th from the first one on,
// which Seed draws, and in the soak sizes all of them.
func Sample(t testing.TB, n int) (first, step int) {
	t.Helper()
	if Soak() {
		n = 1
	}
	return int(Seed(t) % uint64(n)), n
}

// Checks sets how many random cases a property of rapid is tried with in this test, which is
// not parallel. Who sets -rapid.checks has that many.
func Checks(t testing.TB, small, large int) {
	t.Helper()
	const name = "rapid.checks"
	f, set := flag.Lookup(name), false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	if set {
		return
	}
	was := f.Value.String()
	Must(t, f.Value.Set(strconv.Itoa(Scale(small, large))))
	t.Cleanup(func() { _ = f.Value.Set(was) }) // it was its value
}

// Seed returns the seed of a random test, and logs how to get the same run again. It is WAGGLE_SEED;
// without it 1, and in the full run a fresh one: what the usual tests try is the same in every run.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, err := UsualSeed()
	if err != nil {
		t.Fatalf("WAGGLE_SEED: %v", err)
	}
	t.Logf("again with WAGGLE_SEED=%d", seed)
	return seed
}

// UsualSeed is what Seed returns, and the error of a WAGGLE_SEED that is no number.
func UsualSeed() (uint64, error) {
	switch variable := os.Getenv("WAGGLE_SEED"); {
	case variable != "":
		return strconv.ParseUint(variable, 10, 64)
	case Full():
		return rand.Uint64(), nil
	}
	return 1, nil
}

// MeasuredPrefix begins a line that make soak copies into out/measured.md.
const MeasuredPrefix = "MEASURED: "

// Measured reports a result worth keeping: what was done, how often, what came
// out. Make soak copies the line into out/measured.md.
func Measured(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Log(MeasuredPrefix + fmt.Sprintf(format, args...))
}
